public import Decorum
// A test that uses a cassette needs one import.
@_exported public import DecorumTesting
public import Testing

/// Gives a test a cassette, which is finished when the test has passed.
///
/// The file is `Cassettes/<file of the test>/<name>.json` beside the file of the test, where the name is that of the
/// test's function. The first run records it; where `CI` is set, nothing is ever recorded. The variable `CASSETTE` names
/// another `CassetteMode`.
///
/// ```swift
/// @Test(.cassette) func feed() async throws {
///     let connection = try CassetteConnection().retrying()
///     let response = try await connection.send(.get("https://api.example.com/feed"))
///     #expect(try await response.body.text(upTo: 1 << 20).contains("news"))
/// }
/// ```
///
/// A test that fails leaves the file as it was, also where an expectation failed and nothing was thrown. Interactions
/// that were never played fail a replayed test, unless `CassetteRules.Unused` says otherwise. A parameterised test is
/// refused, since its cases would share one file: give each its own with `withCassette`, or name the cassette in a suite
/// with `.cassettes()`, where each case has its own recordings in the file.
public struct CassetteTrait: TestTrait, TestScoping {
    let name: String?
    let rules: CassetteRules?
    let mode: CassetteMode?
    let clock: any DatedClock

    /// Runs a test with the cassette.
    @concurrent public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let isShared = name != nil && CassetteDefaults.current.shared != nil
        if testCase?.isParameterized == true, !isShared { throw ParameterizedCassetteError(test: test.name) }
        let watch = IssueWatch()
        let sourceLocation = test.sourceLocation
        var hasEnded = false
        do {
            try await DecorumTesting.withCassette(
                name, rules: rules, mode: mode, clock: clock, hasFailed: watch.hasFailed,
                filePath: sourceLocation.filePath, function: test.name, test: test.recorderName(of: testCase),
                shown: watch.errorTexts, onFault: sourceLocation.record, onNote: sourceLocation.warn
            ) { cassette in
                defer { cassette.attachFailures(at: sourceLocation) }
                try await watch.watch(test, testCase, performing: function)
                if !watch.hasFailed { cassette.warn(at: sourceLocation) }
                hasEnded = true
            }
        } catch {
            guard hasEnded else { throw error }
            sourceLocation.record(error)
        }
    }
}

extension Trait where Self == CassetteTrait {
    /// A cassette that is named for the test's function.
    public static var cassette: Self { CassetteTrait.cassette() }

    /// A cassette with its own name, rules, mode or clock.
    ///
    /// - Parameters:
    ///   - name: The name of the file, without its extension; nil for that of the test's function.
    ///   - rules: How it matches, redacts, records and plays; nil for the rules of the suite.
    ///   - mode: The reaction to a request; nil for that of the suite or of the environment.
    ///   - clock: The clock that dates recordings and times the pauses between chunks.
    /// - Returns: A trait for one test.
    public static func cassette(
        _ name: String? = nil, rules: CassetteRules? = nil, mode: CassetteMode? = nil,
        clock: any DatedClock = SystemClock()
    ) -> Self {
        CassetteTrait(name: name, rules: rules, mode: mode, clock: clock)
    }
}

/// A parameterised test has one cassette for all of its cases, which would mix them up.
public struct ParameterizedCassetteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the test.
    public let test: String

    /// The cause and the way to mend it.
    public var description: String {
        "The cases of \(test) would share one cassette; give each its own: withCassette(\"name-\\(argument)\") { … }, or "
            + "write .cassette(\"name\") in a suite with .cassettes(), where each case has its own recordings"
    }
}
