public import Decorum
import Foundation

/// A rule that every transport keeps, so that the layers above it behave the same on each.
///
/// A suite of yours holds a transport of yours to all of them, over real sockets:
///
/// ```swift
/// @Test(arguments: TransportCase.all.excluding(.responseTrailers, because: "The platform drops them."))
/// func rule(_ rule: TransportCase) async throws {
///     let outcome = try await rule.check { conditions in MyConnection(clock: conditions.clock) }
///     if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
/// }
/// ```
///
/// Each case makes its own transports and servers. The transport must be able to reach 127.0.0.1. What a platform
/// cannot do is excluded with a reason that the transport's users can read. The cases that remain are a collection,
/// which goes into the arguments of a parameterized test as it is.
public struct TransportCase: ConformanceCase {
    /// The name of the case.
    public let name: String
    /// The demand of the case, in a sentence.
    public let demand: String
    private let examine: @Sendable (TransportSubject) async throws -> Void

    init(_ name: String, _ demand: String, _ examine: @escaping @Sendable (TransportSubject) async throws -> Void) {
        self.name = name
        self.demand = demand
        self.examine = examine
    }

    /// All cases.
    public static let all = ConformanceSuite<TransportCase>(
        [
            framing, malformed, foreignAnswers, fields, streaming, uploads, earlyAnswers, untouched, cancellations,
            timeouts, pool, closing, stress, tls, http2, reports,
        ].flatMap(\.self))

    /// The same case over HTTP/2, through nginx; one that cannot be tried where nginx or openssl is missing.
    ///
    /// ``all`` has these of the cases that nginx leaves as they are.
    public var overHTTP2: TransportCase {
        TransportCase("\(name) over HTTP/2", demand) { [examine] subject in try await examine(subject.overHTTP2) }
    }

    /// Holds a transport to the case.
    ///
    /// - Parameters:
    ///   - soak: How long the cases that cancel at random go on; nil for 20 seconds where the environment has
    ///     `DECORUM_SOAK=1`, and else for one.
    ///   - make: Makes a transport that meets the conditions. One that cannot trust a root of a case's own fails the
    ///     cases that ask for it, and is excused from them by an exclusion.
    /// - Returns: Whether the case was met, or why it could not be tried.
    /// - Throws: ``ConformanceFailure`` that says how the transport fails the case; `CancellationError` in a cancelled
    ///   task.
    public func check(
        soaking soak: Duration? = nil,
        _ make: @escaping @Sendable (_ conditions: TransportConditions) throws -> any Connection
    ) async throws -> ConformanceOutcome {
        let subject = TransportSubject(soak: soak ?? Self.soak, factory: make)
        do {
            try await decide(within: subject.soak + .seconds(120)) { [examine] in try await examine(subject) }
            return .met
        } catch let skip as ConformanceSkip {
            return .skipped(skip.reason)
        }
    }

    private static var soak: Duration {
        ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" ? .seconds(20) : .seconds(1)
    }
}

/// The outcome of a case that did not fail.
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
