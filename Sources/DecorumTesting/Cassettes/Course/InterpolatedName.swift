import Foundation

/// The fixed parts of a name that a test builds, as in `"page-\(number)"`: each case of the test has a cassette of its own.
struct InterpolatedName: Hashable {
    private let start: String
    private let end: String

    /// Reads a text of a source; nil if nothing is inserted into it, or if too little of it is fixed to tell its files.
    init?(_ text: Substring) {
        guard let open = text.range(of: "\\(") else { return nil }
        let rest = text[open.upperBound...]
        start = CassettePath.hyphenated(String(text[..<open.lowerBound]))
        end = CassettePath.hyphenated(rest.lastIndex(of: ")").map { String(rest[rest.index(after: $0)...]) } ?? "")
        // A text such as "\(error)" would fit each file.
        guard (start + end).count(where: { $0.isLetter || $0.isNumber }) > 1 else { return nil }
    }

    /// Whether a name, without its extension, is that of a case.
    func matches(_ name: String) -> Bool {
        name.hasPrefix(start) && name.hasSuffix(end) && name.utf8.count >= start.utf8.count + end.utf8.count
    }
}
