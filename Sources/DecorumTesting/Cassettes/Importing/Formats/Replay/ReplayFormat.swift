extension ImportedFormat {
    /// An HTTP archive of Replay for Swift.
    public static let replay = ImportedFormat("Replay")
}

/// HTTP archives of Replay for Swift.
struct ReplayFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let creator = try document.root.archiveCreator
        return creator == "replay" || creator.hasPrefix("replay/")
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try HARImporter.read(document.root, as: .replay, into: &draft)
        return .replay
    }
}
