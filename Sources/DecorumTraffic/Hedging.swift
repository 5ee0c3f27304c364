public import Decorum
import HTTPTypes
import Synchronization

extension Connection {
    /// Sends a safe request a second time when its answer takes longer than nearly all others, and returns the first one.
    ///
    /// It helps against single slow answers, such as from one slow machine of many, and costs few further requests:
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .hedging(HedgingPolicy(percentile: 0.95, largestShare: 0.05))
    ///     .retrying()
    /// ```
    ///
    /// **The wait** before the second request, the hedge, is the time in which 95 % of the last answers came, of the same
    /// origin and `routeName`: those of 30 to 60 seconds, and at least 20. It is at least 1 ms.
    ///
    /// **The first good head wins**, with a status below 500 that is not 429. The other request is cancelled, and nobody
    /// waits for its end. If one of the two fails, the other one is waited for; if both fail, the caller gets the outcome of
    /// the first one. `hedge` tells which one has won, and `attempts` counts both.
    ///
    /// **No hedge** is sent for a method that is not safe, or a body that can be read only once; when less time than the
    /// wait is left until the deadline; after more than a share of the good answers; without a retry in the budget, from which
    /// the hedge takes one if `retrying` uses the budget too; and when no good answer has come for a second, or for twice
    /// the wait if that is longer, since a server in trouble needs fewer requests and not more.
    ///
    /// Place it inside of `retrying`, and outside of authentication, of `breakingCircuits` and of limits, so that they see
    /// both requests. Over HTTP/1.1, a request that is cancelled costs its connection.
    public func hedging(
        _ policy: HedgingPolicy = .standard, clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        HedgingConnection(
            base: self, gate: HedgeGate(policy: policy, clock: clock, spawner: spawner) { try await self.send($0) })
    }
}

/// When `hedging(_:clock:spawner:)` sends a second request.
public struct HedgingPolicy: Sendable, Hashable {
    /// The part of the answers that are faster than the wait before a second request, from 0 to 1.
    public var percentile: Double
    /// The number of second requests for each good answer, such as 0.05; 0 or less sends none.
    ///
    /// Up to ten that were not sent may be sent later, in a shorter time.
    public var largestShare: Double
    /// The budget that second requests share with the retries.
    public var budget: RetryBudget

    /// Creates a policy from its values; ``standard`` has the defaults.
    public init(percentile: Double = 0.95, largestShare: Double = 0.05, budget: RetryBudget = .shared) {
        (self.percentile, self.largestShare, self.budget) = (percentile, largestShare, budget)
    }

    /// Hedges after the time of 95 % of the answers, at most 5 % of them, within the budget of the process.
    public static let standard = HedgingPolicy()

    var isSound: Bool { percentile > 0 && percentile < 1 && largestShare > 0 && largestShare <= 1 }
}

extension ResponseMetadata {
    /// The outcome of a second request of `hedging`.
    public enum Hedge: String, Sendable, Hashable {
        /// The second request was answered first.
        case won
        /// The first request was answered first, or the second one has failed.
        case lost
    }

    /// Whether the second of two requests has won; nil if only one was sent.
    public var hedge: Hedge? {
        get { self[HedgeKey.self] }
        set { self[HedgeKey.self] = newValue }
    }
}

private enum HedgeKey: ResponseMetadataKey { static let defaultValue: ResponseMetadata.Hedge? = nil }

struct HedgingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let gate: HedgeGate

    var layer: Layer {
        let policy = gate.policy
        var state: Set<Layer.StateIdentity> = [.init(gate.routes)]
        if let shared = policy.budget.sharedState(on: gate.clock) { state.insert(shared) }
        var facts = Layer.facts(of: gate.clock).union([.readsStatus, .hedges])
        if !policy.isSound { facts.insert(.unsoundSettings) }
        return Layer(
            name: "hedging", role: .resilience,
            settings: [.init("percentile", policy.percentile), .init("largestShare", policy.largestShare)],
            facts: facts, sending: .init(1...2), memory: .init(state: state))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard let entry = gate.enter(request) else { return try await base.send(request) }
        do {
            let response =
                if let wait = entry.wait { try await gate.race(request, entry, after: wait) } else {
                    try await base.send(request)
                }
            gate.note(response.isGoodAnswer ? .answer : .failure, of: entry)
            return response
        } catch {
            gate.note(error is CancellationError ? .cancellation : .failure, of: entry)
            throw error
        }
    }
}

/// The routes of a layer; not generic, since generic code looks up its types for each request.
struct HedgeGate: Sendable {
    /// A request that may be sent twice, its beginning, and the wait before a second request, if there may be one.
    typealias Entry = (route: HedgedRoute, start: Duration, wait: Duration?)

    let policy: HedgingPolicy
    let clock: any DatedClock
    let spawner: any TaskSpawner
    let send: @Sendable (_ request: Request) async throws -> Response
    let routes = KeyedStates<HedgedRoute.Key, HedgedRoute>()
    /// The instant from which all times count: the code for instants is much slower than that for durations.
    private let reference = ContinuousClock.now

    var now: Duration { clock.now - reference }

    /// Begins to measure a request; returns nil for one that must not be sent twice.
    func enter(_ request: borrowing Request) -> Entry? {
        guard request.head.method.isSafe, request.body.isEmpty || request.body.replay > .once else { return nil }
        let (route, now) = (route(of: request), now)
        return (route, now, route.update { $0.begin(at: now, by: policy) })
    }

    func note(_ outcome: HedgeState.Outcome, of entry: Entry) {
        let now = now
        entry.route.update { $0.note(outcome, after: now - entry.start, at: now, by: policy) }
    }

    /// Sends a request, and perhaps a second one; returns the first good answer.
    func race(_ request: Request, _ entry: Entry, after wait: Duration) async throws -> Response {
        try Task.checkCancellation()
        let race = HedgeRace()
        let first = race.start(request, isHedge: false, by: self)
        var second: Task<Void, Never>?
        defer {
            if race.close() {
                first.cancel()
                second?.cancel()
            }
        }
        var end = try await race.end(before: reference + entry.start + wait, watchedBy: entry.route.watch)
        if end == nil {
            try Task.checkCancellation()
            if !race.isOver, mayHedge(request, entry, after: wait) {
                var hedge = request
                hedge.options = request.options.travelling(.attempts)
                second = race.start(hedge, isHedge: true, by: self)
            }
            end = try await race.end(watchedBy: entry.route.watch)
        }
        guard let end else { throw CancellationError() }
        return try second == nil ? end.result.get() : end.outcome(toldTo: request.options.callContext)
    }

    private func mayHedge(_ request: Request, _ entry: Entry, after wait: Duration) -> Bool {
        let instant = clock.now
        let refusal = entry.route.update { state in
            state.refusal(after: wait, at: instant - reference, timeLeft: request.options.timeLeft(at: instant)) {
                policy.budget.takeHedge(for: request.head, at: instant, on: clock)
            }
        }
        request.options.callContext?.note(
            refusal.map { .init(.skips, by: "hedging", "no second request: \($0.rawValue)") }
                ?? .init(.resends, by: "hedging", "no answer within \(wait.shortText), in which nearly all come"))
        return refusal == nil
    }

    private func route(of request: borrowing Request) -> HedgedRoute {
        let spelling = Spelling(originOf: request, name: request.options.routeName)
        if let known = routes.known(spelling) { return known }
        let key = HedgedRoute.Key(origin: try? Origin(request.head), name: request.options.routeName)
        return routes.state(of: key, spelled: spelling) { HedgedRoute(clock: clock) }
    }
}

enum HedgeRefusal: String, Sendable {
    case deadline = "the deadline is too near"
    case noAnswers = "the server has given no good answer lately"
    case share = "the share of second requests is used"
    case budget = "the retry budget of the origin is empty"
}

/// The answers of one route, and the second requests that they allow; times count from any instant.
struct HedgeState: Sendable {
    enum Outcome: Sendable { case answer, failure, cancellation }

    private var latencies = LatencyPercentiles()
    private var saved = 0.0
    private var running = 0
    /// The beginning of the first request since the last good answer; nil if all callers have left, which says nothing.
    private var waitingSince: Duration?

    /// Notes the beginning of a request; returns the wait before a second one, and nil if there is to be none.
    mutating func begin(at now: Duration, by policy: HedgingPolicy) -> Duration? {
        running += 1
        if waitingSince == nil { waitingSince = now }
        return latencies.value(of: policy.percentile, at: now).map { max($0, .milliseconds(1)) }
    }

    mutating func note(_ outcome: Outcome, after time: Duration, at now: Duration, by policy: HedgingPolicy) {
        running -= 1
        if outcome == .answer || outcome == .cancellation && running == 0 { waitingSince = nil }
        guard outcome == .answer else { return }
        // The time until the second request was answered is a time above the wait, as the first one would have had.
        latencies.add(time, at: now)
        saved = min(saved + max(0, policy.largestShare), 10)
    }

    /// Takes a second request; returns the reason if there is to be none.
    mutating func refusal(
        after wait: Duration, at now: Duration, timeLeft: Duration?, takingFromBudget: () -> Bool
    ) -> HedgeRefusal? {
        if let timeLeft, timeLeft <= wait { return .deadline }
        if let waitingSince, now - waitingSince >= max(.seconds(1), wait * 2) { return .noAnswers }
        // The sum of twenty times 0.05 may be a little less than 1.
        guard saved > 0.999_999 else { return .share }
        guard takingFromBudget() else { return .budget }
        saved -= 1
        return nil
    }
}

/// The state of a route behind a lock of its own.
final class HedgedRoute: KeyedState {
    struct Key: Sendable, Hashable {
        let origin: Origin?
        let name: String?
    }

    /// The watch of the waits; one for each route, since its lock would be common to all.
    let watch: TimeLimitWatch
    private let state = Mutex(HedgeState())

    init(clock: any DatedClock) {
        watch = TimeLimitWatch(clock: clock)
    }

    var mustStay: Bool { false }

    func update<Result>(_ change: (inout HedgeState) -> Result) -> Result { state.withLock { change(&$0) } }
}

/// Up to two requests, each in a task of its own, so that the caller waits for neither of them longer than needed.
final class HedgeRace: Sendable {
    /// The outcome of a request; an object, since copies of a response take longer.
    final class End: Sendable {
        let result: Result<Response, any Error>
        let isHedge: Bool
        let isGood: Bool

        init(_ result: Result<Response, any Error>, isHedge: Bool) {
            (self.result, self.isHedge) = (result, isHedge)
            isGood = if case .success(let response) = result { response.isGoodAnswer } else { false }
        }

        /// The outcome that the caller gets, with both attempts.
        func outcome(toldTo call: CallContext?) throws -> Response {
            let hedge = isHedge ? ResponseMetadata.Hedge.won : .lost
            var decision = CallDecision(.answers, by: "hedging", "the second request has \(hedge)")
            decision.winner = isHedge ? 2 : 1
            call?.note(decision)
            do {
                var response = try result.get()
                response.metadata.attempts += 1
                response.metadata.hedge = hedge
                return response
            } catch var error as TransportError {
                error.attempts += 1
                throw error
            }
        }
    }

    private struct State {
        var running = 0
        var isOver = false
        /// The end that the caller has not taken; before it is over, the failure of the first request.
        var end: End?
        var wait: LimitedWait<End>?
    }

    private let state = Mutex(State())

    var isOver: Bool { state.withLock { $0.isOver } }

    func start(_ request: Request, isHedge: Bool, by gate: HedgeGate) -> Task<Void, Never> {
        state.withLock { $0.running += 1 }
        return gate.spawner.start { [self, send = gate.send] in
            do {
                note(End(.success(try await send(request)), isHedge: isHedge))
            } catch {
                note(End(.failure(error), isHedge: isHedge))
            }
        }
    }

    /// Waits for the end, or for an instant; throws `CancellationError` for a caller who is cancelled.
    func end(
        before instant: @autoclosure () -> ContinuousClock.Instant? = nil, watchedBy watch: TimeLimitWatch
    ) async throws -> End? {
        let wait = state.withLock { state in
            state.wait = state.isOver ? nil : LimitedWait(until: instant())
            return state.wait
        }
        return if let wait { try await wait.value(watchedBy: watch) {} } else { state.withLock { $0.end.take() } }
    }

    /// Ends the race for a caller who leaves, so that it keeps no response; returns whether a request is under way.
    func close() -> Bool {
        state.withLock { state in
            (state.isOver, state.end, state.wait) = (true, nil, nil)
            return state.running > 0
        }
    }

    private func note(_ end: End) {
        let (last, wait) = state.withLock { state -> (End?, LimitedWait<End>?) in
            state.running -= 1
            guard !state.isOver else { return (nil, nil) }
            // If both fail, the outcome is that of the first one.
            if end.isGood || !end.isHedge { state.end = end }
            state.isOver = end.isGood || state.running == 0
            return state.isOver ? (state.end, state.wait) : (nil, nil)
        }
        // A wait that has just ended, since it is time for the second request, takes nothing.
        if let last { wait?.deliver(.success(last)) }
    }
}

extension TaskSpawner {
    /// Starts work; up to its first wait, the system's spawner runs it on the thread of the caller, which takes half the time.
    fileprivate func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), let system = self as? SystemSpawner
        else { return spawn(work) }
        return Task.immediate(priority: system.priority) { await work() }
    }
}

extension Response {
    fileprivate var isGoodAnswer: Bool { head.code < 500 && head.code != 429 }
}
