public import DecorumTesting
public import Testing

/// Gives the cassettes of a suite's tests their rules and their mode; it opens none.
///
/// Tests of the suite may share a cassette: in `CassetteMode.rewrite`, the first one that writes it replaces the file, and
/// those after it add to it.
///
/// ```swift
/// @Suite(.cassettes(rules: .api)) struct FeedTests {}
/// ```
public struct CassettesTrait: SuiteTrait, TestScoping {
    let defaults: CassetteDefaults

    /// Runs a suite with the rules and the mode.
    @concurrent public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let outer = CassetteDefaults.current
        let defaults = CassetteDefaults(
            rules: defaults.rules ?? outer.rules, mode: defaults.mode ?? outer.mode, run: outer.run ?? RewritingRun())
        try await CassetteDefaults.$current.withValue(defaults, operation: function)
    }
}

extension Trait where Self == CassettesTrait {
    /// Rules and a mode for the cassettes of a suite's tests, and of `withCassette` within them.
    ///
    /// - Parameters:
    ///   - rules: The rules for matching, redacting, recording and playing; nil for those of the enclosing suite.
    ///   - mode: The reaction to a request; nil for the mode of the enclosing suite or of the environment.
    /// - Returns: A trait for a suite.
    public static func cassettes(rules: CassetteRules? = nil, mode: CassetteMode? = nil) -> Self {
        CassettesTrait(defaults: CassetteDefaults(rules: rules, mode: mode))
    }
}
