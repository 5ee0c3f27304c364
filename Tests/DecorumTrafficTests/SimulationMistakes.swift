import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization

/// A small layer of one kind, which keeps the rules unless it has a mistake.
enum Toy: String, Sendable, CaseIterable {
    case retry, limit, circuit, hedge, sharing

    struct CircuitOpen: Error {}

    func stack(
        over transport: some Connection, _ clock: SimulatedClock, _ record: TrafficRecord, _ mistake: Mistake?
    ) -> any Connection {
        record.update { history, _ in
            history.limit = self == .limit ? 2 : nil
            history.hasBudget = self == .retry || self == .hedge
            history.circuitThreshold = self == .circuit ? 3 : nil
            history.isShared = self == .sharing
        }
        switch self {
        case .retry: return ToyRetry(base: transport, clock: clock, mistake: mistake)
        case .limit:
            let queue = ToyQueue(mistake: mistake)
            record.update { history, _ in history.heldPermits = { queue.running } }
            return ToyLimit(base: transport, clock: clock, queue: queue).recordingArrivals(in: record)
        case .circuit: return ToyCircuit(base: transport, clock: clock, mistake: mistake)
        case .hedge: return ToyHedge(base: transport, clock: clock, mistake: mistake)
        case .sharing: return ToySharing(base: transport, mistake: mistake)
        }
    }
}

/// A mistake that layers of this kind have had somewhere.
enum Mistake: String, Sendable, CaseIterable {
    case retriesAfterDeadline, retriesWithoutBudget, retriesAfterCancellation, retriesUnsafeMethods, waitsUncancelled
    case sendsUncancelled, looksAtBudgetBeforeWait
    case losesPermitAtCancellation, losesPermitAfterError, losesPermitOfDroppedBody, releasesTwice, releasesAtHead
    case looksAtLimitBeforeWait, servesLastFirst, servesLeastImportantFirst, queuesUncancelled, queuesAfterDeadline
    case countsCancellations, keepsPlaceOfCancelledProbe, opensTooEarly
    case leavesLoser, waitsForLoser, hedgesUnsafeMethods, hedgesWithoutBudget
    case cancelsFollowers, keepsEndedLeader

    var toy: Toy {
        switch self {
        case .retriesAfterDeadline, .retriesWithoutBudget, .retriesAfterCancellation, .retriesUnsafeMethods,
            .waitsUncancelled, .sendsUncancelled, .looksAtBudgetBeforeWait:
            .retry
        case .losesPermitAtCancellation, .losesPermitAfterError, .losesPermitOfDroppedBody, .releasesTwice,
            .releasesAtHead, .looksAtLimitBeforeWait, .servesLastFirst, .servesLeastImportantFirst, .queuesUncancelled,
            .queuesAfterDeadline:
            .limit
        case .countsCancellations, .keepsPlaceOfCancelledProbe, .opensTooEarly: .circuit
        case .leavesLoser, .waitsForLoser, .hedgesUnsafeMethods, .hedgesWithoutBudget: .hedge
        case .cancelsFollowers, .keepsEndedLeader: .sharing
        }
    }
}

/// A budget of one further request, to which each good answer adds a fifth.
private final class ToyBudget: Sendable {
    private let fifths = Mutex(5)

    var isEmpty: Bool { fifths.withLock { $0 < 5 } }

    func earn() { fifths.withLock { $0 += 1 } }
    func spend() { fifths.withLock { $0 -= 5 } }
}

extension Response {
    fileprivate var isGood: Bool { status.code < 500 }
}

private struct ToyRetry<Base: Connection>: ComposedConnection {
    let base: Base
    let clock: SimulatedClock
    let mistake: Mistake?
    let budget = ToyBudget()

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        guard mistake == .sendsUncancelled else { return try await attempts(request) }
        return try await Task { try await attempts(request) }.value
    }

    private func attempts(_ request: Request) async throws -> Response {
        var failures = 0
        while true {
            let outcome = await Result.of { try await base.send(request) }
            if case .success(let response) = outcome, response.isGood {
                budget.earn()
                return response
            }
            if case .failure(let error) = outcome, error is CancellationError, mistake != .retriesAfterCancellation {
                throw error
            }
            failures += 1
            let start = clock.now + .milliseconds(100 * failures)
            let isLate = request.options.deadline.map { start >= $0 } ?? false
            guard failures < 4, request.head.method == .get || mistake == .retriesUnsafeMethods,
                !isLate || mistake == .retriesAfterDeadline, !budget.isEmpty || mistake == .retriesWithoutBudget
            else { return try outcome.get() }
            if mistake != .looksAtBudgetBeforeWait { budget.spend() }
            switch mistake {
            case .retriesAfterCancellation: try? await clock.sleep(until: start, tolerance: nil)
            case .waitsUncancelled: try await Task { try await clock.sleep(until: start, tolerance: nil) }.value
            default: try await clock.sleep(until: start, tolerance: nil)
            }
            if mistake == .looksAtBudgetBeforeWait { budget.spend() }
        }
    }
}

/// Two permits, and the requests that wait for one.
private final class ToyQueue: Sendable {
    private struct Waiter {
        let number: Int
        let priority: UInt8
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var running = 0
        var number = 0
        var waiters: [Waiter] = []
    }

    let mistake: Mistake?
    private let state = Mutex(State())

    init(mistake: Mistake?) {
        self.mistake = mistake
    }

    var running: Int { state.withLock { $0.running } }

    func takePermit() { state.withLock { $0.running += 1 } }

    /// Waits for a permit; returns false for a request that has left.
    func wait(_ request: Request, on clock: SimulatedClock) async -> Bool {
        let priority = (request.options.priority ?? .medium).rawValue
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        let alarm = request.options.deadline.map { deadline in
            Task {
                try await clock.sleep(until: deadline, tolerance: nil)
                if mistake != .queuesAfterDeadline { leave(number) }
            }
        }
        defer { alarm?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasPermit = state.withLock { state in
                    if Task.isCancelled, mistake != .queuesUncancelled { return false as Bool? }
                    guard state.running >= 2 else {
                        state.running += 1
                        return true
                    }
                    state.waiters.append(Waiter(number: number, priority: priority, continuation: continuation))
                    return nil
                }
                if let hasPermit { continuation.resume(returning: hasPermit) }
            }
        } onCancel: {
            if mistake != .queuesUncancelled { leave(number) }
        }
    }

    func release() {
        let next = state.withLock { state -> Waiter? in
            let order = state.waiters.indices.sorted { first, second in
                let (one, other) = (state.waiters[first], state.waiters[second])
                if one.priority != other.priority {
                    return (one.priority > other.priority) != (mistake == .servesLeastImportantFirst)
                }
                return (one.number < other.number) != (mistake == .servesLastFirst)
            }
            if let first = order.first { return state.waiters.remove(at: first) }
            state.running -= 1
            return nil
        }
        next?.continuation.resume(returning: true)
    }

    private func leave(_ number: Int) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
    }
}

private struct ToyLimit<Base: Connection>: ComposedConnection {
    let base: Base
    let clock: SimulatedClock
    let queue: ToyQueue

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        if queue.mistake == .looksAtLimitBeforeWait, queue.running < 2 {
            await Task.yield()
            queue.takePermit()
        } else {
            guard await queue.wait(request, on: clock) else {
                try Task.checkCancellation()
                throw TransportError(.deadlineExceeded, at: .connecting)
            }
        }
        if Task.isCancelled {
            if queue.mistake != .losesPermitAtCancellation { queue.release() }
            throw CancellationError()
        }
        do {
            var response = try await base.send(request)
            if queue.mistake == .releasesTwice { queue.release() }
            guard response.body.bytes == nil, queue.mistake != .releasesAtHead else {
                queue.release()
                return response
            }
            response.body = response.body.observed { event in
                switch event {
                case .chunk: return
                case .abandoned where queue.mistake == .losesPermitOfDroppedBody: return
                default: queue.release()
                }
            }
            return response
        } catch {
            if queue.mistake != .losesPermitAfterError { queue.release() }
            throw error
        }
    }
}

/// A circuit that opens for a second after three failures in a row; then one request at a time finds out.
private struct ToyCircuit<Base: Connection>: ComposedConnection {
    private struct State {
        var failures = 0
        var opening: ContinuousClock.Instant?
        var isProbing = false
    }

    let base: Base
    let clock: SimulatedClock
    let mistake: Mistake?
    private let state = Monitor(State())

    init(base: Base, clock: SimulatedClock, mistake: Mistake?) {
        (self.base, self.clock, self.mistake) = (base, clock, mistake)
    }

    func send(_ request: consuming Request) async throws -> Response {
        let now = clock.now
        let isOpen = state.update { state in
            guard let opening = state.opening else { return false }
            guard now - opening >= .seconds(1), !state.isProbing else { return true }
            state.isProbing = true
            return false
        }
        guard !isOpen else { throw Toy.CircuitOpen() }
        do {
            let response = try await base.send(request)
            note(isFailure: !response.isGood)
            return response
        } catch is CancellationError {
            if mistake == .countsCancellations { note(isFailure: true) }
            if mistake != .keepsPlaceOfCancelledProbe { state.update { $0.isProbing = false } }
            throw CancellationError()
        } catch {
            note(isFailure: true)
            throw error
        }
    }

    private func note(isFailure: Bool) {
        let now = clock.now
        state.update { state in
            state.isProbing = false
            state.failures = isFailure ? state.failures + 1 : 0
            if !isFailure { state.opening = nil }
            if state.failures >= (mistake == .opensTooEarly ? 1 : 3) { state.opening = now }
        }
    }
}

/// Sends a request again when it has no answer after 100 milliseconds.
private struct ToyHedge<Base: Connection>: ComposedConnection {
    let base: Base
    let clock: SimulatedClock
    let mistake: Mistake?
    let budget = ToyBudget()

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        guard request.head.method == .get || mistake == .hedgesUnsafeMethods else {
            return try await base.send(request)
        }
        let outcome = Monitor<(first: Result<Response, any Error>?, ended: Int)>((nil, 0))
        let attempt: @Sendable () async -> Void = {
            let result = await Result.of { try await base.send(request) }
            let isGood = (try? result.get().isGood) ?? false
            outcome.update { outcome in
                outcome.ended += 1
                let isKnown = (try? outcome.first?.get().isGood) ?? false
                if isGood ? !isKnown : outcome.first == nil { outcome.first = result }
            }
        }
        let tasks = [
            Task { await attempt() },
            Task {
                let start = clock.now + .milliseconds(100)
                try? await clock.sleep(until: min(start, request.options.deadline ?? start), tolerance: nil)
                let isLate = request.options.deadline.map { clock.now >= $0 } ?? false
                guard !isLate, !Task.isCancelled, !budget.isEmpty || mistake == .hedgesWithoutBudget else {
                    return outcome.update { $0.ended += 1 }
                }
                budget.spend()
                await attempt()
            },
        ]
        defer { if mistake != .leavesLoser { for task in tasks { task.cancel() } } }
        try await outcome.wait { outcome in
            let isGood = (try? outcome.first?.get().isGood) ?? false
            return outcome.ended == 2 || isGood && mistake != .waitsForLoser
        }
        guard let result = outcome.state.first else { throw CancellationError() }
        let response = try result.get()
        if response.isGood { budget.earn() }
        return response
    }
}

/// Sends one request for all callers with the same path and no deadline.
private struct ToySharing<Base: Connection>: ComposedConnection {
    private typealias Answer = Monitor<Result<Response, any Error>?>

    let base: Base
    let mistake: Mistake?
    private let answers = Monitor<[String: Answer]>([:])

    init(base: Base, mistake: Mistake?) {
        (self.base, self.mistake) = (base, mistake)
    }

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        guard request.head.method == .get, request.options.deadline == nil else { return try await base.send(request) }
        let path = request.head.path ?? ""
        let (answer, leads) = answers.update { answers in
            if let answer = answers[path] { return (answer, false) }
            let answer = Answer(nil)
            answers[path] = answer
            return (answer, true)
        }
        let lead: @Sendable () async -> Void = {
            let result = await Result.of { try await base.send(request) }
            if mistake != .keepsEndedLeader { answers.update { $0[path] = nil } }
            answer.update { $0 = result }
        }
        if leads, mistake == .cancelsFollowers { await lead() } else if leads { Task { await lead() } }
        try await answer.wait { $0 != nil }
        guard let result = answer.state else { throw CancellationError() }
        return try result.get()
    }
}

extension Result where Failure == any Error {
    fileprivate static func of(_ work: () async throws -> Success) async -> Self {
        do { return .success(try await work()) } catch { return .failure(error) }
    }
}
