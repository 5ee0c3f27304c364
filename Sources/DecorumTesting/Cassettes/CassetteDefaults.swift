public import Decorum

/// The rules and the mode that the cassettes of a scope, such as a suite, share.
///
/// The integration of a test framework sets them around the tests of a suite; `DecorumTestingTraits` does so for Swift
/// Testing.
public struct CassetteDefaults: Sendable {
    /// The defaults of the current task.
    @TaskLocal public static var current = CassetteDefaults()

    /// The rules of a test that does not set any; nil for the standard rules.
    public var rules: CassetteRules?
    /// The mode of a test that does not set one; nil for the mode of the environment.
    public var mode: CassetteMode?
    /// The cassettes that the tests of the scope share; nil if each test has its files alone.
    public var shared: SharedCassettes?
    /// The report of the run; nil for the one that the environment names in `CASSETTE_REPORT`.
    public var report: CassetteReportFile?

    /// Creates defaults.
    ///
    /// - Parameters:
    ///   - rules: The rules of a test that does not set any.
    ///   - mode: The mode of a test that does not set one.
    ///   - shared: The cassettes that the tests of the scope share.
    ///   - report: The report of the run.
    public init(
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
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - rules: The rules of the test; nil for the defaults.
    ///   - mode: The mode of the test; nil for the default.
    ///   - clock: The clock that dates recordings and times the pauses between chunks.
    ///   - isShared: Whether other tests of the scope may open the same file.
    ///   - test: The name of the test, to which the recordings of a shared file belong; nil if it is unknown.
    /// - Returns: The cassette.
    /// - Throws: The errors of ``Cassette/init(at:mode:rules:clock:spawner:)``.
    public func cassette(
        at path: String, rules: CassetteRules?, mode: CassetteMode?, clock: any DatedClock = SystemClock(),
        isShared: Bool = true, test: String? = nil
    ) throws -> Cassette {
        try Cassette(
            at: path, mode: mode ?? self.mode, rules: rules ?? self.rules ?? CassetteRules(), clock: clock,
            suite: shared, isNamed: isShared, test: test)
    }
}
