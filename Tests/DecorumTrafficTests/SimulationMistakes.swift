import Decorum
import DecorumTesting
import DecorumTraffic
import Testing

/// A mistake that a layer has had somewhere, in a stack of this layer: by a setting, or by what is done around the layer.
struct Mistake: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let stack: @Sendable () -> TrafficStack
    let plant: @Sendable (inout TrafficStack) -> Void

    private init(
        _ name: String, in stack: @autoclosure @escaping @Sendable () -> TrafficStack,
        _ plant: @escaping @Sendable (inout TrafficStack) -> Void
    ) {
        (testDescription, self.stack, self.plant) = (name, stack, plant)
    }

    static let all = [
        Self("forgets the deadline of a retry", in: .retrying) { $0.outside = changing { $0.options.deadline = nil } },
        Self("retries without a budget", in: .retrying) { $0.retries?.budget = .unlimited },
        Self("retries unsafe methods", in: .retrying) { $0.retries?.methods.insert(.post) },
        Self("goes on after a cancellation", in: .retrying) { $0.outside = uncancelled },
        Self("takes a failure for a cancellation", in: .retrying) { $0.inside = failing(as: CancellationError()) },
        Self("keeps the place of a dropped body", in: .limiting) {
            let kept = Monitor<[Response]>([])
            $0.outside = answering { response, _ in kept.update { $0.append(response) } }
        },
        Self("never ends after a failure", in: .limiting) {
            $0.inside = { request, base, _ in
                do { return try await base.send(request) } catch is TransportError { try await Gate().wait() }
                throw CancellationError()
            }
        },
        Self("counts one request too few", in: .limiting) { $0.limits?.limits.concurrency = .fixed(3) },
        Self("lets too many requests begin in a second", in: .rating) { $0.limits?.limits.rate?.requests *= 3 },
        Self("lets the least important go first", in: .limiting) {
            $0.outside = changing { request in
                request.options.priority = .init(rawValue: 100 - (request.options.priority ?? .medium).rawValue)
            }
        },
        Self("queues a cancelled request", in: .limiting) { $0.outside = uncancelled },
        Self("counts cancellations as failures", in: .breaking) {
            $0.inside = failing(as: TransportError(.connectionLost, at: .head))
        },
        Self("opens too early", in: .breaking) { $0.circuits?.trigger = .failures(inARow: 2) },
        Self("never closes", in: .breaking) { $0.circuits?.firstBreak = .seconds(1 << 40) },
        Self("leaves the loser", in: .hedging) { $0.inside = uncancelled },
        Self("answers late", in: .hedging) {
            $0.outside = answering { _, clock in try await clock.sleep(for: .milliseconds(1)) }
        },
        Self("hedges unsafe methods", in: .hedging) { $0.outside = changing { $0.head.method = .get } },
        Self("has one budget for hedges and one for retries", in: .hedging) { $0.hedging?.budget = RetryBudget() },
        Self("stores failures", in: .only(.caching)) {
            $0.inside = answering { response, _ in response.head.headerFields[.cacheControl] = "max-age=1000000" }
        },
        Self("falls back unsafely", in: .only(.fallback)) { $0.outside = changing { $0.head.method = .get } },
    ]
}

/// Sends a request in a task of its own, which nobody cancels.
private let uncancelled: TrafficStack.Step = { request, base, _ in try await Task { try await base.send(request) }.value
}

private func changing(_ change: @escaping @Sendable (inout Request) -> Void) -> TrafficStack.Step {
    { request, base, _ in
        var request = request
        change(&request)
        return try await base.send(request)
    }
}

private func answering(
    _ change: @escaping @Sendable (inout Response, SimulatedClock) async throws -> Void
) -> TrafficStack.Step {
    { request, base, clock in
        var response = try await base.send(request)
        try await change(&response, clock)
        return response
    }
}

private func failing(as failure: any Error) -> TrafficStack.Step {
    { request, base, _ in
        do { return try await base.send(request) } catch { throw failure }
    }
}
