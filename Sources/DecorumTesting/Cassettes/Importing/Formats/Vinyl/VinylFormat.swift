extension ImportedFormat {
    /// A recording of Vinyl.
    public static let vinyl = ImportedFormat("Vinyl")
}

/// Recordings of Vinyl, which are lists of the interactions that DVR writes.
struct VinylFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        try document.root.first?["request"] != nil
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try DVRFormat.read(document.root, into: &draft)
        return .vinyl
    }
}
