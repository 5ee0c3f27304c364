extension ImportedFormat {
    /// An HTTP archive of Polly.js, as JSON or YAML.
    public static let polly = ImportedFormat("Polly.js")
}

/// HTTP archives of Polly.js.
struct PollyFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        try document.root.archiveCreator.hasPrefix("polly")
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try HARImporter.read(document.root, as: .polly, into: &draft)
        return .polly
    }
}
