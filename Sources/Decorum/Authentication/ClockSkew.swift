public import Foundation
import HTTPTypes
import Synchronization

/// The difference between the clocks of servers and this one, learnt from their responses, so that a signature has a date that
/// its server accepts.
///
/// ```swift
/// func sign(_ request: Request) async throws -> Request {
///     let date = skew.date(for: try Origin(request.head))
///     // …
///     return request.dated(date)
/// }
///
/// func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }
/// ```
///
/// Only the `Date` of a response that its own server has just sent counts: one with an `Age` is from a cache on the way, and a
/// stored or a recorded one is as old as it is. A difference of less than half a minute counts as none, because the field has
/// whole seconds and the response was on its way. Each server has its own difference, and the newest response decides.
public final class ClockSkew: Sendable {
    private let clock: any DatedClock
    private let offsets = Mutex<[Origin: TimeInterval]>([:])

    /// The difference that counts as none, in seconds.
    private static let tolerance: TimeInterval = 30
    /// How many servers are remembered; further ones are taken to agree with this clock.
    private static let serverLimit = 1_000

    /// Creates differences that are not known yet.
    ///
    /// - Parameter clock: The clock of this machine.
    public init(clock: any DatedClock = SystemClock()) {
        self.clock = clock
    }

    /// The date and time of day on the clock of a server, as far as it is known.
    ///
    /// - Parameter origin: The server.
    /// - Returns: The date of this machine's clock, corrected by the difference.
    public func date(for origin: Origin) -> Date {
        clock.date.addingTimeInterval(offsets.withLock { $0[origin] } ?? 0)
    }

    /// Learns the difference from a response.
    ///
    /// - Parameter answer: The response and its server.
    public func learn(from answer: AuthenticationAnswer) {
        let fields = answer.head.headerFields
        let now = clock.date
        guard case .network? = answer.metadata.source, fields[.age] == nil, let text = fields[.date],
            let date = HTTPDate(text, at: now)
        else { return }
        let offset = date.date.timeIntervalSince(now)
        offsets.withLock { offsets in
            guard offsets[answer.origin] != nil || offsets.count < Self.serverLimit else { return }
            offsets[answer.origin] = abs(offset) < Self.tolerance ? nil : offset
        }
    }
}
