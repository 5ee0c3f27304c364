import Decorum
import DecorumTesting
import DecorumTraffic
import HTTPTypes
import Synchronization

/// What one run does, call by call and exchange by exchange, and the rules that it has to keep.
struct TrafficHistory: Sendable {
    struct Call: Sendable, Equatable {
        let beginning: Duration
        let deadline: Duration?
        let isUnsafe: Bool
        var cancellation: Duration?
        var head: Duration?
        var end: Duration?
        var outcome = Outcome.good

        enum Outcome: Sendable { case good, bad, cancelled, circuitOpen }
    }

    struct Exchange: Sendable, Equatable {
        let call: Int?
        let beginning: Duration
        let isCancelled: Bool
        var head: Duration?
        var end: Duration?
        var result = Result.cancelled

        enum Result: Sendable { case good, failed, unprocessed, cancelled }
    }

    struct Arrival: Sendable {
        let priority: UInt8
        let time: Duration
        var admission: Duration?
    }

    /// How often runs come to what the rules are about.
    struct Reach: Sendable {
        var cancellations = 0
        var deadlines = 0
        var further = 0
        var waits = 0
        var refusals = 0
        var atLimit = 0

        var smallest: Int { min(cancellations, deadlines, further, waits, refusals, atLimit) }

        mutating func add(_ history: TrafficHistory) {
            cancellations += history.calls.count { $0.outcome == .cancelled }
            deadlines += history.calls.count { $0.end != nil && $0.end == $0.deadline }
            further += history.exchanges.count - Set(history.exchanges.map(\.call)).count
            waits += history.arrivals.count { $0.admission ?? $0.time > $0.time }
            refusals += history.calls.count { $0.outcome == .circuitOpen }
            atLimit += history.mostRunning == history.limit ? 1 : 0
        }
    }

    var calls: [Call] = []
    var exchanges: [Exchange] = []
    /// The requests that came to a limit, in their order.
    var arrivals: [Arrival] = []
    var running = 0
    var mostRunning = 0
    var failuresBeforeFirstRefusal: Int?

    // The settings of the stack on which rules depend.
    var isShared = false
    var isHedged = false
    var limit: Int?
    var hasBudget = false
    var circuitThreshold: Int?
    var heldPermits: @Sendable () -> Int = { 0 }

    var failures: Int { exchanges.count { $0.result == .failed || $0.result == .unprocessed } }

    /// The rules that are broken.
    func violations() -> [String] {
        var found = calls.enumerated().flatMap { violations(ofCall: $0, $1) }
        if let limit, mostRunning > limit { found.append("\(mostRunning) requests at once, and the limit is \(limit)") }
        if running > 0 { found.append("\(running) exchanges never ended") }
        if calls.last?.outcome != .good { found.append("the last call to a server that is well has failed") }
        let extra = exchanges.count - Set(exchanges.compactMap(\.call)).count
        let allowed = 1 + exchanges.count { $0.result == .good } / 5
        if hasBudget, extra > allowed { found.append("\(extra) further requests, and the budget is \(allowed)") }
        if let circuitThreshold, let failuresBeforeFirstRefusal, failuresBeforeFirstRefusal < circuitThreshold {
            found.append("a circuit opened after \(failuresBeforeFirstRefusal) failures")
        }
        for (index, second) in arrivals.enumerated() {
            let isOvertaking = arrivals[..<index].contains { first in
                guard let before = first.admission, let now = second.admission else { return false }
                return first.priority >= second.priority && now < before
            }
            if isOvertaking { found.append("request \(index) at the limit overtook one that is as important") }
        }
        return found
    }

    private func violations(ofCall number: Int, _ call: Call) -> [String] {
        guard let end = call.end else { return ["call \(number) never ended"] }
        let own = exchanges.filter { $0.call == number }
        var found: [String] = []
        if end - call.beginning > .seconds(600) { found.append("starved") }
        if let deadline = call.deadline, (call.head ?? end) > deadline { found.append("ended after its deadline") }
        if let cancellation = call.cancellation {
            if end > cancellation { found.append("went on after its cancellation") }
        } else if call.outcome == .cancelled {
            found.append("was cancelled by nobody")
        }
        let carriedOut = own.count { $0.result != .unprocessed && !$0.isCancelled }
        if call.isUnsafe, carriedOut > 1 { found.append("sent an unsafe request \(carriedOut) times") }
        guard !isShared else { return found.map { "call \(number) \($0)" } }
        if own.contains(where: { $0.beginning > call.deadline ?? .seconds(1 << 30) }) { found.append("sent late") }
        if let cancellation = call.cancellation {
            let late = own.count { $0.isCancelled || $0.beginning > cancellation }
            if late > (isHedged ? 2 : 1) || own.contains(where: { $0.beginning > cancellation }) {
                found.append("sent \(late) times after its cancellation")
            }
        }
        if own.contains(where: { $0.end ?? .seconds(1 << 30) > end }) { found.append("left an exchange behind") }
        if let answer = own.filter({ $0.result == .good }).compactMap(\.head).min(), call.head ?? end > answer {
            found.append("got its answer late")
        }
        return found.map { "call \(number) \($0)" }
    }
}

final class TrafficRecord: Sendable {
    let clock: SimulatedClock
    private let state = Mutex(TrafficHistory())

    init(clock: SimulatedClock) {
        self.clock = clock
    }

    var history: TrafficHistory { state.withLock { $0 } }

    func update<Value>(_ body: (inout TrafficHistory, Duration) -> Value) -> Value where Value: Sendable {
        let now = clock.time
        return state.withLock { body(&$0, now) }
    }
}

enum CallNumberKey: RequestOptionKey { static let defaultValue: Int? = nil }
private enum ArrivalKey: RequestOptionKey { static let defaultValue: Int? = nil }

extension Connection {
    /// Records each exchange; the innermost layer.
    func recordingExchanges(in record: TrafficRecord) -> some Connection {
        intercepting("recordingExchanges", facts: []) { request, base in
            let (call, arrival) = (request.options[CallNumberKey.self], request.options[ArrivalKey.self])
            let isCancelled = Task.isCancelled
            let deadline = request.options.deadline
            let number = record.update { history, now in
                if let arrival { history.arrivals[arrival].admission = now }
                history.exchanges.append(.init(call: call, beginning: now, isCancelled: isCancelled))
                history.running += 1
                history.mostRunning = max(history.mostRunning, history.running)
                return history.exchanges.count - 1
            }
            let end: @Sendable () -> Void = {
                record.update { history, now in
                    history.exchanges[number].end = now
                    history.running -= 1
                }
            }
            do {
                var response = try await base.send(request)
                let isGood = response.status.code < 500
                record.update { history, now in
                    history.exchanges[number].head = now
                    history.exchanges[number].result = isGood ? .good : .failed
                }
                guard response.body.bytes == nil else {
                    end()
                    return response
                }
                response.body = response.body.observed { event in
                    if case .chunk = event { return }
                    end()
                }
                return response
            } catch {
                let isLate = deadline.map { record.clock.now >= $0 } ?? false
                let result: TrafficHistory.Exchange.Result? =
                    switch error {
                    case let error as TransportError: error.stage == .connecting ? .unprocessed : .failed
                    default: isLate ? .failed : nil
                    }
                record.update { history, _ in if let result { history.exchanges[number].result = result } }
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
            request.options[ArrivalKey.self] = record.update { history, now in
                history.arrivals.append(.init(priority: priority, time: now))
                return history.arrivals.count - 1
            }
            return try await base.send(request)
        }
    }
}
