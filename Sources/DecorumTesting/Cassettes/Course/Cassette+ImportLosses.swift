import Foundation

extension Cassette {
    /// The note for a replayed file of another tool, with the first parts of it that its reader had to guess, change or
    /// leave out; nil if there are none.
    ///
    /// The tests of a suite tell it once for a file, and rules that do not report losses accept them.
    var noteOfImportLosses: String? {
        let losses = opened.losses
        guard mode == .replay, rules.reportsLosses, !losses.isEmpty,
            shared?.isFirst("losses of \(file.path)") ?? true
        else { return nil }
        let limit = 3
        let scanner = SecretScanner(rules)
        let shown = losses.prefix(limit).map { "\n  \(scanner.masked("\($0)").withoutControls)" }.joined()
        let more = losses.count > limit ? "\n  and \(losses.count - limit) more" : ""
        let parts = losses.count == 1 ? "1 part" : "\(losses.count) parts"
        let labels = rules.formats.isEmpty ? "contentsOf:" : "contentsOf:formats:"
        return
            "The cassette \(file.relativePath) is not in the format of Decorum, and \(parts) of it had to be guessed, "
            + "changed or left out, so an answer may not be the one that the server gave:\(shown)\(more)\n"
            + "fix: give the cassette a path without a file, and run the test without `CI`, or with `CASSETTE=once`, to "
            + "record it there; or write the file again with its tool, or mend it; if the test does not need these parts, "
            + "`rules.reportsLosses = false` accepts them; "
            + "`ImportedCassette(\(labels)).decodingContent().warnings` has the whole list"
    }
}
