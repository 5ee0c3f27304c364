import DecorumArchive

extension ImportedFormat {
    /// An HTTP archive of a browser or a proxy.
    public static let har = ImportedFormat("HAR")
}

/// HTTP archives of browsers and proxies.
struct HARFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root["log"] != nil }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try HARImporter.read(document.root, into: &draft)
        return .har
    }
}

extension StoredNode {
    /// The name of the program that wrote an archive, in lower case.
    var archiveCreator: String { self["log"]?["creator"]?["name"]?.text?.lowercased() ?? "" }
}
