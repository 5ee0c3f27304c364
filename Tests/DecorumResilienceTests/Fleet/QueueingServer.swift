import Decorum
import Foundation
import Synchronization

/// A server that serves requests one after another, and a client that gives an attempt up after a second.
///
/// A request waits in a queue of a bounded length; when the queue is full, the answer is a 503. The server works on a
/// request whose client has given it up too.
final class QueueingServer: Connection {
    /// The way in which the server is in trouble.
    enum Trouble: Sendable {
        /// It serves 30 % of the requests that it serves otherwise.
        case slow
        /// It refuses each connection.
        case stopped
    }

    private struct State {
        var busyUntil = Duration.zero
        /// The instants at which the requests in the queue will have been served, in order.
        var queue: ArraySlice<Duration> = []
        var sent: [Int: Int] = [:]
    }

    /// The requests that are served in a second.
    private let rate: Double
    private let trouble: Trouble
    private let time: Range<Duration>
    private let clock: SimulatedClock
    private let state = Mutex(State())

    private static let patience = Duration.seconds(1)

    init(serving rate: Double, _ trouble: Trouble, in time: Range<Duration>, clock: SimulatedClock) {
        self.rate = rate
        self.trouble = trouble
        self.time = time
        self.clock = clock
    }

    /// The number of requests in each second.
    var sent: [Int: Int] { state.withLock { $0.sent } }

    func send(_ request: consuming Request) async throws -> Response {
        let now = clock.elapsed
        state.withLock { $0.sent[Int(now.components.seconds), default: 0] += 1 }
        if trouble == .stopped, time.contains(now) {
            try await clock.sleep(for: .milliseconds(1))
            throw TransportError(.connectionRefused, at: .connecting)
        }
        guard let end = state.withLock({ accept(at: now, &$0) }) else {
            try await clock.sleep(for: .milliseconds(1))
            return Response(status: .serviceUnavailable)
        }
        guard end - now <= Self.patience else {
            try await clock.sleep(for: Self.patience)
            throw TransportError(.timedOut, at: .head)
        }
        try await clock.sleep(for: end - now)
        return Response(status: .ok)
    }

    /// Puts a request into the queue.
    ///
    /// - Returns: The instant at which it will have been served; nil if the queue is full.
    private func accept(at now: Duration, _ state: inout State) -> Duration? {
        state.queue = state.queue.drop { $0 <= now }
        guard Double(state.queue.count) < 2 * rate else { return nil }
        let begin = max(now, state.busyUntil)
        let isSlow = trouble == .slow && time.contains(begin)
        state.busyUntil = begin + .seconds(1 / (isSlow ? rate * 0.3 : rate))
        state.queue.append(state.busyUntil)
        return state.busyUntil
    }
}
