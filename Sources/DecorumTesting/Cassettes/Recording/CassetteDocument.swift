public import Decorum
import Foundation

/// What is written of interactions: the cassette itself, and the files beside it.
///
/// It is an HTTP archive where the name of the file ends in `.har`, or where the file is one; else the format
/// "cassette 1".
struct CassetteDocument {
    let bytes: Data
    /// By their paths.
    let files: [String: Data]

    init(of interactions: [Interaction], as file: URL) {
        let current = try? Data(contentsOf: file)
        let archive = current.flatMap { try? HAR($0) }
        if archive != nil || file.pathExtension.lowercased() == "har" {
            let kept = archive.map { Self.entries($0, of: current ?? Data(), in: file) } ?? [:]
            var written = kept.isEmpty ? HAR() : archive ?? HAR()
            written.entries = interactions.flatMap { interaction in
                kept[interaction].map { [$0] } ?? HAR([interaction]).entries
            }
            bytes = written.document()
            files = [:]
        } else {
            let writer = CassetteWriter(interactions, files: CassetteFiles(beside: file))
            bytes = Data(writer.bytes)
            files = writer.files.added
        }
    }

    /// The entries of an archive by what they are read as, so that those which stay keep what only archives say.
    private static func entries(_ archive: HAR, of document: Data, in file: URL) -> [Interaction: HAR.Entry] {
        let folder = file.deletingLastPathComponent()
        let imported = try? ImportedCassette(document, named: file.lastPathComponent, folder: folder)
        // Recorders with rules of their own read their entries by them, and ours too.
        guard let imported, imported.format == .har else { return [:] }
        let interactions = imported.decodingContent().interactions
        return Dictionary(zip(interactions, archive.entries)) { first, _ in first }
    }
}

extension Cassette {
    /// Exports the interactions as an HTTP archive, which the developer tools of browsers open.
    ///
    /// ```swift
    /// try cassette.archive().document().write(to: URL(filePath: "feed.har"))
    /// ```
    ///
    /// What the format cannot say, such as how an exchange failed and when each chunk came, is in fields of our own, and
    /// is read back.
    ///
    /// - Returns: The archive, without secrets.
    /// - Throws: ``CassetteError`` where an interaction cannot be read.
    public func archive() throws -> HAR {
        HAR(CassetteRedactor(rules, continuing: opened.text).redacted(try interactions()))
    }
}
