import Decorum
import DecorumTesting
import DecorumTraffic
import HTTPTypes

/// What one run does, call by call and exchange by exchange, and the rules that it has to keep.
struct TrafficHistory: Sendable {
    struct Call: Sendable, Equatable {
        enum Outcome: Sendable { case good, bad, cancelled, circuitOpen }

        let beginning: Duration
        let deadline: Duration?
        let isUnsafe: Bool
        var cancellation: Duration?
        var head: Duration?
        var end: Duration?
        var outcome = Outcome.good
    }

    struct Exchange: Sendable, Equatable {
        enum Result: Sendable { case good, failed, unprocessed, cancelled }

        let call: Int?
        let beginning: Duration
        let isCancelled: Bool
        var head: Duration?
        var end: Duration?
        var result = Result.cancelled
    }

    /// A request at a limit.
    struct Arrival: Sendable {
        let priority: UInt8
        let time: Duration
        var admission: Duration?
    }

    let clock: SimulatedClock
    /// The layers as they should be.
    let stack: TrafficStack
    var calls: [Call] = []
    var exchanges: [Exchange] = []
    /// The requests that came to a limit, in their order.
    var arrivals: [Arrival] = []
    var running = 0
    var mostRunning = 0
    var hedges = 0
    var storedAnswers = 0
    var outages = 0
    var failuresBeforeFirstRefusal: Int?

    var now: Duration { clock.time }

    mutating func begin(_ request: Request) {
        let deadline = request.options.deadline.map { now + clock.now.duration(to: $0) }
        calls.append(.init(beginning: now, deadline: deadline, isUnsafe: request.head.method == .post))
    }

    var failures: Int { exchanges.count { $0.result == .failed || $0.result == .unprocessed } }

    /// How often the run comes to what the rules are about.
    var reach: [Int] {
        [
            calls.count { $0.outcome == .cancelled }, calls.count { $0.end != nil && $0.end == $0.deadline },
            calls.count { $0.outcome == .circuitOpen }, arrivals.count { $0.admission ?? $0.time > $0.time },
            exchanges.count - Set(exchanges.map(\.call)).count, mostRunning == stack.limit ? 1 : 0, hedges,
            storedAnswers, outages,
        ]
    }

    /// The rules that are broken.
    func violations() -> [String] {
        let extra = exchanges.count - Set(exchanges.compactMap(\.call)).count
        let budget = 1 + exchanges.count { $0.result == .good } / 5
        let isOvertaken = arrivals.indices.contains { first in
            arrivals[(first + 1)...].contains { second in
                guard let before = arrivals[first].admission, let now = second.admission else { return false }
                return arrivals[first].priority >= second.priority && now < before
            }
        }
        // In a second, as many begin as were saved up, and as many again.
        let (begun, most) = (arrivals.compactMap(\.admission).sorted(), 2 * TrafficStack.requestsPerSecond)
        let isFast = begun.indices.dropFirst(most).contains { begun[$0] - begun[$0 - most] < .seconds(1) }
        let found = [
            (mostRunning > stack.limit ?? .max, "more requests than the limit were on their way"),
            (stack.limits?.limits.rate != nil && isFast, "more requests than the rate began in a second"),
            (isOvertaken, "a request at the limit overtook one that is as important"),
            (stack.hasBudget && extra > budget, "further requests exceed the budget"),
            (failuresBeforeFirstRefusal ?? .max < TrafficStack.circuitThreshold, "a circuit opened too early"),
            (running > 0, "an exchange never ended"),
            (calls.last?.outcome != .good, "the last call to a server that is well has failed"),
        ]
        let ofCalls = calls.indices.flatMap { number in violations(of: calls[number]) { $0.call == number } }
        return found.filter(\.0).map(\.1) + ofCalls
    }

    private func violations(of call: Call, _ isOwn: (Exchange) -> Bool) -> [String] {
        guard let end = call.end else { return ["a call never ended"] }
        let own = exchanges.filter(isOwn)
        let processed = own.filter { $0.result != .unprocessed && !$0.isCancelled }
        let (head, never) = (call.head ?? end, Duration.seconds(1 << 30))
        let (deadline, cancellation) = (call.deadline ?? never, call.cancellation ?? never)
        var found = [
            (end - call.beginning > .seconds(600), "a call starved"),
            (head > deadline, "a call ended after its deadline"),
            (end > cancellation, "a call went on after its cancellation"),
            (cancellation == never && call.outcome == .cancelled, "a call was cancelled by nobody"),
            (call.isUnsafe && processed.count > 1, "an unsafe request was sent twice"),
        ]
        // An exchange of several callers goes by none of them.
        if !stack.isShared {
            let answer = own.filter { $0.result == .good }.compactMap(\.head).min()
            let most = stack.hedging != nil ? 2 : 1
            found += [
                (own.contains { $0.beginning > deadline }, "a request was sent after its deadline"),
                (own.contains { $0.beginning > cancellation }, "a request was sent after its cancellation"),
                (cancellation < never && own.count(where: \.isCancelled) > most, "more was sent after a cancellation"),
                (own.contains { $0.end ?? never > end }, "an exchange was left behind"),
                (head > answer ?? never, "an answer came late"),
            ]
        }
        return found.filter(\.0).map(\.1)
    }
}

typealias TrafficRecord = Monitor<TrafficHistory>

enum CallNumberKey: RequestOptionKey { static let defaultValue: Int? = nil }
private enum ArrivalKey: RequestOptionKey { static let defaultValue: Int? = nil }

extension Connection {
    /// Records each exchange; the innermost layer.
    func recordingExchanges(in record: TrafficRecord) -> some Connection {
        let clock = record.read(\.clock)
        return intercepting("recordingExchanges", facts: []) { request, base in
            let (call, arrival) = (request.options[CallNumberKey.self], request.options[ArrivalKey.self])
            let (isCancelled, deadline) = (Task.isCancelled, request.options.deadline)
            let number = record.update { history in
                if let arrival { history.arrivals[arrival].admission = history.now }
                history.exchanges.append(.init(call: call, beginning: history.now, isCancelled: isCancelled))
                history.running += 1
                history.mostRunning = max(history.mostRunning, history.running)
                return history.exchanges.count - 1
            }
            let end: @Sendable () -> Void = {
                record.update { ($0.exchanges[number].end, $0.running) = ($0.now, $0.running - 1) }
            }
            do {
                var response = try await base.send(request)
                let isGood = response.status.code < 500
                record.update { history in
                    history.exchanges[number].head = history.now
                    history.exchanges[number].result = isGood ? .good : .failed
                }
                if response.body.bytes != nil {
                    end()
                } else {
                    response.body = response.body.observed { if case .chunk = $0 {} else { end() } }
                }
                return response
            } catch {
                let isLate = deadline.map { clock.now >= $0 } ?? false
                let stage = (error as? TransportError)?.stage
                if stage != nil || isLate {
                    record.update { $0.exchanges[number].result = stage == .connecting ? .unprocessed : .failed }
                }
                end()
                throw error
            }
        }
    }

    /// Records the order in which requests come to a limit.
    func recordingArrivals(in record: TrafficRecord) -> some Connection {
        intercepting("recordingArrivals", facts: []) { request, base in
            var request = request
            let priority = (request.options.priority ?? .medium).rawValue
            request.options[ArrivalKey.self] = record.update { history in
                history.arrivals.append(.init(priority: priority, time: history.now))
                return history.arrivals.count - 1
            }
            return try await base.send(request)
        }
    }
}
