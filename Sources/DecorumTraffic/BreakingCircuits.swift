public import Decorum
public import Foundation
import HTTPTypes

extension Connection {
    /// Sends nothing to a server that keeps failing, until a request finds out that it answers again.
    ///
    /// After five failures in a row, the circuit of an origin opens, and its requests fail at once with a
    /// ``CircuitOpenError``. After a break, one request is let through: if it has an answer, the circuit closes, and if it
    /// fails, a longer break begins.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .breakingCircuits(CircuitPolicy(opensAfter: .ratio(0.5, ofAtLeast: 20, within: .seconds(30))))
    ///     .retrying()
    /// ```
    ///
    /// **A failure** is a status of 5xx, a timeout, and a connection that is refused or lost. All other statuses are
    /// successes, except for 429 with ``CircuitPolicy/countsTooManyRequests``. A cancelled request, one whose caller left it
    /// less than half a second, a machine without a network, and the error of a layer that did not send, such as `pacing`,
    /// say nothing about the server: they do not count, and a probe that ends so gives its place to the next one. The outcome
    /// of a request that began before the circuit last changed does not count.
    ///
    /// `retrying` sends a refused request again only after the end of the break, if its policy allows such a wait.
    ///
    /// Place it inside of `retrying`, so that each attempt counts; inside of caching, which may answer a refused request with
    /// a stale response; and outside of `limitingTime(_:as:)`, so that it sees the timeouts of attempts.
    public func breakingCircuits(
        _ policy: CircuitPolicy = .standard, in breakers: CircuitBreakers = CircuitBreakers(),
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        BreakingCircuitsConnection(
            base: self, gate: CircuitGate(policy: policy, breakers: breakers, clock: clock, generator: generator))
    }
}

/// When the circuits of `breakingCircuits(_:in:clock:generator:)` open and close.
public struct CircuitPolicy: Sendable, Hashable {
    /// The failures after which a circuit opens.
    public enum Trigger: Sendable, Hashable {
        /// This number of failures without a success in between; a number below 1 counts as 1.
        ///
        /// It suits a client with few requests too.
        case failures(inARow: Int)
        /// A share of all requests, such as 0.5, once a number of them has ended within a time.
        ///
        /// Choose a time of at least twice the time of an attempt, or too few requests end within it.
        case ratio(Double, ofAtLeast: Int, within: Duration)
    }

    /// The failures after which a circuit opens.
    public var trigger: Trigger
    /// The requests that share a circuit.
    public var scope: TrafficScope
    /// The length of the first break, of which a random part of up to a half is left out.
    ///
    /// Each further break is twice as long, unless the circuit was closed for ``longestBreak`` before it.
    public var firstBreak: Duration
    /// The limit of the length of a break; less than ``firstBreak`` counts as that.
    ///
    /// A probe that has no outcome after this time counts as failed.
    public var longestBreak: Duration
    /// The number of probes, one after another, that have to succeed before a circuit closes; less than 1 counts as 1.
    public var successesToClose: Int
    /// Whether a status of 429 is a failure.
    public var countsTooManyRequests: Bool
    /// Whether all requests are sent, and the history of a call and the ``CircuitBreakers`` only tell what would happen.
    public var onlyObserves: Bool

    /// Creates a policy from its values; ``standard`` has the defaults.
    public init(
        opensAfter trigger: Trigger = .failures(inARow: 5), scope: TrafficScope = .origin,
        firstBreak: Duration = .seconds(5), longestBreak: Duration = .seconds(60), successesToClose: Int = 1,
        countsTooManyRequests: Bool = false, onlyObserves: Bool = false
    ) {
        (self.trigger, self.scope, self.successesToClose) = (trigger, scope, successesToClose)
        (self.firstBreak, self.longestBreak) = (firstBreak, longestBreak)
        (self.countsTooManyRequests, self.onlyObserves) = (countsTooManyRequests, onlyObserves)
    }

    /// A circuit for each origin, which opens after five failures in a row, for 5 seconds at first and a minute at most.
    public static let standard = CircuitPolicy()

    var firstLength: Duration { max(.zero, firstBreak.bounded) }
    var longestLength: Duration { max(firstLength, longestBreak.bounded) }

    /// The time in which outcomes are counted together; nil for failures in a row.
    var window: Duration? {
        if case .ratio(_, _, let time) = trigger { time } else { nil }
    }

    var isSound: Bool {
        let isTriggered =
            switch trigger {
            case .failures(let limit): limit > 0
            case .ratio(let ratio, let minimum, let time): ratio > 0 && ratio <= 1 && minimum > 0 && time > .zero
            }
        return isTriggered && firstBreak > .zero && longestBreak >= firstBreak && successesToClose > 0
    }

    /// The length of a break, before a random part is left out; a larger factor could overflow.
    func length(afterBreaks breaks: Int) -> Duration { min(firstLength * (1 << min(breaks, 30)), longestLength) }

    /// What a response says about its server.
    func outcome(of head: borrowing HTTPResponse) -> CircuitState.Outcome {
        let code = head.code
        return code >= 500 || code == 429 && countsTooManyRequests ? .failure : .success
    }

    func outcome(of error: any Error) -> CircuitState.Outcome {
        let isFailure =
            switch error {
            case let error as TransportError:
                [.connectionRefused, .connectionLost, .timedOut].contains(error.code) || error.isMissedAttempt
            case let error as any TemporaryError: error.mayPass && !error.meansNotProcessed
            default: false
            }
        return isFailure ? .failure : .neither
    }
}

struct BreakingCircuitsConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let gate: CircuitGate

    var layer: Layer {
        let policy = gate.policy
        var settings = [Layer.Setting("opensAfter", policy.trigger)]
        if policy.scope != .origin { settings.append(.init("scope", policy.scope)) }
        if policy.onlyObserves { settings.append(.init("onlyObserves", true)) }
        var facts = Layer.facts(of: gate.clock).union([.readsStatus, .breaksCircuits])
        if !policy.onlyObserves { facts.insert(.refuses) }
        if policy.scope == .all { facts.insert(.spansOrigins) }
        if !policy.isSound { facts.insert(.unsoundSettings) }
        return Layer(
            name: "breakingCircuits", role: .resilience, settings: settings, facts: facts,
            time: .init(window: policy.window), memory: .init(state: [.init(gate.breakers)]))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard let entry = try gate.enter(request) else { return try await base.send(request) }
        let call = request.options.callContext
        do {
            let response = try await base.send(request)
            gate.note(gate.policy.outcome(of: response.head), of: entry, call)
            return response
        } catch {
            gate.note(gate.policy.outcome(of: error), of: entry, call)
            throw error
        }
    }
}

/// The circuits of a layer; not generic, since generic code looks up its types for each request.
struct CircuitGate: Sendable {
    typealias Entry = (cell: CircuitCell, pass: Int)

    let policy: CircuitPolicy
    let breakers: CircuitBreakers
    let clock: any DatedClock
    let generator: any RandomGenerator

    /// Asks the circuit of a request for leave; returns nil for a request whose outcome does not count.
    func enter(_ request: borrowing Request) throws -> Entry? {
        let cell = breakers.cell(for: request, policy.scope)
        if let pass = cell.calmPass { return (cell, pass) }
        return try pass(of: request, through: cell).map { (cell, $0) }
    }

    /// Notes an outcome; a success where nothing has failed changes nothing.
    func note(_ outcome: CircuitState.Outcome, of entry: Entry, _ call: CallContext?) {
        if outcome == .success, case .failures = policy.trigger, entry.cell.calmPass == entry.pass { return }
        change(outcome, of: entry, call)
    }

    @inline(never) private func pass(of request: borrowing Request, through cell: CircuitCell) throws -> Int? {
        let (now, call) = (clock.now, request.options.callContext)
        // A request whose deadline has passed will say nothing about the server.
        let isOver = request.options.timeLeft(at: now) == .zero
        var admission = CircuitState.Admission.refuse(until: nil)
        breakers.update(cell) { circuit in
            admission = circuit.admit(at: now, by: policy, generator)
            guard isOver, case .go(let pass, _) = admission else { return }
            circuit.note(.neither, of: pass, at: now, by: policy, generator)
        }
        switch admission {
        case .go(let pass, let isProbe):
            guard !isOver else { return nil }
            if isProbe { call?.note(.init(.init("probes"), by: "breakingCircuits", "tries if \(cell.key) answers")) }
            return pass
        case .refuse(let end):
            let wait = end.map { $0 - now }
            let words = wait.map { "the circuit is open for another \($0.shortText)" } ?? "the circuit is open by hand"
            guard !policy.onlyObserves else {
                call?.note(.init(.skips, by: "breakingCircuits", "would not send: \(words)"))
                return nil
            }
            call?.note(.init(.givesUp, by: "breakingCircuits", "not sent: \(words)"))
            let date = wait.map { clock.date + TimeInterval($0 / .seconds(1)) }
            throw CircuitOpenError(circuit: cell.key, instant: end, date: date, wait: wait)
        }
    }

    @inline(never) private func change(_ outcome: CircuitState.Outcome, of entry: Entry, _ call: CallContext?) {
        let now = clock.now
        let circuit = breakers.update(entry.cell) { $0.note(outcome, of: entry.pass, at: now, by: policy, generator) }
        guard let circuit else { return }
        let kind = CallDecision.Kind(circuit.state == .closed ? "closes" : "opens")
        call?.note(.init(kind, by: "breakingCircuits", "\(circuit)"))
    }
}

extension TransportError {
    /// Whether the time of an attempt has passed, or a deadline that left the server half a second.
    ///
    /// A layer further out, whose deadline may be one of an attempt too, has not named it yet. Without a time, nothing was
    /// sent.
    fileprivate var isMissedAttempt: Bool {
        let leftTime = elapsed.map { $0 >= .milliseconds(500) } ?? (stage != .connecting)
        return code == .deadlineExceeded && (deadlineScope == .attempt || leftTime)
    }
}

/// A request that was not sent, because the last requests to its server have failed.
///
/// `breakingCircuits(_:in:clock:generator:)` throws it at once. It says that the server was not reached, so that a cache may
/// answer with a stale response.
public struct CircuitOpenError: DescribableError, ReachabilityError, TemporaryError, Sendable, Hashable {
    /// The requests that share the circuit.
    public let circuit: TrafficKey
    /// The instant from which a request is let through; nil for a circuit that was opened by hand.
    ///
    /// While a probe is under way, nobody knows when it ends, and the instant is that of the end of a first break from now on.
    public let instant: ContinuousClock.Instant?
    /// The date and time of that instant.
    public let date: Date?
    /// The time from the failure to that instant.
    public let wait: Duration?

    /// The server, the cause, and the date at which the request can be sent.
    public var description: String {
        let event =
            switch circuit {
            case .origin: "The request to \(circuit) was not sent, because"
            case .group: "The request of \(circuit) was not sent, because"
            case .all: "The request was not sent, because"
            }
        guard let wait, let date else {
            return "\(event) the circuit was opened by hand. Close it by `CircuitBreakers.close(_:)`."
        }
        return "\(event) the last requests have failed. Send it in \(wait.shortText), not before \(HTTPDate(date))."
    }

    /// True, since nothing was sent.
    public var meansServerNotReached: Bool { true }
    /// True, since nothing was sent.
    public var meansNotProcessed: Bool { true }
    /// Whether the circuit closes by itself: false after it was opened by hand.
    public var mayPass: Bool { instant != nil }
    /// The instant from which a request is let through.
    public var earliestRetry: ContinuousClock.Instant? { instant }
}
