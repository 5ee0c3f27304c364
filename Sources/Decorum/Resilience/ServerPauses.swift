package import Foundation
import HTTPTypes
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

    private let state = Mutex<[PacedScope: Pause]>([:])
    private let hasPauses = Atomic(false)
    /// The pauses of other machines; nil for a machine that has its own ones alone.
    let sharing: (any PauseSharing)?

    /// Creates an empty value.
    public init() { sharing = nil }

    package init(sharing: any PauseSharing) { self.sharing = sharing }

    /// Whether there may be a pause.
    var isActive: Bool { hasPauses.load(ordering: .relaxed) || sharing?.hasPauses ?? false }

    /// Lets a request through, or says what it has to wait for.
    func step(
        for scope: PacedScope, at now: ContinuousClock.Instant, before limit: ContinuousClock.Instant
    ) -> PacingStep {
        state.withLock { pauses in
            for scope in scope.all where pauses[scope]?.isIdle(at: now) == true { pauses[scope] = nil }
            hasPauses.store(!pauses.isEmpty, ordering: .relaxed)
            if let turn = pauses.takeTurn(for: scope, at: now) { return .go(turn) }
            let held = scope.all.filter { pauses[$0] != nil }
            let pausing = held.compactMap { pauses[$0] }.filter { $0.end > now }
            if let last = pausing.max(by: { $0.end < $1.end }) { return .sleep(until: last.end, last.cause) }
            guard let full = held.first(where: { pauses[$0]?.places == 0 }), let cause = pauses[full]?.cause else {
                return .go(PacingTurn())
            }
            let wait = LimitedWait<PacingTurn?>(until: limit)
            pauses[full]?.queue.append((scope, wait))
            return .queue(wait, cause)
        }
    }

    /// Notes the outcome of a request, and lets those through for which it makes place.
    func end(_ turn: PacingTurn, isGood: Bool, at now: ContinuousClock.Instant) {
        state.withLock { pauses in
            // An answer to a request from before a further pause says nothing of the time after that one.
            for (scope, end) in turn.ends where pauses[scope]?.end == end {
                pauses[scope]?.noteOutcome(isGood: isGood, at: now)
                while pauses[scope]?.places ?? 0 > 0, let (next, wait) = pauses[scope]?.queue.popFirst() {
                    let turn = pauses.takeTurn(for: next, at: now)
                    if wait.deliver(.success(turn)) != nil, let turn { pauses.putBack(turn) }
                }
                if pauses[scope]?.isOver == true { pauses[scope] = nil }
            }
            hasPauses.store(!pauses.isEmpty, ordering: .relaxed)
        }
    }

    /// Begins a pause to `end`, unless the one of the same requests lasts for the time `asked` already; returns
    /// whether it begins.
    @discardableResult func begin(
        from asked: ContinuousClock.Instant, to end: ContinuousClock.Instant, for scope: PacedScope,
        because cause: PacingError.Cause
    ) -> Bool {
        state.withLock { pauses in
            // The longest of the random parts of many responses would be the same for each client.
            if let present = pauses[scope], present.end >= asked { return false }
            if pauses.count >= Self.limit, let first = pauses.min(by: { $0.value.end < $1.value.end }) {
                pauses.removeValue(forKey: first.key)?.wakeAll()
            }
            pauses.updateValue(Pause(end: end, cause: cause), forKey: scope)?.wakeAll()
            hasPauses.store(true, ordering: .relaxed)
            return true
        }
    }
}

extension ServerPauses: CustomStringConvertible {
    /// The number of pauses, without the names of origins and routes.
    public var description: String { "pauses: \(state.withLock { $0.count })" }
}

/// The pauses that several machines tell each other.
package protocol PauseSharing: Sendable {
    /// The number with which the digests of requests begin.
    var seed: UInt64 { get }
    /// Whether other machines have told a pause; at times it starts a look for news, for which it does not wait.
    var hasPauses: Bool { get }
    /// The pause that another machine has told of the requests with a digest.
    func pause(of requests: UInt64) -> SharedPause?
    /// Tells the other machines of a pause, in the background.
    func tell(_ pause: SharedPause)
}

/// A pause that a server has asked one of several machines for.
package struct SharedPause: Sendable, Hashable {
    /// The digest of the requests.
    package let requests: UInt64
    package let start: Date
    package let cause: PacingError.Cause

    package init(_ requests: UInt64, since start: Date, because cause: PacingError.Cause) {
        (self.requests, self.start, self.cause) = (requests, start, cause)
    }

    package var end: Date { start + cause.asked.bounded / .seconds(1) }
}

/// The next step of a request.
enum PacingStep {
    case go(PacingTurn)
    case sleep(until: ContinuousClock.Instant, PacingError.Cause)
    /// Waits for a turn, or for nil if it has to ask again.
    case queue(LimitedWait<PacingTurn?>, PacingError.Cause)
}

/// The right of a request to be sent after pauses.
struct PacingTurn: Sendable {
    var ends: [(scope: PacedScope, end: ContinuousClock.Instant)] = []
    /// The time for which the request has waited.
    var waited = Duration.zero
}

/// A pause, and the requests after it: one is let through, and two more for each good answer.
struct Pause: Sendable {
    let end: ContinuousClock.Instant
    let cause: PacingError.Cause
    /// The number of requests that may be sent at once.
    var places = 1
    /// The number of requests that were let through and are not answered.
    var underway = 0
    /// The end of the pause, or the last answer after it.
    private var lastEvent: ContinuousClock.Instant
    /// The requests that wait for a place.
    var queue: ArraySlice<(PacedScope, LimitedWait<PacingTurn?>)> = []

    init(end: ContinuousClock.Instant, cause: PacingError.Cause) {
        self.end = end
        self.cause = cause
        lastEvent = end
    }

    /// Whether more requests could be sent at once than are asked for.
    var isOver: Bool { places >= 64 }

    /// Whether nothing was sent for so long that the pause says no more of the server.
    func isIdle(at now: ContinuousClock.Instant) -> Bool {
        underway == 0 && queue.isEmpty && now - lastEvent > .seconds(60)
    }

    mutating func noteOutcome(isGood: Bool, at now: ContinuousClock.Instant) {
        underway -= 1
        lastEvent = now
        if isGood {
            places += 2
        } else if underway == 0, places == 0 {
            places = 1
        }
    }

    func wakeAll() {
        for (_, wait) in queue { wait.deliver(.success(nil)) }
    }
}

extension [PacedScope: Pause] {
    /// Takes a place after each pause of a request; nil if one of them is not over, or has no place.
    fileprivate mutating func takeTurn(for scope: PacedScope, at now: ContinuousClock.Instant) -> PacingTurn? {
        let scopes = scope.all.filter { self[$0] != nil }
        guard scopes.allSatisfy({ self[$0].map { $0.end <= now && $0.places > 0 } ?? true }) else { return nil }
        for scope in scopes {
            self[scope]?.places -= 1
            self[scope]?.underway += 1
        }
        return PacingTurn(ends: scopes.compactMap { scope in self[scope].map { (scope, $0.end) } })
    }

    fileprivate mutating func putBack(_ turn: PacingTurn) {
        for (scope, _) in turn.ends {
            self[scope]?.places += 1
            self[scope]?.underway -= 1
        }
    }
}

/// The requests that a pause holds back.
struct PacedScope: Hashable, Sendable {
    let origin: Origin?
    private(set) var principal: Principal?
    private(set) var routeName: String?
    private(set) var isOfOrigin = false
    private var key: String?

    /// The requests with the origin and the key of one, or else its origin, principal and route.
    init(_ head: HTTPRequest, _ options: RequestOptions, by policy: borrowing PacingPolicy) {
        origin = try? Origin(head)
        key = policy.key?.value(head, options)
        guard key == nil else { return }
        principal = options.principal
        routeName = policy.separatesRoutes ? options.routeName : nil
    }

    /// The requests with the same origin, or with the same key of it.
    var ofOrigin: PacedScope {
        guard key == nil else { return self }
        var scope = self
        (scope.principal, scope.routeName, scope.isOfOrigin) = (nil, nil, true)
        return scope
    }

    /// A number for the same requests on other machines, which does not show their names.
    func digest(seed: UInt64) -> UInt64 {
        var checksum = Checksum(seed: seed)
        for part in [origin?.description, principal?.name, routeName, isOfOrigin ? "" : nil, key] {
            checksum.add(part.map { "=\($0)" } ?? "")
        }
        return checksum.value
    }

    /// The scopes of the pauses that hold this request back.
    var all: [PacedScope] {
        guard key == nil else { return [self] }
        guard routeName != nil else { return [ofOrigin, self] }
        var withoutRoute = self
        withoutRoute.routeName = nil
        return [ofOrigin, withoutRoute, self]
    }
}
