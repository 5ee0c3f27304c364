package import Decorum
import Synchronization

/// The circuits of `breakingCircuits(_:in:clock:generator:)`: it shows their states, and opens and closes them by hand.
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

    /// Creates circuits that are all closed.
    ///
    /// - Parameter observer: Gets a circuit each time that its state has changed, in the task of the request that has
    ///   changed it; it must not block.
    public init(observer: (@Sendable (_ circuit: Circuit) -> Void)? = nil) { self.observer = observer }

    /// The circuits that requests have used or that were opened by hand, in the order of their names.
    public var circuits: [Circuit] {
        cells.all.values.map(\.circuit).sorted { $0.key.description < $1.key.description }
    }

    /// Opens a circuit, so that its requests are refused until ``close(_:)``.
    public func open(_ key: TrafficKey) { update(cell(of: key)) { $0.isolate() } }

    /// Closes a circuit, whoever has opened it, and forgets its failures.
    public func close(_ key: TrafficKey) { update(cell(of: key)) { $0.close() } }

    func cell(for request: borrowing Request, _ scope: TrafficScope) -> CircuitCell {
        let spelling = Spelling(request, scope)
        return cells.known(spelling) ?? cell(of: TrafficKey(request, scope), spelled: spelling)
    }

    private func cell(of key: TrafficKey, spelled spelling: Spelling? = nil) -> CircuitCell {
        cells.state(of: key, spelled: spelling) { CircuitCell(key) }
    }

    /// Changes a circuit; tells the observer, and returns the circuit, if its state is another one.
    @discardableResult func update(_ cell: CircuitCell, _ change: (inout CircuitState) -> Void) -> Circuit? {
        let circuit = cell.decisions.withLock { decisions in
            let before = decisions.state
            change(&decisions)
            cell.calm.store(decisions.isCalm ? decisions.pass : -1, ordering: .releasing)
            return before == decisions.state ? nil : Circuit(key: cell.key, state: decisions.state)
        }
        if let circuit { observer?(circuit) }
        return circuit
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
    let decisions = Mutex(CircuitState())
    /// The pass while nothing has failed; otherwise -1.
    let calm = Atomic(0)

    init(_ key: TrafficKey) { self.key = key }

    var circuit: Circuit { Circuit(key: key, state: decisions.withLock { $0.state }) }

    /// The pass of a request while nothing has failed; otherwise nil.
    var calmPass: Int? {
        let pass = calm.load(ordering: .acquiring)
        return pass < 0 ? nil : pass
    }

    var mustStay: Bool { circuit.state == .open(until: nil) }
}

/// The decisions of one circuit, without a clock and without a lock.
package struct CircuitState: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// What a request says about its server.
    package enum Outcome: Sendable { case success, failure, neither }

    package enum Admission: Sendable, Equatable {
        /// The request is sent; its outcome counts while the circuit still has this pass.
        case go(pass: Int, isProbe: Bool)
        /// The request is refused until an instant; nil for a circuit that was opened by hand.
        case refuse(until: Instant?)
    }

    private(set) var state = Circuit.State.closed
    /// A number that each change of the state makes another one.
    private(set) var pass = 0
    /// The failures in a row of a closed circuit, and the successes in a row of one that is half open.
    private var streak = 0
    private var window: OutcomeWindow?
    /// The beginning of the probe that is under way.
    private var probe: Instant?
    /// The number of breaks, of which each begins soon after the one before.
    private var breaks = 0
    private var closing: Instant?

    package init() {}

    /// Whether a success changes nothing, unless a share counts.
    var isCalm: Bool { state == .closed && streak == 0 }

    package mutating func admit(at now: Instant, by policy: CircuitPolicy, _ generator: any RandomGenerator)
        -> Admission
    {
        switch state {
        case .closed: return .go(pass: pass, isProbe: false)
        case .open(nil): return .refuse(until: nil)
        case .open(let end?) where now < end: return .refuse(until: end)
        case .open: move(to: .halfOpen)
        case .halfOpen:
            guard let probe else { break }
            // Nobody knows when the probe ends. If it never does, it would keep the circuit from all others.
            let isLost = now - probe >= policy.longestLength
            return .refuse(until: isLost ? interrupt(at: now, by: policy, generator) : now + policy.firstLength)
        }
        probe = now
        return .go(pass: pass, isProbe: true)
    }

    package mutating func note(
        _ outcome: Outcome, of pass: Int, at now: Instant, by policy: CircuitPolicy, _ generator: any RandomGenerator
    ) {
        guard pass == self.pass else { return }
        switch (state, outcome) {
        case (.open, _), (.closed, .neither): break
        case (.closed, _):
            if hasTripped(after: outcome, at: now, by: policy) { _ = interrupt(at: now, by: policy, generator) }
        case (.halfOpen, .failure): _ = interrupt(at: now, by: policy, generator)
        case (.halfOpen, _):
            probe = nil
            if outcome == .success { streak += 1 }
            guard streak >= max(1, policy.successesToClose) else { return }
            move(to: .closed)
            closing = now
        }
    }

    mutating func isolate() { move(to: .open(until: nil)) }

    mutating func close() {
        move(to: .closed)
        (breaks, closing) = (0, nil)
    }

    private mutating func hasTripped(after outcome: Outcome, at now: Instant, by policy: CircuitPolicy) -> Bool {
        switch policy.trigger {
        case .failures(let limit):
            streak = outcome == .failure ? streak + 1 : 0
            return streak >= max(1, limit)
        case .ratio(let ratio, let minimum, let length):
            var window = window ?? OutcomeWindow(of: length, since: now)
            let (calls, failures) = window.add(isFailure: outcome == .failure, at: now)
            self.window = window
            return outcome == .failure && calls >= max(1, minimum) && Double(failures) >= min(ratio, 1) * Double(calls)
        }
    }

    /// Begins a break, and returns its end.
    private mutating func interrupt(
        at now: Instant, by policy: CircuitPolicy, _ generator: any RandomGenerator
    ) -> Instant {
        if let closing, now - closing >= policy.longestLength { breaks = 0 }
        closing = nil
        let longest = policy.length(afterBreaks: breaks)
        breaks += 1
        let end = now + longest / 2 + longest / 2 * generator.uniform()
        move(to: .open(until: end))
        return end
    }

    private mutating func move(to state: Circuit.State) {
        self.state = state
        pass += 1
        (streak, window, probe) = (0, nil, nil)
    }
}

/// The calls and failures of a time, to a tenth of it.
private struct OutcomeWindow: Sendable {
    let start: ContinuousClock.Instant
    let step: Duration
    private var tenths: [(number: Double, calls: Int, failures: Int)] = []

    init(of length: Duration, since start: ContinuousClock.Instant) {
        (self.start, step) = (start, max(length.bounded / 10, .milliseconds(1)))
    }

    /// Adds a call, and returns the sums of the time.
    mutating func add(isFailure: Bool, at now: ContinuousClock.Instant) -> (calls: Int, failures: Int) {
        let current = max(0, (now - start) / step).rounded(.down)
        tenths.removeAll { $0.number <= current - 10 }
        if tenths.last.map({ $0.number < current }) ?? true { tenths.append((current, 0, 0)) }
        tenths[tenths.count - 1].calls += 1
        if isFailure { tenths[tenths.count - 1].failures += 1 }
        return tenths.reduce((0, 0)) { ($0.calls + $1.calls, $0.failures + $1.failures) }
    }
}
