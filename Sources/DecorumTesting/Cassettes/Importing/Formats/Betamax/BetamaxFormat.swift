extension ImportedFormat {
    /// A cassette of betamax.
    public static let betamax = ImportedFormat("betamax")
}

/// Cassettes of betamax, which have the shape of those of VCR.
struct BetamaxFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let root = try document.root
        return root["http_interactions"] != nil
            && root["recorded_with"]?.text?.lowercased().hasPrefix("betamax") == true
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try VCRFormat.read(document.root, into: &draft)
        return .betamax
    }
}
