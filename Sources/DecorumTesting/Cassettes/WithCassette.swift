public import Decorum
import Foundation

/// Runs a test with a cassette, and finishes it when the test has passed.
///
/// The file is `Cassettes/<file of the test>/<name>.json` beside the file of the test. A body that throws leaves the file
/// as it was. An assertion that fails without throwing does so only if `hasFailed` reports it: in XCTest, pass
/// `testRun?.totalFailureCount != 0`. A request that the cassette failed is then written to standard error, since code that
/// catches its error leaves the assertion alone. In Swift Testing, import `DecorumTestingTraits`, whose function of this name
/// observes failures itself.
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
///   - name: The name of the cassette; nil for the name of the function. Give each case of a parameterised test its own
///     name.
///   - rules: The rules for matching, redacting, recording and playing; nil for the rules of the enclosing scope.
///   - mode: The reaction to a request; nil for the mode of the environment.
///   - clock: The clock that dates recordings and times the pauses between chunks.
///   - hasFailed: Whether the test has failed without throwing, evaluated after the test.
///   - filePath: The file of the test.
///   - function: The function of the test.
///   - body: The test.
/// - Returns: The result of the test.
/// - Throws: The error of the test, or the error of ``Cassette/finish()`` after it.
@_disfavoredOverload
public func withCassette<Result>(
    _ name: String? = nil, rules: CassetteRules? = nil, mode: CassetteMode? = nil,
    clock: any DatedClock = SystemClock(), hasFailed: @autoclosure () -> Bool = false, filePath: String = #filePath,
    function: String = #function,
    _ body: (Cassette) async throws -> Result
) async throws -> Result {
    func write(_ text: Any) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
    return try await withCassette(
        name, rules: rules, mode: mode, clock: clock, hasFailed: hasFailed(), filePath: filePath, function: function,
        test: nil, onFault: write, onNote: write
    ) { cassette in
        let result = try await body(cassette)
        if !hasFailed() { cassette.notesOfPassedTest.forEach(write) }
        return result
    }
}

/// Runs a test with a cassette; `test` is its name, if the framework knows more than the function.
///
/// `onFault` receives what the cassette knows of a test that has failed: the requests that it failed, and the differences
/// that ``CassetteMode/verify`` has found; `onNote` receives the notes about it. `shown` are the texts of errors that the test
/// has shown, evaluated after it.
package func withCassette<Result>(
    _ name: String?, rules: CassetteRules?, mode: CassetteMode?, clock: any DatedClock,
    hasFailed: @autoclosure () -> Bool, filePath: String, function: String, test: String?,
    shown: @autoclosure () -> [String] = [], onFault: (any Error) -> Void,
    onNote: (String) -> Void, _ body: (Cassette) async throws -> Result
) async throws -> Result {
    let path = CassettePath.path(name ?? CassettePath.name(ofFunction: function), beside: filePath)
    let cassette = try CassetteDefaults.current.cassette(
        at: path, rules: rules, mode: mode, clock: clock, isShared: name != nil,
        test: test ?? CassettePath.name(ofFunction: function))
    let result: Result
    do {
        result = try await Cassette.$current.withValue(cassette) { try await body(cassette) }
    } catch {
        await cassette.reportFailedTest(shown: shown() + ["\(error)"], to: onFault, noting: onNote)
        throw error
    }
    if hasFailed() {
        await cassette.reportFailedTest(shown: shown(), to: onFault, noting: onNote)
    } else {
        try await cassette.finish()
        if let text = cassette.noteOfFinishedTest { onNote(text) }
    }
    return result
}

/// The rules and the mode that the cassettes of a scope, such as a suite, share.
package struct CassetteDefaults: Sendable {
    @TaskLocal package static var current = CassetteDefaults()

    package var rules: CassetteRules?
    package var mode: CassetteMode?
    /// The cassettes that the tests of the scope share; nil if each test has its files alone.
    package var shared: SharedCassettes?
    /// The report of the run; nil for the one that the environment names in `CASSETTE_REPORT`.
    package var report: CassetteReportFile?

    package init(
        rules: CassetteRules? = nil, mode: CassetteMode? = nil, shared: SharedCassettes? = nil,
        report: CassetteReportFile? = nil
    ) {
        self.rules = rules
        self.mode = mode
        self.shared = shared
        self.report = report
    }

    /// Opens the cassette of a test, with the defaults for the rules and the mode that the test does not set.
    ///
    /// If `isShared`, other tests of the scope may open the same file; `test` is the name of the test, if it is known.
    package func cassette(
        at path: String, rules: CassetteRules?, mode: CassetteMode?, clock: any DatedClock = SystemClock(),
        isShared: Bool = true, test: String? = nil
    ) throws -> Cassette {
        try Cassette(
            at: path, mode: mode ?? self.mode, rules: rules ?? self.rules ?? CassetteRules(), clock: clock,
            suite: shared, isNamed: isShared, test: test)
    }
}

package enum CassettePath: Sendable {
    /// The path of a cassette in the folder `Cassettes` beside the file of a test.
    ///
    /// Characters of the name that a file system may refuse become hyphens.
    package static func path(_ name: String, beside filePath: String) -> String {
        let file = URL(filePath: filePath)
        let folder = file.deletingLastPathComponent().appending(path: "Cassettes")
            .appending(path: file.deletingPathExtension().lastPathComponent)
        let hyphenated = String(name.map { $0.isLetter || $0.isNumber || "._-".contains($0) ? $0 : "-" })
        let visible = hyphenated.hasPrefix(".") ? "-" + hyphenated.dropFirst() : hyphenated
        // File systems allow 255 bytes, some of which the checksum and the extension need.
        return folder.appending(path: shortened(visible, to: 180, of: name) + ".json").path
    }

    /// The name of a function without its parameters, as `#function` gives it; a name in backticks may hold parentheses.
    package static func name(ofFunction function: String) -> String {
        guard function.first == "`" else { return String(function.prefix { $0 != "(" }) }
        return String(function.dropFirst().prefix { $0 != "`" })
    }

    package static func shortened(_ arguments: String) -> String { shortened(arguments, to: 60, of: arguments) }

    private static func shortened(_ text: String, to limit: Int, of name: String) -> String {
        guard text.utf8.count > limit else { return text }
        // The checksum distinguishes two names that differ in the part that is cut off.
        var start = ""
        for character in text {
            guard start.utf8.count + character.utf8.count <= limit else { break }
            start.append(character)
        }
        return start + "-" + CassetteFiles.checksum(Data(name.utf8))
    }
}
