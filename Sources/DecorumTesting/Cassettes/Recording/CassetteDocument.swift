import Decorum
public import DecorumArchive
import Foundation

/// The output for interactions: the cassette itself, and the files beside it.
///
/// It is an HTTP archive if the name of the file ends in `.har`, or if the file is one already; else the format
/// "cassette 1".
struct CassetteDocument {
    let bytes: Data
    /// The part of it that has to be searched for secrets: all of it, or a document of the new interactions alone.
    let unchecked: Data
    let files: [String: Data]

    /// Creates the output; interactions that are only copied are searched for secrets if `isSearchedWhole`, unless all new
    /// ones follow them.
    init(
        of interactions: [SavedInteraction], over content: CassetteContent, as file: URL, isSearchedWhole: Bool = true
    ) throws {
        let isArchive = content.isImported || file.pathExtension.lowercased() == "har"
        if isArchive {
            bytes = try Self.archive(of: interactions, over: content, as: file).document()
            unchecked = bytes
            files = [:]
        } else if let new = Self.additions(interactions, to: content), let reader = content.reader {
            let writer = try CassetteWriter(new, of: .none, files: CassetteFiles(beside: file))
            bytes = Data(writer.spliced(into: reader))
            unchecked = Data(writer.bytes)
            files = writer.files.added
        } else {
            let writer = try CassetteWriter(interactions, of: content, files: CassetteFiles(beside: file))
            bytes = Data(writer.bytes)
            unchecked =
                isSearchedWhole
                ? bytes
                : Data(
                    try CassetteWriter(
                        interactions.filter { !$0.isExisting }, of: .none, files: CassetteFiles(beside: file)
                    ).bytes)
            files = writer.files.added
        }
    }

    /// The new interactions, if they only follow all interactions of the file; nil otherwise.
    private static func additions(
        _ interactions: [SavedInteraction], to content: CassetteContent
    ) -> [SavedInteraction]? {
        let count = content.count
        let isAddition = interactions.enumerated().allSatisfy { index, saved in
            if case .existing(let ordinal) = saved { ordinal == index } else { index >= count }
        }
        return count > 0 && interactions.count > count && isAddition ? Array(interactions[count...]) : nil
    }

    /// The files beside the cassette that it will no longer name; they are not read, and need not exist.
    static func filesLeftOver(by interactions: [SavedInteraction], of content: CassetteContent) -> Set<String> {
        guard let reader = content.reader else { return [] }
        var isKept = Array(repeating: false, count: content.count)
        for case .existing(let ordinal) in interactions { isKept[ordinal] = true }
        let dropped = Set(isKept.indices.filter { !isKept[$0] })
        guard !dropped.isEmpty else { return [] }
        let left = reader.files(of: dropped)
        // A dropped interaction may share a file with one that stays.
        return left.isEmpty ? [] : left.subtracting(reader.files(of: Set(0..<content.count).subtracting(dropped)))
    }

    /// Entries that stay are kept unchanged, with all members that only archives have.
    private static func archive(
        of interactions: [SavedInteraction], over content: CassetteContent, as file: URL
    ) throws -> HAR {
        var archive = HAR()
        var kept: [HAR.Entry] = []
        if content.isImported, let current = try? HAR(Data(contentsOf: file)),
            current.entries.count == content.count, interactions.contains(where: \.isExisting)
        {
            archive = current
            kept = current.entries
        }
        archive.entries = try interactions.flatMap { saved in
            switch saved {
            case .recorded(let interaction): HAR([interaction]).entries
            case .existing(let ordinal):
                kept.isEmpty ? HAR([try content.interaction(at: ordinal)]).entries : [kept[ordinal]]
            }
        }
        return archive
    }
}

extension SavedInteraction {
    fileprivate var isExisting: Bool { if case .existing = self { true } else { false } }
}

extension Cassette {
    /// Exports the interactions as an HTTP archive, which the developer tools of browsers open.
    ///
    /// ```swift
    /// try cassette.archive().document().write(to: URL(filePath: "feed.har"))
    /// ```
    ///
    /// Values that the format has no place for are in custom fields, and are read back. Examples are the failure of an
    /// exchange, and the times of the chunks of content without a coding.
    ///
    /// - Returns: The archive, without secrets; content in a coding that cannot be undone is as the cassette has it.
    /// - Throws: ``CassetteError`` if an interaction cannot be read.
    public func archive() throws -> HAR {
        // Coded content is not redacted.
        let decoded = try interactions().map { interaction in
            var interaction = interaction
            interaction.decodeContent()
            return interaction
        }
        return HAR(CassetteRedactor(rules, continuing: opened.text).redacted(decoded))
    }
}
