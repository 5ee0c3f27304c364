public import DecorumTesting
public import Testing

/// Gives the cassettes of a suite's tests their rules and their mode; it opens none.
///
/// Tests of the suite may share a cassette, by the same name in `.cassette("name")`. Each test, and each case of a
/// parameterised one, records and plays its own recordings from their start, and in `CassetteMode.rewrite` replaces them
/// alone. An interaction that no test of the suite has played fails the suite; where only some of its tests run, one that
/// belongs to them.
///
/// ```swift
/// @Suite(.cassettes(rules: .api)) struct FeedTests {}
/// ```
public struct CassettesTrait: SuiteTrait, TestScoping {
    private let defaults: CassetteDefaults
    private let isPartial: Bool?

    /// Creates a trait; with `isPartial`, only some tests of the suite run, and nil judges by the arguments of the process.
    package init(rules: CassetteRules? = nil, mode: CassetteMode? = nil, isPartial: Bool? = nil) {
        defaults = CassetteDefaults(rules: rules, mode: mode)
        self.isPartial = isPartial
    }

    /// Runs a suite with the rules and the mode.
    @concurrent public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let outer = CassetteDefaults.current
        let shared = outer.shared ?? isPartial.map { SharedCassettes(isPartial: $0) } ?? SharedCassettes()
        let defaults = CassetteDefaults(
            rules: defaults.rules ?? outer.rules, mode: defaults.mode ?? outer.mode, shared: shared,
            report: outer.report)
        try await CassetteDefaults.$current.withValue(defaults, operation: function)
        guard outer.shared == nil else { return }
        for error in shared.unused() { Issue.record(error, sourceLocation: test.sourceLocation) }
    }
}

extension Trait where Self == CassettesTrait {
    /// Rules and a mode for the cassettes of a suite's tests, and of `withCassette` within them.
    ///
    /// - Parameters:
    ///   - rules: The rules for matching, redacting, recording and playing; nil for the rules of the enclosing suite.
    ///   - mode: The reaction to a request; nil for the mode of the enclosing suite or of the environment.
    /// - Returns: A trait for a suite.
    public static func cassettes(rules: CassetteRules? = nil, mode: CassetteMode? = nil) -> Self {
        CassettesTrait(rules: rules, mode: mode)
    }
}
