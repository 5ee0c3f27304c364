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
    /// origin and the same `routeName`. It is measured over 30 to 60 seconds, and is at least 1 ms.
    /// Before there are 20 answers, nothing is hedged.
    ///
    /// **The first good head wins**, with a status below 500 that is not 429. The other request is cancelled, and nobody
    /// waits for its end. If one of the two fails, the other one is waited for; if both fail, the caller gets the outcome of
    /// the first one. `hedge` tells which one has won, and
    /// `attempts` counts both.
    ///
    /// **No hedge** is sent for a method that is not safe, or a body that can be read only once; when less time than the
    /// wait is left until the deadline; after more than a share of the good answers; without a retry in the budget, from which
    /// the hedge takes one if `retrying` uses the budget too; and when no good answer has come for a second, or for twice
    /// the wait if that is longer, since a server in trouble needs fewer requests and not more.
    ///
    /// Place it inside of `retrying`, and outside of authentication, of `breakingCircuits` and of limits, so that they see
    /// both requests. Over HTTP/1.1, a request that is cancelled costs its connection.
    ///
    /// - Parameters:
    ///   - policy: When a request is sent again, and how often.
    ///   - clock: The clock that measures and waits.
    ///   - spawner: Starts the tasks that send.
    /// - Returns: A connection that sends a request at most twice.
    public func hedging(
        _ policy: HedgingPolicy = .standard,
        clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        HedgingConnection(base: self, policy: policy, clock: clock, spawner: spawner)
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
        self.percentile = percentile
        self.largestShare = largestShare
        self.budget = budget
    }

    /// Hedges after the time of 95 % of the answers, at most 5 % of them, within the budget of the process.
    public static let standard = HedgingPolicy()

    /// Whether the numbers are in range.
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

    init(base: Base, policy: HedgingPolicy, clock: any DatedClock, spawner: any TaskSpawner) {
        self.base = base
        gate = HedgeGate(policy: policy, clock: clock, spawner: spawner)
    }

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
        if let wait = entry.wait {
            return try await gate.race(request, entry, after: wait) { [base] in try await base.send($0) }
        }
        let response = try await base.send(request)
        if response.head.isGoodAnswer { gate.noteAnswer(to: entry) }
        return response
    }
}

/// What a layer does with second requests; not generic, since generic code looks up its types for each request.
struct HedgeGate: Sendable {
    /// A request that may be sent twice: its route, its beginning, and the wait before a second request, if there may be one.
    struct Entry: Sendable {
        let route: HedgedRoute
        let start: Duration
        let wait: Duration?
    }

    let policy: HedgingPolicy
    let clock: any DatedClock
    let spawner: any TaskSpawner
    let routes = KeyedStates<HedgedRoute.Key, HedgedRoute>()
    /// The instant from which all times count: the code for instants is much slower than that for durations.
    private let reference = ContinuousClock.now

    init(policy: HedgingPolicy, clock: any DatedClock, spawner: any TaskSpawner) {
        (self.policy, self.clock, self.spawner) = (policy, clock, spawner)
    }

    var now: Duration { clock.now - reference }

    /// Begins to measure a request; returns nil for one that must not be sent twice.
    func enter(_ request: borrowing Request) -> Entry? {
        guard request.head.method.isSafe, request.body.isEmpty || request.body.replay > .once else { return nil }
        let route = route(of: request)
        let now = now
        return Entry(route: route, start: now, wait: route.update { $0.begin(at: now, by: policy) })
    }

    func noteAnswer(to entry: Entry) {
        let now = now
        entry.route.update { $0.noteAnswer(after: now - entry.start, at: now, by: policy) }
    }

    /// Sends a request, and perhaps a second one; returns the first good answer.
    func race(
        _ request: Request, _ entry: Entry, after wait: Duration,
        _ send: @escaping @Sendable (_ request: Request) async throws -> Response
    ) async throws -> Response {
        try Task.checkCancellation()
        let race = HedgeRace(due: entry.start + wait, since: reference, spawner: spawner)
        race.run(.first) { try await send(request) }
        entry.route.watch.add(race)
        defer { entry.route.watch.remove(race) }
        while true {
            switch try await race.step() {
            case .due:
                guard mayHedge(request, entry, after: wait) else { continue }
                var hedge = request
                hedge.options = request.options.travelling(.attempts)
                race.run(.hedge) { [hedge] in try await send(hedge) }
            case .end(let end):
                if end.isGood { noteAnswer(to: entry) }
                return try end.outcome(toldTo: request.options.callContext)
            }
        }
    }

    private func mayHedge(_ request: Request, _ entry: Entry, after wait: Duration) -> Bool {
        let instant = clock.now
        let refusal = entry.route.update { state in
            state.refusal(
                after: wait, at: instant - reference, timeLeft: request.options.timeLeft(at: instant)
            ) {
                policy.budget.takeHedge(for: request.head, at: instant, on: clock)
            }
        }
        request.options.callContext?.note(
            refusal.map { .init(.skips, by: "hedging", "no second request: \($0)") }
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

/// The reason why no second request is sent.
enum HedgeRefusal: Sendable, Hashable, CustomStringConvertible {
    case deadline, noAnswers, share, budget

    var description: String {
        switch self {
        case .deadline: "the deadline is too near"
        case .noAnswers: "the server has given no good answer lately"
        case .share: "the share of second requests is used"
        case .budget: "the retry budget of the origin is empty"
        }
    }
}

/// The answers of one route, and the second requests that they allow, without a clock and without a lock;
/// times count from any one instant.
struct HedgeState: Sendable {
    /// The largest number of second requests that are saved up.
    private static let largestSaving = 10.0
    private static let shortestWait = Duration.milliseconds(1)
    private static let patience = Duration.seconds(1)

    private var latencies = LatencyPercentiles()
    private var saved = 0.0
    /// The beginning of the first request since the last good answer.
    private var waitingSince: Duration?

    /// Notes the beginning of a request; returns the wait before a second one, and nil if there is to be none.
    mutating func begin(at now: Duration, by policy: HedgingPolicy) -> Duration? {
        if waitingSince == nil { waitingSince = now }
        return latencies.value(of: policy.percentile, at: now).map { max($0, Self.shortestWait) }
    }

    mutating func noteAnswer(after time: Duration, at now: Duration, by policy: HedgingPolicy) {
        waitingSince = nil
        // The time until the second request was answered is a time above the wait, as the first one would have had.
        latencies.add(time, at: now)
        saved = min(saved + max(0, policy.largestShare), Self.largestSaving)
    }

    /// Takes a second request; returns the reason if there is to be none.
    mutating func refusal(
        after wait: Duration, at now: Duration, timeLeft: Duration?, takingFromBudget: () -> Bool
    ) -> HedgeRefusal? {
        if let timeLeft, timeLeft <= wait { return .deadline }
        if let waitingSince, now - waitingSince >= max(Self.patience, wait * 2) { return .noAnswers }
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

    /// The watch that sends second requests; one for each route, since its lock would be common to all.
    let watch: TimeLimitWatch
    private let state = Mutex(HedgeState())
    private let useNumber = Atomic(0)

    init(clock: any DatedClock) {
        watch = TimeLimitWatch(clock: clock)
    }

    var lastUse: Int? { useNumber.load(ordering: .relaxed) }

    func noteUse(_ number: Int) {
        if useNumber.load(ordering: .relaxed) != number { useNumber.store(number, ordering: .relaxed) }
    }

    func update<Result>(_ change: (inout HedgeState) -> Result) -> Result { state.withLock { change(&$0) } }
}

/// Two requests of which the first good answer wins; a watch says when it is time for the second one.
private final class HedgeRace: TimeLimited {
    enum Runner: Sendable { case first, hedge }

    /// What the caller has to do.
    enum Step: Sendable {
        /// It is time for the second request.
        case due
        case end(End)
    }

    struct End: Sendable {
        let winner: Runner
        let result: Result<Response, any Error>
        let isGood: Bool
        let isHedged: Bool

        /// The outcome that the caller gets, with both attempts.
        func outcome(toldTo call: CallContext?) throws -> Response {
            guard isHedged else { return try result.get() }
            let hedge = winner == .hedge ? ResponseMetadata.Hedge.won : .lost
            call?.note(.init(.answers, by: "hedging", "the second request has \(hedge)"))
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
        /// The time of the second request; nil once it has come, or when none is to be sent.
        var due: Duration?
        var running = 0
        var isHedged = false
        var isOver = false
        /// The outcome of the first request, if it has failed.
        var failure: Result<Response, any Error>?
        var tasks: (first: Task<Void, Never>?, hedge: Task<Void, Never>?)
        /// The step that nobody waits for yet.
        var next: Result<Step, any Error>?
        var waiter: CheckedContinuation<Step, any Error>?

        /// Gives a step to the caller; returns the continuation to resume after the lock.
        mutating func give(_ step: Result<Step, any Error>) -> CheckedContinuation<Step, any Error>? {
            if waiter == nil { next = step }
            return waiter.take()
        }
    }

    private let reference: ContinuousClock.Instant
    private let spawner: any TaskSpawner
    private let state: Mutex<State>

    init(due: Duration, since reference: ContinuousClock.Instant, spawner: any TaskSpawner) {
        (self.reference, self.spawner) = (reference, spawner)
        state = Mutex(State(due: due))
    }

    /// Sends one of the requests in a task of its own, since the caller waits for the other one no longer than needed.
    func run(_ runner: Runner, _ send: @escaping @Sendable () async throws -> Response) {
        let isWanted = state.withLock { state in
            guard !state.isOver else { return false }
            state.running += 1
            state.isHedged = runner == .hedge
            return true
        }
        guard isWanted else { return }
        let task = spawner.spawn { [self] in
            do {
                end(runner, .success(try await send()))
            } catch {
                end(runner, .failure(error))
            }
        }
        let isLate = state.withLock { state in
            if runner == .first { state.tasks.first = task } else { state.tasks.hedge = task }
            return state.isOver
        }
        if isLate { task.cancel() }
    }

    /// Waits for the next step; throws `CancellationError` for a caller who is cancelled.
    func step() async throws -> Step {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let next = state.withLock { state in
                    if state.next == nil { state.waiter = waiter }
                    return state.next.take()
                }
                if let next { waiter.resume(with: next) }
            }
        } onCancel: {
            cancel()
        }
    }

    private func end(_ runner: Runner, _ result: Result<Response, any Error>) {
        let isGood = (try? result.get().head.isGoodAnswer) ?? false
        let end = state.withLock { state in
            state.running -= 1
            guard !state.isOver else { return nil as End? }
            guard isGood || state.running == 0 else {
                if runner == .first { state.failure = result }
                return nil
            }
            let first = isGood ? nil : state.failure
            return End(
                winner: first == nil ? runner : .first, result: first ?? result, isGood: isGood,
                isHedged: state.isHedged)
        }
        if let end { finish(with: .success(.end(end))) }
    }

    func cancel() { finish(with: .failure(CancellationError())) }

    /// Gives the last step to the caller, and cancels what is still under way.
    private func finish(with step: Result<Step, any Error>) {
        let (waiter, tasks) = state.withLock { state in
            let waiter = state.isOver ? nil : state.give(step)
            state.isOver = true
            state.due = nil
            return (waiter, state.tasks)
        }
        tasks.first?.cancel()
        tasks.hedge?.cancel()
        waiter?.resume(with: step)
    }

    var timeLimit: TimeLimit? {
        state.withLock { $0.due }.map { TimeLimit(at: reference + $0, because: .deadline) }
    }

    func timeOut(at limit: TimeLimit) {
        let waiter = state.withLock { state in
            guard state.due.take() != nil else { return nil as CheckedContinuation<Step, any Error>? }
            return state.give(.success(.due))
        }
        waiter?.resume(returning: .due)
    }
}

extension HTTPResponse {
    fileprivate var isGoodAnswer: Bool {
        let code = code
        return code < 500 && code != 429
    }
}
