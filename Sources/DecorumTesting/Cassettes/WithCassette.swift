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
