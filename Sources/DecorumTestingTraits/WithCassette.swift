public import Decorum
public import DecorumTesting
public import Testing

/// Runs a part of a test with a cassette, and finishes it where nothing in that part has failed.
///
/// The file is `Cassettes/<file of the test>/<name>.json` beside the file of the test. A body that throws leaves the file
/// as it was, and so does one in which an expectation fails.
///
/// ```swift
/// for language in ["de", "en"] {
///     try await withCassette("feed-\(language)") { cassette in
///         let request = try Request.get("https://api.example.com/feed?lang=\(language)")
///         let response = try await CassetteConnection(cassette).send(request)
///         #expect(response.status == .ok)
///     }
/// }
/// ```
///
/// It does not see the expectations of a detached task, since that task does not belong to the test.
///
/// - Parameters:
///   - name: The name of the cassette; nil for that of the function. Give each case of a parameterised test its
///     own name.
///   - rules: The rules for matching, redacting, recording and playing; nil for the rules of the suite.
///   - mode: The reaction to a request; nil for the mode of the suite or of the environment.
///   - clock: The clock that dates recordings and times the pauses between chunks.
///   - filePath: The file of the test.
///   - function: The function of the test.
///   - sourceLocation: The place of warnings, of interactions that were never played or are outdated.
///   - body: The test. It runs where the caller does.
/// - Returns: The result of the test.
/// - Throws: The error of the test, or the error of `Cassette.finish()` after it.
public func withCassette<Result>(
    _ name: String? = nil, rules: CassetteRules? = nil, mode: CassetteMode? = nil,
    clock: any DatedClock = SystemClock(), filePath: String = #filePath, function: String = #function,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping (Cassette) async throws -> Result
) async throws -> Result {
    let part = TestPart(isolation: #isolation, body: body)
    let watch = IssueWatch()
    return try await DecorumTesting.withCassette(
        name, rules: rules, mode: mode, clock: clock, hasFailed: watch.hasFailed, filePath: filePath,
        function: function, test: Test.currentRecorderName, shown: watch.errorTexts, onFault: sourceLocation.record,
        onNote: sourceLocation.warn
    ) { cassette in
        defer { cassette.attachFailures(at: sourceLocation) }
        if let test = Test.current {
            try await watch.watch(test, .current) { try await part.run(cassette) }
        } else {
            try await part.run(cassette)
        }
        if !watch.hasFailed { cassette.warn(at: sourceLocation) }
        return try part.takeResult()
    }
}

/// A part of a test in a form that Swift Testing accepts, which takes only closures that may run on any thread.
///
/// `@unchecked Sendable`: one task alone touches it, on the actor of the caller, which waits for it.
private final class TestPart<Result>: @unchecked Sendable {
    private let isolation: (any Actor)?
    private let body: (Cassette) async throws -> Result
    private var result: Result?

    init(isolation: (any Actor)?, body: @escaping (Cassette) async throws -> Result) {
        self.isolation = isolation
        self.body = body
    }

    func run(_ cassette: Cassette) async throws {
        try await run(cassette, on: isolation)
    }

    private func run(_ cassette: Cassette, on actor: isolated (any Actor)?) async throws {
        result = try await body(cassette)
    }

    /// The result of the part; an error where the framework has not run it.
    func takeResult() throws -> Result {
        guard let result else { throw CancellationError() }
        return result
    }
}
