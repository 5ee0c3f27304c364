public import Decorum
import Foundation

/// A rule that every transport keeps, so that the layers above it behave the same on each.
///
/// Check your transport against all of them, over real sockets:
///
/// ```swift
/// @Test(arguments: TransportCase.all.excluding(.responseTrailers, because: "The platform drops them."))
/// func rule(_ rule: TransportCase) async throws {
///     let outcome = try await rule.check { conditions in MyConnection(clock: conditions.clock) }
///     if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
/// }
/// ```
///
/// Each case makes its own transports and servers. The transport must be able to reach 127.0.0.1. Exclude a case that the
/// platform cannot meet, with a reason that the transport's users can read. The remaining cases are a collection, which
/// goes into the arguments of a parameterized test as it is.
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

    /// The same case over HTTP/2, through nginx; it is skipped where nginx or openssl is missing.
    ///
    /// ``all`` includes it for the cases whose bytes nginx does not change.
    public var overHTTP2: TransportCase {
        TransportCase("\(name) over HTTP/2", demand) { [examine] subject in try await examine(subject.overHTTP2) }
    }

    /// Checks that a transport meets the case.
    ///
    /// - Parameters:
    ///   - soak: The duration of the cases that cancel at random; nil for 20 seconds where the environment has
    ///     `DECORUM_SOAK=1`, and otherwise for one second.
    ///   - make: Makes a transport that meets the conditions. A transport that cannot trust a given root certificate fails
    ///     the cases that ask for it; exclude them.
    /// - Returns: Whether the case was met, or the reason why it could not be tried.
    /// - Throws: A ``ConformanceFailure`` that says how the transport fails the case; `CancellationError` in a cancelled
    ///   task.
    public func check(
        soaking soak: Duration? = nil,
        _ make: @escaping @Sendable (_ conditions: TransportConditions) throws -> any Connection
    ) async throws -> ConformanceOutcome {
        let subject = TransportSubject(soak: (soak ?? Self.soak).bounded, factory: make)
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
    /// The case could not be tried, such as where a server is missing, for this reason.
    case skipped(String)
}
