/// The regular expression by which `swift test --filter` finds one test.
///
/// It is searched in names such as `AppTests.FeedTests/feed()`, where a name in words is in backticks.
enum TestFilter {
    /// The pattern for a test by its name with those of its suites, as in `FeedTests.feed`; for a single name also that of a
    /// method in XCTest, which has no parentheses.
    static func pattern(for test: String) -> String {
        let parts = test.split(separator: ".", omittingEmptySubsequences: false)
        let suites = parts.dropLast().prefix { $0.allSatisfy(isOfIdentifier) && !$0.isEmpty }
        let name = parts.dropFirst(suites.count).joined(separator: ".")
        let isIdentifier = name.allSatisfy(isOfIdentifier)
        if suites.isEmpty, isIdentifier { return "[./]\(name)(\\(|$)" }
        // A character of an expression or of a shell stands for itself as any character.
        let words = String(name.map { isOfIdentifier($0) || $0 == " " || $0 == "-" ? $0 : "." })
        return "\\." + suites.map { "\($0)/" }.joined() + (isIdentifier ? words : ".\(words).") + "\\("
    }

    private static func isOfIdentifier(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }
}
