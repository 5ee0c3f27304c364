/// The callers of a shared request, and the outcome for each of them.
struct SharedRequestState {
    typealias Outcome = SharedRequest.Outcome
    typealias Waiter = CheckedContinuation<Outcome, any Error>

    /// A caller who has joined.
    private struct Joined {
        let limit: CallerLimit
        /// Nil between joining and waiting.
        var waiter: Waiter?
    }

    /// The time until the next attempt, in which a caller whose deadline comes before cannot join.
    private final class Pause: Sendable {
        let end: ContinuousClock.Instant

        init(until end: ContinuousClock.Instant) {
            self.end = end
        }
    }

    /// Whether a caller may still join.
    var isOpen = true
    var hasOutcome = false
    /// The response for callers who join while it is unread.
    var response: SharedResponse?
    /// The number of the caller who sends the request.
    private(set) var sender = SharedRequest.first
    /// The collector of the requests that are sent.
    var sent: SentRequests?
    /// The limits of the sender; nil for one without a limit.
    var sending: SendingCaller?
    /// The task that sends the request although its caller has left; nil where the caller waits.
    var task: Task<Void, Never>?
    private var hasSenderLeft = false
    private var joined: [Int: Joined] = [:]
    /// The results for callers who do not wait yet.
    private var outcomes: [Int: Result<Outcome, any Error>] = [:]
    private var lastNumber = SharedRequest.first
    private var pause: Pause?
    /// The number of attempts that have ended, of which a layer further in has told.
    var attempts = 0

    /// Whether callers wait besides the sender.
    var hasJoined: Bool { !joined.isEmpty }

    /// The limits of all callers who still wait.
    var limits: [CallerLimit] {
        joined.values.map(\.limit) + (hasSenderLeft ? [] : [sending?.limit ?? .none])
    }

    /// Adds a caller; returns nil for one whose deadline comes before the next attempt.
    mutating func join(_ limit: @autoclosure () -> CallerLimit) -> Int? {
        let limit = limit()
        if let pause, limit.ends(before: pause.end) { return nil }
        lastNumber += 1
        joined[lastNumber] = Joined(limit: limit)
        return lastNumber
    }

    /// Lets a caller wait, or returns the result that it has already.
    mutating func wait(_ number: Int, _ waiter: Waiter) -> Result<Outcome, any Error>? {
        if let outcome = outcomes.removeValue(forKey: number) { return outcome }
        joined[number]?.waiter = waiter
        return nil
    }

    /// Removes a caller who waits; returns nil for one who does not wait any more.
    mutating func leave(_ number: Int) -> Waiter? {
        guard let waiter = joined[number]?.waiter else { return nil }
        joined[number] = nil
        return waiter
    }

    /// Has the caller sends the request who joined first.
    ///
    /// - Returns: Nil where there is no other caller; else the caller, where it waits already.
    mutating func replaceSender() -> Waiter?? {
        guard let next = joined.keys.min() else { return nil }
        sender = next
        (sending, pause) = (nil, nil)
        hasSenderLeft = false
        let waiter = joined.removeValue(forKey: next)?.waiter
        if waiter == nil { outcomes[next] = .success(.send) }
        return .some(waiter)
    }

    /// Has the request go on without its sender, in a task.
    ///
    /// - Returns: Whether another caller waits for it, or its outcome is there.
    mutating func leave(to task: Task<Void, Never>) -> Bool {
        hasSenderLeft = true
        guard hasJoined, !hasOutcome else { return hasOutcome }
        self.task = task
        return true
    }

    /// Begins a pause before the next attempt, and removes the callers whose deadlines come before its end.
    ///
    /// - Returns: The sender, where it is one of them, and the others who wait with the result for each.
    mutating func beginPause(
        until end: ContinuousClock.Instant, after error: (any Error)?
    ) -> (sender: SendingCaller?, waiters: [(Waiter, Result<Outcome, any Error>)]) {
        pause = Pause(until: end)
        // A response is for the caller who sent the request, as at the end of the last attempt.
        let failure = error.flatMap { sent?.allowsSharing == true ? $0 : nil }
        let outcome: Result<Outcome, any Error> = failure.map { .failure($0) } ?? .success(.alone)
        let leaving = joined.filter { $0.value.limit.ends(before: end) }.keys
        let waiters = takeOutcomes(of: leaving) { outcome }
        guard !hasSenderLeft, let sending, sending.limit.ends(before: end) else { return (nil, waiters) }
        hasSenderLeft = true
        return (sending, waiters)
    }

    /// Makes the result for each waiting caller; all get one before any can begin to read.
    mutating func takeOutcomes(
        _ outcome: () -> Result<Outcome, any Error>
    ) -> [(Waiter, Result<Outcome, any Error>)] {
        guard !joined.isEmpty else { return [] }
        return takeOutcomes(of: joined.keys, outcome)
    }

    private mutating func takeOutcomes(
        of numbers: some Sequence<Int>, _ outcome: () -> Result<Outcome, any Error>
    ) -> [(Waiter, Result<Outcome, any Error>)] {
        var taken: [(Waiter, Result<Outcome, any Error>)] = []
        for number in numbers.sorted() {
            if let waiter = joined.removeValue(forKey: number)?.waiter {
                taken.append((waiter, outcome()))
            } else {
                outcomes[number] = outcome()
            }
        }
        return taken
    }
}
