import Decorum
import DecorumTesting
import Foundation
import Synchronization

extension Request {
    static func get(
        _ url: String, group: RequestGroup? = nil, priority: TaskPriority? = nil,
        deadline: ContinuousClock.Instant? = nil, in call: CallContext? = nil
    ) throws -> Request {
        var request = try Request(.get, url)
        (request.options.group, request.options.priority) = (group, priority)
        (request.options.deadline, request.options.callContext) = (deadline, call)
        return request
    }
}

extension Gate {
    /// The answer of a server that waits at the gate.
    func response() async throws -> Response {
        try await wait()
        return Response(status: .ok)
    }
}

extension SimulatedServer {
    /// A server of which some values differ.
    init(_ change: (inout SimulatedServer) -> Void) {
        self.init()
        change(&self)
    }
}

/// A clock with a date of its own, whose sleeps end at once.
final class JumpingClock: DatedClock {
    private let state = Mutex((elapsed: Duration.zero, date: Date(timeIntervalSince1970: 1_700_000_000)))
    private let start = ContinuousClock.now

    var now: ContinuousClock.Instant { start + state.withLock { $0.elapsed } }
    var minimumResolution: Duration { .nanoseconds(1) }
    var date: Date { state.withLock { $0.date } }

    /// Moves the date by a number of years, which may be negative, and the time ahead by as many.
    func leap(years: Int) {
        state.withLock {
            $0.date += TimeInterval(years * 31_557_600)
            $0.elapsed += .seconds(max(1, abs(years)) * 31_557_600)
        }
    }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        state.withLock { $0.elapsed = max($0.elapsed, deadline - start) }
    }
}
