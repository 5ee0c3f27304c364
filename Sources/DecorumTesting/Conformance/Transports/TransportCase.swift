public import Decorum

/// A rule that every transport keeps, so that the layers above it behave the same on each.
///
/// A suite of yours holds a transport of yours to all of them, over real sockets:
///
/// ```swift
/// for rule in TransportCase.all.excluding(.responseTrailers, because: "The platform drops them.") {
///     try await rule.check { clock in MyConnection(clock: clock) }
/// }
/// ```
///
/// Each case makes a transport and a ``LoopbackOrigin`` of its own. The transport must be able to reach 127.0.0.1 over
/// clear text. What a platform cannot do is excluded with a reason that the transport's users can read. The cases that
/// remain are a collection, which goes into the arguments of a parameterized test as it is.
public struct TransportCase: ConformanceCase {
    /// The name of the case.
    public let name: String
    /// What the case demands, in a sentence.
    public let demand: String
    private let examine: @Sendable (TransportSubject) async throws -> Void

    init(_ name: String, _ demand: String, _ examine: @escaping @Sendable (TransportSubject) async throws -> Void) {
        self.name = name
        self.demand = demand
        self.examine = examine
    }

    /// All cases.
    public static let all = ConformanceSuite<TransportCase>(
        [framing, malformed, fields, streaming, uploads, untouched, cancellations, timeouts, pool, stress].flatMap(
            \.self))

    /// Holds a transport to the case.
    ///
    /// - Parameters:
    ///   - soak: How long the case that cancels at random goes on.
    ///   - make: Makes a transport whose timeouts go by a clock.
    /// - Returns: Whether the case was met, or why it could not be tried.
    /// - Throws: ``ConformanceFailure`` that says how the transport fails the case.
    @discardableResult public func check(
        soaking soak: Duration = .seconds(2),
        _ make: @escaping @Sendable (_ clock: any DatedClock) throws -> any Connection
    ) async throws -> ConformanceOutcome {
        let subject = TransportSubject(soak: soak, make: make)
        do {
            try await withDeadline(of: soak + .seconds(40), "The case “\(name)” did not end.") {
                try await examine(subject)
            }
            return .met
        } catch let skip as ConformanceSkip {
            return .skipped(skip.reason)
        }
    }
}

/// What became of a case that did not fail.
public enum ConformanceOutcome: Sendable, Hashable {
    /// The subject does what is demanded.
    case met
    /// The case could not be tried, such as for want of a server, for this reason.
    case skipped(String)
}

/// Ends a case that cannot be tried.
struct ConformanceSkip: Error {
    let reason: String
}
