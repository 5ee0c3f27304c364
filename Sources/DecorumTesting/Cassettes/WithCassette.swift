import Decorum
import Foundation

/// Runs a test with a cassette, and finishes it when the test has passed.
///
/// The file is `Cassettes/<file of the test>/<name>.json` beside the file of the test. A body that throws leaves the file
/// as it was. An assertion that fails and throws nothing does so only if `hasFailed` tells of it: in XCTest, pass
/// `testRun?.totalFailureCount != 0`. In Swift Testing, import `DecorumTestingTraits`, whose function of this name sees
/// by itself what fails.
///
/// ```swift
/// try await withCassette { cassette in
///     let connection = CassetteConnection(cassette).retrying()
///     let response = try await connection.send(.get("https://api.example.com/feed"))
///     #expect(response.status == .ok)
/// }
/// ```
///
/// - Parameters:
///   - name: The name of the cassette; nil for that of the function. Give one that tells the cases of a parameterised test
///     apart.
///   - rules: How it matches, redacts, records and plays; nil for those of the scope around it.
///   - mode: What it does with a request; nil for what the environment says.
///   - hasFailed: Whether the test has failed without throwing, asked when it is over.
///   - filePath: The file of the test.
///   - function: The function of the test.
///   - body: The test.
/// - Returns: What the test returns.
/// - Throws: What the test throws, or what ``Cassette/finish()`` throws behind it.
@_disfavoredOverload
public func withCassette<Result>(
    _ name: String? = nil, rules: CassetteRules? = nil, mode: CassetteMode? = nil,
    hasFailed: @autoclosure () -> Bool = false, filePath: String = #filePath, function: String = #function,
    _ body: (Cassette) async throws -> Result
) async throws -> Result {
    let path = CassettePath.path(name ?? CassettePath.name(ofFunction: function), beside: filePath)
    let cassette = try CassetteDefaults.current.cassette(at: path, rules: rules, mode: mode)
    let result = try await Cassette.$current.withValue(cassette) { try await body(cassette) }
    if !hasFailed() { try cassette.finish() }
    return result
}

/// What the cassettes of a scope have in common.
package struct CassetteDefaults: Sendable {
    @TaskLocal package static var current = CassetteDefaults()

    package var rules: CassetteRules?
    package var mode: CassetteMode?
    /// What is written anew by all tests of the scope; nil where each is by itself.
    package var run: RewritingRun?

    package init(rules: CassetteRules? = nil, mode: CassetteMode? = nil, run: RewritingRun? = nil) {
        self.rules = rules
        self.mode = mode
        self.run = run
    }

    /// Opens a test's cassette, with what the test leaves to its suite.
    package func cassette(at path: String, rules: CassetteRules?, mode: CassetteMode?) throws -> Cassette {
        try Cassette(at: path, mode: mode ?? self.mode, rules: rules ?? self.rules ?? CassetteRules())
    }
}

/// Where the cassettes of tests are.
package enum CassettePath {
    /// The path of a cassette beside the file of a test; characters that a file system may refuse become hyphens.
    package static func path(_ name: String, beside filePath: String) -> String {
        let file = URL(filePath: filePath)
        let folder = file.deletingLastPathComponent().appending(path: "Cassettes")
            .appending(path: file.deletingPathExtension().lastPathComponent)
        return folder.appending(path: fileName(name) + ".json").path
    }

    /// The name of a function without its parameters; one in backticks may have parentheses of its own.
    package static func name(ofFunction function: String) -> String {
        guard function.first == "`" else { return String(function.prefix { $0 != "(" }) }
        return String(function.dropFirst().prefix { $0 != "`" })
    }

    private static func fileName(_ name: String) -> String {
        let hyphenated = String(name.map { $0.isLetter || $0.isNumber || "._-".contains($0) ? $0 : "-" })
        let visible = hyphenated.hasPrefix(".") ? "-" + hyphenated.dropFirst() : hyphenated
        guard visible.utf8.count > lengthLimit else { return visible }
        // What is cut off still tells two names apart.
        var start = ""
        for character in visible {
            guard start.utf8.count + character.utf8.count <= lengthLimit else { break }
            start.append(character)
        }
        return start + "-" + CassetteFiles.checksum(Data(name.utf8))
    }

    /// The bytes of a name that are kept; file systems take 255, of which a checksum and an extension take some.
    private static let lengthLimit = 180
}
