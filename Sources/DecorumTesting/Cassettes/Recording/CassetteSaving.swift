import Decorum
public import DecorumArchive
import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension Cassette {
    /// Writes the recorded interactions: all or none, and only if they hold no secret.
    func save() throws {
        let (recorded, redactor) = try recorded()
        func saving(_ file: CassetteCourse.Saving.File, isWrittenBySuite: Bool = false) -> CassetteCourse.Saving {
            .init(
                mode: mode, file: file, isWrittenBySuite: isWrittenBySuite, hasRecordings: !recorded.isEmpty,
                hadInteractions: opened.count > 0, test: opening?.name)
        }
        guard CassetteCourse.merge(for: saving(.unchanged)) != .nothing else { return }
        let directory = file.deletingLastPathComponent()
        try writing { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
        try FolderLock.hold(on: directory, for: file) {
            let (content, state) = try currentContent()
            let way = CassetteCourse.merge(for: saving(state, isWrittenBySuite: shared?.write(file) ?? false))
            guard way != .nothing else { return }
            let merge = RecordingMerge(
                rules: rules, redactor: self.redactor, content: content,
                original: mode == .rewrite ? original : .none, opened: state == .unchanged ? nil : opened,
                isPartial: shared?.isPartial ?? false, expiry: rules.renewal(at: clock.recordingDate))
            try write(merge.merged(recorded, way), over: content, without: redactor)
            self.state.withLock { $0.saved = (recorded.count, redactor.pseudonyms.list) }
        }
    }

    private func currentContent() throws -> (content: CassetteContent, state: CassetteCourse.Saving.File) {
        guard let current = FileStamp(of: file) else { return (.none, .absent) }
        if current == stamp { return (opened, .unchanged) }
        let content = try CassetteContent(of: file, at: current, rules, in: shared)
        guard content.count == opened.count else { return (content, .changed) }
        if !content.text.isEmpty, content.text == opened.text { return (content, .unchanged) }
        return (content, try content.interactions() == opened.interactions() ? .unchanged : .changed)
    }

    private func write(
        _ interactions: [SavedInteraction], over content: CassetteContent, without secrets: CassetteRedactor
    ) throws {
        // What other tests of the suite have recorded was searched when they wrote it.
        let document = try CassetteDocument(of: interactions, over: content, as: file, isSearchedWhole: opening == nil)
        let recorded = interactions.compactMap { saved in
            if case .recorded(let interaction) = saved { interaction } else { nil as Interaction? }
        }
        try checkSize(of: document, recorded)
        try document.checkSecrets(of: recorded, by: rules, without: secrets, file: file.relativePath)
        let obsolete = CassetteDocument.filesLeftOver(by: interactions, of: content).subtracting(document.files.keys)
        try writing {
            let directory = file.deletingLastPathComponent()
            if !document.files.isEmpty {
                let folder = CassetteFiles(beside: file).folder
                try FileManager.default.createDirectory(
                    at: directory.appending(path: folder), withIntermediateDirectories: true)
            }
            for (path, data) in document.files {
                try data.write(to: directory.appending(path: path), options: .atomic)
            }
            if try !content.holds(document.bytes, in: file) {
                try document.bytes.write(to: file, options: .atomic)
            }
            for path in obsolete where FileManager.default.fileExists(atPath: directory.appending(path: path).path) {
                try FileManager.default.removeItem(at: directory.appending(path: path))
            }
        }
        let replacements = shared?.unreported(secrets.pseudonyms.list) ?? secrets.pseudonyms.list
        if !replacements.isEmpty { rules.reportReplacements?(replacements, file) }
    }

    private func writing(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as CocoaError {
            throw CassetteError(
                file: file.relativePath, reason: "it cannot be written, because \(error.words)")
        }
    }

    private func checkSize(of document: CassetteDocument, _ recorded: [Interaction]) throws {
        let size = document.files.values.reduce(document.bytes.count) { $0 + $1.count }
        guard size > rules.sizeLimit else { return }
        func contentSize(_ interaction: Interaction) -> Int {
            interaction.request.body.bytes.count + (interaction.response?.body.bytes.count ?? 0)
        }
        let scanner = SecretScanner(rules)
        let largest = recorded.sorted { contentSize($0) > contentSize($1) }.prefix(5).map { interaction in
            "\(contentSize(interaction)) bytes  "
                + scanner.masked("\(interaction.request.method) \(interaction.request.url)")
        }
        throw CassetteError(
            file: file.relativePath,
            reason:
                "it would have \(size) bytes, and at most \(rules.sizeLimit) are written; leave out one of the largest with "
                + "`rules.beforeRecording` or `rules.passedHosts`, or raise `rules.sizeLimit`:\(listed(largest))\n")
    }
}

extension CassetteContent {
    fileprivate func holds(_ bytes: Data, in file: URL) throws -> Bool {
        if let reader { return reader.bytes.count == bytes.count && bytes.elementsEqual(reader.bytes) }
        return try isImported && Data(contentsOf: file) == bytes
    }
}

/// The identity of a version of a file, by which a change is noticed without reading the file.
///
/// Cassettes are replaced as a whole, so each version is another file with another number.
struct FileStamp: Hashable, Sendable {
    private let number: Int
    private let size: Int
    private let date: Date?

    init?(of file: URL) {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path) else { return nil }
        number = (attributes[.systemFileNumber] as? NSNumber)?.intValue ?? 0
        size = (attributes[.size] as? NSNumber)?.intValue ?? 0
        date = attributes[.modificationDate] as? Date
    }
}

/// Keeps other writers, of this process and of others, from writing into a folder at the same time.
enum FolderLock {
    static func hold(on folder: URL, for file: URL, _ body: () throws -> Void) throws {
        let descriptor = unsafe open(folder.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CassetteError(file: file.relativePath, reason: "its folder cannot be opened")
        }
        defer { unlockAndClose(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else {
                throw CassetteError(file: file.relativePath, reason: "its folder cannot be locked")
            }
        }
        try body()
    }
}

extension CocoaError {
    var words: String {
        switch code {
        case .fileNoSuchFile, .fileReadNoSuchFile: "a folder of the path does not exist"
        case .fileWriteNoPermission, .fileReadNoPermission: "there is no permission to write there"
        case .fileWriteOutOfSpace: "the disk is full"
        case .fileWriteVolumeReadOnly: "the disk is read-only"
        case .fileWriteFileExists: "a file stands where a folder is needed"
        case .fileWriteInvalidFileName: "the name of the file is not valid"
        default: "error \(errorCode) of the file system"
        }
    }
}

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

    /// Throws ``SecretFoundError`` if the document, or one of its new interactions, would hold a secret.
    func checkSecrets(
        of recorded: [Interaction], by rules: CassetteRules, without secrets: CassetteRedactor, file: String
    ) throws {
        let scanner = SecretScanner(rules, leaving: secrets.pseudonyms.left)
        // A finding is looked for again in the whole file, where it has another place.
        if !scanner.findings(in: unchecked).isEmpty {
            try scanner.check(bytes, file: file)
            try scanner.check(unchecked, file: file)
        }
        for (path, data) in files { try scanner.check(data, file: path) }
        for interaction in recorded { try scanner.check(interaction, without: secrets, file: file) }
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
