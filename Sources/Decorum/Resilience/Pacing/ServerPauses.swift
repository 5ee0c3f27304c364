import Synchronization

/// The pauses that servers have asked for, in memory, which several stacks may share.
///
/// The stacks of all users share one value, so that all of them wait while a server asks for a pause:
///
/// ```swift
/// let pauses = ServerPauses()
/// let connection = SystemConnection()
///     .pacing(in: pauses)
/// ```
public final class ServerPauses: Sendable {
    /// The number of pauses at one time; above it, the one that ends first is forgotten.
    static let limit = 1024

    private struct State {
        var pauses: [PacedScope: Pause] = [:]
        /// The instant from which on it is worth looking for pauses that are over.
        var cleaning: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let hasPauses = Atomic(false)

    /// Creates an empty value.
    public init() {}

    /// Whether there may be a pause.
    var isActive: Bool { hasPauses.load(ordering: .relaxed) }

    /// Takes the next turn of a request.
    ///
    /// - Parameters:
    ///   - scope: The scope of the request.
    ///   - now: The current instant.
    ///   - limit: The instant before which the request must be sent; a later turn stays for other requests.
    /// - Returns: The instant of the turn, and the cause of the pause that decides about it; nil where no pause holds the
    ///   request back.
    func turn(
        for scope: PacedScope, at now: ContinuousClock.Instant, before limit: ContinuousClock.Instant
    ) -> (instant: ContinuousClock.Instant, cause: PacingError.Cause?)? {
        state.withLock { state in
            clean(&state, at: now)
            let scopes = scope.all.filter { state.pauses[$0] != nil }
            guard !scopes.isEmpty else { return nil }
            // A later turn of one pause may be past several turns of another.
            var instant = now
            var cause: PacingError.Cause?
            for _ in scopes {
                for scope in scopes {
                    guard let pause = state.pauses[scope] else { continue }
                    let turn = pause.nextTurn(from: instant)
                    if turn > instant { (instant, cause) = (turn, pause.cause) }
                }
            }
            guard instant < limit else { return (instant, cause) }
            for scope in scopes { state.pauses[scope]?.takeTurn(from: instant) }
            return (instant, cause)
        }
    }

    /// Whether a pause has begun that still holds a request back.
    func holds(_ scope: PacedScope, at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            scope.all.contains { scope in state.pauses[scope].map { $0.end > now } ?? false }
        }
    }

    /// Removes the pauses that are over, once a second at most.
    private func clean(_ state: inout State, at now: ContinuousClock.Instant) {
        guard state.cleaning.map({ now >= $0 }) ?? true else { return }
        state.cleaning = now + .seconds(1)
        state.pauses = state.pauses.filter { !$0.value.isOver(at: now) }
        hasPauses.store(!state.pauses.isEmpty, ordering: .relaxed)
    }

    /// Begins a pause, unless one that is as long holds the same requests back already.
    ///
    /// - Parameters:
    ///   - asked: The instant until which the server asks to wait.
    ///   - end: The instant until which this client waits.
    ///   - scope: The requests that wait.
    ///   - cause: The response that asks for the pause.
    func begin(
        from asked: ContinuousClock.Instant, to end: ContinuousClock.Instant, for scope: PacedScope,
        because cause: PacingError.Cause
    ) {
        state.withLock { state in
            // The longest of the random parts of many responses would be the same for each client.
            if let present = state.pauses[scope], present.end >= asked { return }
            if state.pauses.count >= Self.limit, let first = state.pauses.min(by: { $0.value.end < $1.value.end }) {
                state.pauses[first.key] = nil
            }
            state.pauses[scope] = Pause(end: end, cause: cause)
            hasPauses.store(true, ordering: .relaxed)
        }
    }
}

extension ServerPauses: CustomStringConvertible {
    /// The number of pauses, without the names of origins and routes.
    public var description: String { "pauses: \(state.withLock { $0.pauses.count })" }
}

/// A pause, and the turns after it: 1 in the first second, then 2, then 4, until all requests are let through.
struct Pause: Sendable {
    let end: ContinuousClock.Instant
    let cause: PacingError.Cause
    /// The number of the next turn; the turns of second `n` begin with number 2ⁿ − 1.
    private var number = 0

    /// The seconds with a bounded number of turns.
    private static let seconds = 6

    init(end: ContinuousClock.Instant, cause: PacingError.Cause) {
        self.end = end
        self.cause = cause
    }

    /// Whether the requests are let through as before the pause.
    func isOver(at now: ContinuousClock.Instant) -> Bool { now >= end + .seconds(Self.seconds) }

    /// The instant of the next turn from an instant on.
    func nextTurn(from now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        isOver(at: now) ? now : max(now, Self.instant(of: nextNumber(from: now), after: end))
    }

    /// Takes the next turn from an instant on.
    mutating func takeTurn(from now: ContinuousClock.Instant) {
        number = nextNumber(from: now) + 1
    }

    /// The number of the next turn, where those of past seconds are lost.
    private func nextNumber(from now: ContinuousClock.Instant) -> Int {
        let second = min(max(0, (now - end).components.seconds), Int64(Self.seconds))
        return max(number, 1 << Int(second) - 1)
    }

    private static func instant(of number: Int, after end: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let second = min((number + 1).bitWidth - (number + 1).leadingZeroBitCount - 1, seconds)
        let place = number - (1 << second - 1)
        return end + .seconds(second) + .seconds(1) * (Double(place) / Double(1 << second))
    }
}
