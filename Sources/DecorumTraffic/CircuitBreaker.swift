import Decorum
import Synchronization

/// The circuits of `breakingCircuits(_:in:clock:generator:)`: it shows their states, and opens and
/// closes them by hand.
///
/// Several stacks may share one value, if they have one clock. It keeps some hundreds of circuits, and forgets the one
/// that was used least recently, unless it was opened by hand.
///
/// ```swift
/// let breakers = CircuitBreakers { circuit in print(circuit) }
/// let connection = SystemConnection()
///     .breakingCircuits(in: breakers)
/// ```
public final class CircuitBreakers: Sendable {
    private let cells = KeyedStates<TrafficKey, CircuitCell>()
    private let observer: (@Sendable (Circuit) -> Void)?
    /// The instant from which the times of all circuits count.
    private let reference = ContinuousClock.now

    /// Creates circuits that are all closed.
    ///
    /// - Parameter observer: Gets a circuit each time that its state has changed, in the task of the request that has
    ///   changed it; it must not block.
    public init(observer: (@Sendable (_ circuit: Circuit) -> Void)? = nil) {
        self.observer = observer
    }

    /// The circuits that requests have used or that were opened by hand, in the order of their names.
    public var circuits: [Circuit] {
        cells.all.values.map(\.circuit).sorted { $0.key.description < $1.key.description }
    }

    /// Opens a circuit, so that its requests are refused until ``close(_:)``.
    ///
    /// - Parameter key: The requests to refuse.
    public func open(_ key: TrafficKey) { tell(cell(of: key).update { $0.isolate() }) }

    /// Closes a circuit, whoever has opened it, and forgets its failures.
    ///
    /// - Parameter key: The requests to send again.
    public func close(_ key: TrafficKey) { tell(cell(of: key).update { $0.close() }) }

    func cell(for request: borrowing Request, _ scope: TrafficScope) -> CircuitCell {
        let spelling = Spelling(request, scope)
        return cells.known(spelling) ?? cell(of: TrafficKey(request, scope), spelled: spelling)
    }

    private func cell(of key: TrafficKey, spelled spelling: Spelling? = nil) -> CircuitCell {
        cells.state(of: key, spelled: spelling) { CircuitCell(key, since: reference) }
    }

    /// Tells the observer a circuit that has changed.
    func tell(_ change: Circuit?) {
        if let change { observer?(change) }
    }
}

/// One circuit and its state.
public struct Circuit: Sendable, Hashable, CustomStringConvertible {
    /// Whether the requests of a circuit are sent.
    public enum State: Sendable, Hashable {
        /// All requests are sent.
        case closed
        /// All requests are refused, until an instant; nil for a circuit that was opened by hand.
        case open(until: ContinuousClock.Instant?)
        /// One request at a time is sent, to find out whether the server answers again.
        case halfOpen
    }

    /// The requests that share the circuit.
    public let key: TrafficKey
    /// The state.
    public let state: State

    /// The requests and the state, as in “the circuit of api.example.com:443 is open”.
    public var description: String {
        let words =
            switch state {
            case .closed: "closed"
            case .open(nil): "open by hand"
            case .open: "open"
            case .halfOpen: "half open"
            }
        return "the circuit of \(key) is \(words)"
    }
}

/// A circuit behind a lock of its own, which a request does not take while nothing fails.
final class CircuitCell: KeyedState {
    let key: TrafficKey
    /// The instant from which the times of the circuit count: the code for instants is much slower than that for durations.
    let reference: ContinuousClock.Instant
    private let state = Mutex(CircuitState())
    /// The number of the circuit while nothing has failed; otherwise -1.
    private let calmNumber = Atomic(0)
    private let useNumber = Atomic(0)

    init(_ key: TrafficKey, since reference: ContinuousClock.Instant) {
        (self.key, self.reference) = (key, reference)
    }

    var circuit: Circuit { Circuit(key: key, state: shown(state.withLock { $0 })) }

    /// The leave to send a request while nothing has failed; otherwise nil.
    var calmPass: CircuitState.Pass? {
        let number = calmNumber.load(ordering: .acquiring)
        return number < 0 ? nil : CircuitState.Pass(number: number, isProbe: false)
    }

    var lastUse: Int? {
        state.withLock { $0.phase } == .isolated ? nil : useNumber.load(ordering: .relaxed)
    }

    func noteUse(_ number: Int) {
        if useNumber.load(ordering: .relaxed) != number { useNumber.store(number, ordering: .relaxed) }
    }

    /// Changes the circuit; returns it if its state has changed.
    func update(_ change: (inout CircuitState) -> Void) -> Circuit? {
        let changed = state.withLock { state in
            let before = state.kind
            change(&state)
            calmNumber.store(state.isCalm ? state.number : -1, ordering: .releasing)
            return before == state.kind ? nil : state
        }
        return changed.map { Circuit(key: key, state: shown($0)) }
    }

    private func shown(_ state: CircuitState) -> Circuit.State {
        switch state.phase {
        case .closed: .closed
        case .open(let end): .open(until: reference + end)
        case .halfOpen: .halfOpen
        case .isolated: .open(until: nil)
        }
    }
}

/// The decisions of one circuit, without a clock and without a lock; times count from any one instant.
struct CircuitState: Sendable {
    enum Phase: Sendable, Hashable {
        case closed
        case open(until: Duration)
        /// With the time at which the probe began that is under way; nil for no probe.
        case halfOpen(probingSince: Duration?)
        case isolated
    }

    /// What a request says about its server.
    enum Outcome: Sendable { case success, failure, neither }

    /// The leave to send one request; its outcome counts unless the circuit has changed since.
    struct Pass: Sendable, Equatable {
        let number: Int
        let isProbe: Bool
    }

    enum Admission: Sendable, Equatable {
        case go(Pass)
        /// The request is refused until a time; nil for a circuit that was opened by hand.
        case refuse(until: Duration?)
    }

    /// What is shown of a phase, without its times.
    enum Kind: Sendable { case closed, open, halfOpen, isolated }

    private(set) var phase = Phase.closed
    /// Tells the passes from before a change apart.
    private(set) var number = 0
    private var failures = 0
    private var window: OutcomeWindow?
    private var successes = 0
    /// The number of breaks, of which each begins soon after the one before.
    private var breaks = 0
    private var closing: Duration?

    /// Whether a success changes nothing, unless a share of all requests counts.
    var isCalm: Bool { phase == .closed && failures == 0 }

    var kind: Kind {
        switch phase {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        case .isolated: .isolated
        }
    }

    mutating func admit(
        at now: Duration, by policy: CircuitPolicy, _ generator: any RandomGenerator
    ) -> Admission {
        switch phase {
        case .closed: return .go(Pass(number: number, isProbe: false))
        case .isolated: return .refuse(until: nil)
        case .open(let end) where now < end: return .refuse(until: end)
        case .open:
            successes = 0
            return probe(at: now)
        case .halfOpen(nil): return probe(at: now)
        case .halfOpen(let start?) where now - start < policy.longestLength:
            // Nobody knows when the probe ends.
            return .refuse(until: now + policy.firstLength)
        case .halfOpen:
            // A probe without an end would keep the circuit from all others.
            return .refuse(until: interrupt(at: now, by: policy, generator))
        }
    }

    mutating func note(
        _ outcome: Outcome, of pass: Pass, at now: Duration, by policy: CircuitPolicy,
        _ generator: any RandomGenerator
    ) {
        guard pass.number == number else { return }
        switch (phase, outcome) {
        case (.closed, .success), (.closed, .failure):
            if hasTripped(after: outcome, at: now, by: policy.trigger) { _ = interrupt(at: now, by: policy, generator) }
        case (.halfOpen, .success):
            successes += 1
            if successes >= policy.successesToClose {
                move(to: .closed)
                closing = now
            } else {
                phase = .halfOpen(probingSince: nil)
            }
        case (.halfOpen, .failure): _ = interrupt(at: now, by: policy, generator)
        case (.halfOpen, .neither): phase = .halfOpen(probingSince: nil)
        default: break
        }
    }

    mutating func isolate() { move(to: .isolated) }

    mutating func close() {
        move(to: .closed)
        (breaks, closing) = (0, nil)
    }

    private mutating func probe(at now: Duration) -> Admission {
        move(to: .halfOpen(probingSince: now))
        return .go(Pass(number: number, isProbe: true))
    }

    private mutating func hasTripped(
        after outcome: Outcome, at now: Duration, by trigger: CircuitPolicy.Trigger
    ) -> Bool {
        switch trigger {
        case .failures(let limit):
            failures = outcome == .failure ? failures + 1 : 0
            return failures >= max(1, limit)
        case .ratio(let ratio, let minimum, let length):
            var window = window ?? OutcomeWindow(of: length, since: now)
            window.add(isFailure: outcome == .failure, at: now)
            self.window = window
            return outcome == .failure && window.calls >= max(1, minimum)
                && Double(window.failures) >= min(ratio, 1) * Double(window.calls)
        }
    }

    /// Begins a break, and returns its end.
    private mutating func interrupt(
        at now: Duration, by policy: CircuitPolicy, _ generator: any RandomGenerator
    ) -> Duration {
        if let closing, now - closing >= policy.longestLength { breaks = 0 }
        closing = nil
        let longest = policy.length(afterBreaks: breaks)
        breaks += 1
        let end = now + longest / 2 + longest / 2 * generator.uniform()
        move(to: .open(until: end))
        return end
    }

    private mutating func move(to phase: Phase) {
        self.phase = phase
        number += 1
        failures = 0
        window = nil
    }
}

/// The calls and failures of a time, to a tenth of it.
struct OutcomeWindow: Sendable {
    private let start: Duration
    private let step: Duration
    private var position: Int64 = 0
    private var slots = [(calls: Int, failures: Int)](repeating: (0, 0), count: 10)
    private(set) var calls = 0
    private(set) var failures = 0

    init(of length: Duration, since start: Duration) {
        self.start = start
        step = max(length.bounded / 10, .milliseconds(1))
    }

    mutating func add(isFailure: Bool, at now: Duration) {
        let current = max(position, Int64((now - start) / step))
        for passed in 0..<min(current - position, Int64(slots.count)) {
            let index = Int((position + 1 + passed) % Int64(slots.count))
            calls -= slots[index].calls
            failures -= slots[index].failures
            slots[index] = (0, 0)
        }
        position = current
        let index = Int(position % Int64(slots.count))
        slots[index].calls += 1
        calls += 1
        if isFailure {
            slots[index].failures += 1
            failures += 1
        }
    }
}
