import Foundation

/// A test in a source file that has a cassette by its trait, as in `@Test(.cassette) func feed()`.
struct CassetteUser: Hashable {
    /// The name of its function.
    let test: String
    /// The name of the cassette: that of the function, unless the trait gives another one.
    let cassette: String

    /// The tests of a source, in their order.
    static func all(in source: String) -> [Self] {
        let trait = /\.cassette(?:\(\s*"([^"\\]*)"|\(\s*(?:rules|mode|clock):|(?![\(\w]))/
        var users: [Self] = []
        // An attribute may be on lines before its function.
        var attributes = ""
        for line in source.split(whereSeparator: \.isNewline) where !line.drop(while: \.isWhitespace).hasPrefix("//") {
            guard line.contains("@Test") || !attributes.isEmpty else { continue }
            attributes += "\(line)\n"
            guard let name = NamedCassettes.function(in: line) else { continue }
            if let match = attributes.firstMatch(of: trait) {
                users.append(Self(test: name, cassette: match.output.1.map(String.init) ?? name))
            }
            attributes = ""
        }
        return users
    }

    /// The first other test that uses a cassette, and the name of its source file.
    struct Other: Sendable {
        /// Nil if there is none.
        let names: (test: String, source: String)?

        /// Reads the source file; `test` is the name of the test that asks, with its suites and its arguments.
        init(of file: URL, besides test: String) { names = CassetteUser.other(of: file, besides: test) }
    }

    private static func other(of file: URL, besides test: String) -> (test: String, source: String)? {
        guard let source = NamedCassettes.source(beside: file) else { return nil }
        let cassette = file.deletingPathExtension().lastPathComponent
        // A name in words may end with a parenthesis, as arguments do.
        let own = [test, TestCase(test)?.test ?? test]
        let other = all(in: source.text).first { user in
            CassettePath.fileName(user.cassette) == cassette
                && !own.contains { $0 == user.test || $0.hasSuffix(".\(user.test)") }
        }
        return other.map { ($0.test, source.name) }
    }
}
