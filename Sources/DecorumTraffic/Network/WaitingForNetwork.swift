public import Decorum
import Foundation
import HTTPTypes

extension Connection {
    /// Holds requests back while there is no network for them, and sends them when it is back.
    ///
    /// A request waits while the monitor says that no server can be reached, that a captive portal answers in their place, or
    /// that the network is one that the request or the policy forbids, such as an expensive one
    /// (`allowsExpensiveNetworkAccess`). A request to this machine never waits.
    ///
    /// ```swift
    /// let network = SystemNetwork()
    /// let connection = SystemConnection()
    ///     .waitingForNetwork(on: network)
    ///     .retrying()
    ///     .limitingTime()
    /// ```
    ///
    /// The `CallContext` of the request, and so a `CallObserver`, is told of the wait, and of its end. When
    /// the network is back, each request waits for a random part of a second, so that they do not all come at once.
    ///
    /// A monitor may be wrong. So after the longest wait a request is sent all the same, unless the network is a forbidden one,
    /// and a failure while the monitor reports a network goes to the caller. A request whose
    /// `deadline` passes while it waits fails with ``NetworkWaitError``.
    ///
    /// The state of the network goes with the request, so that the events of attempts show it (`network`).
    ///
    /// Place it inside of `retrying`, so that each attempt waits, and outside of authentication, so that credentials are new
    /// when the request is sent. A cache belongs outside, and gives its stale responses only after the wait; a request with
    /// ``NetworkWaitPolicy/never`` does not wait for them.
    ///
    /// - Parameters:
    ///   - policy: How long a request waits, and for which networks.
    ///   - network: The monitor, which several stacks may share.
    ///   - clock: The clock that waits.
    ///   - generator: The source of the random wait after the network is back.
    /// - Returns: A connection that throws ``NetworkWaitError`` for requests that have waited in vain.
    public func waitingForNetwork(
        _ policy: NetworkWaitPolicy = .standard, on network: any NetworkMonitor = SystemNetwork.shared,
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        WaitingForNetworkConnection(base: self, policy: policy, network: network, clock: clock, generator: generator)
    }
}

/// How long requests of `waitingForNetwork(_:on:clock:generator:)` wait, and for which networks.
public struct NetworkWaitPolicy: Sendable, Hashable {
    /// The longest wait; zero, or less, for no wait.
    public var longestWait: Duration
    /// The longest random wait after the network is back.
    public var spread: Duration
    /// Whether a request without a wish of its own may use an expensive network.
    public var allowsExpensive: Bool
    /// Whether a request without a wish of its own may use a network for which the user asks apps to send less.
    public var allowsConstrained: Bool

    /// Creates a policy from its values; ``standard`` has the defaults.
    public init(
        longestWait: Duration = .seconds(20), spread: Duration = .seconds(1), allowsExpensive: Bool = true,
        allowsConstrained: Bool = true
    ) {
        (self.longestWait, self.spread) = (longestWait, spread)
        (self.allowsExpensive, self.allowsConstrained) = (allowsExpensive, allowsConstrained)
    }

    /// Requests wait for up to 20 seconds, for any network.
    public static let standard = NetworkWaitPolicy()
    /// No request waits.
    public static let never = NetworkWaitPolicy(longestWait: .zero)

    /// Decides whether a network suits a request; nil if it does.
    func obstacle(in state: NetworkState, for options: RequestOptions) -> NetworkObstacle? {
        guard state.isReachable else { return .unreachable }
        let isAllowed =
            (state.kind != .cellular || options.allowsCellularAccess != false)
            && (!state.isExpensive || options.allowsExpensiveNetworkAccess ?? allowsExpensive)
            && (!state.isConstrained || options.allowsConstrainedNetworkAccess ?? allowsConstrained)
        guard isAllowed else { return .forbidden }
        return state.isCaptive == true ? .captive : nil
    }
}

/// The network that there is in place of one that suits a request.
enum NetworkObstacle: String, Sendable {
    case unreachable = "no network"
    case captive = "only a captive portal"
    /// Also if the monitor may be wrong, the request must not be sent.
    case forbidden = "only a network that the request may not use"
}

extension RequestOptions {
    /// The policy for this request, instead of that of the stack; nil to use that of the stack.
    ///
    /// ```swift
    /// request.options.networkWaitPolicy = NetworkWaitPolicy(longestWait: .seconds(3600), allowsExpensive: false)
    /// ```
    public var networkWaitPolicy: NetworkWaitPolicy? {
        get { self[NetworkWaitPolicyKey.self] }
        set { self[NetworkWaitPolicyKey.self] = newValue }
    }
}

private enum NetworkWaitPolicyKey: RequestOptionKey {
    static let defaultValue: NetworkWaitPolicy? = nil
    static let travels: OptionTravel = [.all, .comparedWhenShared]
}

struct WaitingForNetworkConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: NetworkWaitPolicy
    let network: any NetworkMonitor
    let clock: any DatedClock
    let generator: any RandomGenerator

    var layer: Layer {
        let longest = max(.zero, policy.longestWait.bounded) + max(.zero, policy.spread.bounded)
        return Layer(
            name: "waitingForNetwork", role: .resilience, settings: [.init("longestWait", policy.longestWait)],
            facts: Layer.facts(of: clock).union([.refuses]), time: .init(waiting: .atMost(longest)))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        var state = network.state
        // On the happy path, the options of the request are not searched.
        if state.isLimited { state = try await wait(in: state, for: request.head, request.options) }
        request.options.networkState = state
        return try await base.send(request)
    }

    /// Waits until a network suits a request, and returns its state.
    private func wait(
        in first: NetworkState, for head: HTTPRequest, _ options: RequestOptions
    ) async throws -> NetworkState {
        let policy = options.networkWaitPolicy ?? policy
        guard var obstacle = policy.obstacle(in: first, for: options),
            obstacle == .forbidden || policy.longestWait > .zero
        else { return first }
        let origin = try? Origin(head)
        guard origin?.isLoopback != true else { return first }
        let start = clock.now
        let limit = clock.instant(after: max(.zero, policy.longestWait))
        var state = first
        while clock.now < limit, options.timeLeft(at: clock.now) != .zero {
            note(.waits, "waits: there is \(obstacle.rawValue)", options)
            let end = options.timeLeft(at: clock.now).map { min(limit, clock.now + $0.bounded) } ?? limit
            if try await isSuitable(until: end, by: policy, options) {
                let longest = min(max(.zero, policy.spread.bounded), (options.timeLeft(at: clock.now) ?? .longest) / 2)
                let pause = longest * generator.uniform()
                note(.waits, "the network is back, sends in \(pause.shortText)", options, waiting: pause)
                try await clock.sleep(until: clock.now + pause, tolerance: nil)
            }
            state = network.state
            guard let next = policy.obstacle(in: state, for: options) else { return state }
            obstacle = next
        }
        let time = clock.now - start
        if obstacle != .forbidden, options.timeLeft(at: clock.now) != .zero {
            let words = "sends after \(time.shortText), since the monitor of the network may be wrong"
            note(.forwards, words, options)
            return state
        }
        note(.givesUp, "not sent: there was \(obstacle.rawValue) for \(time.shortText)", options)
        throw NetworkWaitError(origin: origin, state: state, wait: time, obstacle: obstacle)
    }

    /// Whether a state that suits a request comes before an instant.
    private func isSuitable(
        until end: ContinuousClock.Instant, by policy: NetworkWaitPolicy, _ options: RequestOptions
    ) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool?.self) { [network, clock] group in
            group.addTask {
                for await state in network.states() where policy.obstacle(in: state, for: options) == nil {
                    return true
                }
                // A monitor that has ended tells no further state.
                return nil
            }
            group.addTask {
                try await clock.sleep(until: end, tolerance: nil)
                return false
            }
            defer { group.cancelAll() }
            while let isSuitable = try await group.next() { if let isSuitable { return isSuitable } }
            return false
        }
    }

    private func note(
        _ kind: CallDecision.Kind, _ words: @autoclosure () -> String, _ options: RequestOptions,
        waiting: Duration? = nil
    ) {
        options.callContext?.note(CallDecision(kind, by: "waitingForNetwork", words(), waiting: waiting))
    }
}

extension NetworkState {
    /// Whether some requests may have to wait.
    fileprivate var isLimited: Bool {
        !isReachable || isCaptive == true || isExpensive || isConstrained || kind == .cellular
    }
}

/// A request that was not sent, because there was no network for it in its time.
///
/// `waitingForNetwork(_:on:clock:generator:)` throws it. It says that it may pass (`TemporaryError`), and that the server was
/// not reached (`ReachabilityError`), so that a cache may answer with a stale response.
public struct NetworkWaitError: DescribableError, TemporaryError, ReachabilityError, Hashable {
    /// The server; nil if the request names none.
    public let origin: Origin?
    /// The state of the network at the end of the wait.
    public let state: NetworkState
    /// The time that the request has waited.
    public let wait: Duration
    let obstacle: NetworkObstacle

    /// The server, the time and the network that there was.
    public var description: String {
        let server = origin?.hostAndPort ?? "the server"
        return "The request to \(server) was not sent, because there was \(obstacle.rawValue) for \(wait.shortText). "
            + (obstacle == .forbidden
                ? "Send it later, or allow it by its options, as by `allowsExpensiveNetworkAccess`."
                : "Send it again when there is a network.")
    }

    /// True, since nothing was sent.
    public var meansServerNotReached: Bool { true }
    /// True, since a network may come.
    public var mayPass: Bool { true }
    /// True, since nothing was sent.
    public var meansNotProcessed: Bool { true }
}
