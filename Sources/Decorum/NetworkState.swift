import Synchronization

/// What a machine knows of its network: a hint, since only a request shows whether a server can be reached.
public struct NetworkState: Sendable, Hashable, Codable {
    /// The kind of an interface.
    public enum Kind: String, Sendable, Hashable, CaseIterable, Codable {
        /// A cable.
        case wired
        /// A wireless local network.
        case wifi
        /// A mobile network.
        case cellular
        /// Any other interface, such as a tunnel.
        case other
    }

    /// Whether any server beyond this machine may be reached.
    public var isReachable: Bool
    /// The kind of the interface that requests leave by; nil if it is not known.
    public var kind: Kind?
    /// Whether the user pays for the data, as in a mobile network or over a hotspot.
    public var isExpensive: Bool
    /// Whether the user asks apps to send less, as in Low Data Mode.
    public var isConstrained: Bool
    /// Whether a captive portal, such as the sign-in page of a hotel, answers in place of servers; nil if it is not known.
    public var isCaptive: Bool?

    /// Creates a state.
    public init(
        isReachable: Bool = true, kind: Kind? = nil, isExpensive: Bool = false, isConstrained: Bool = false,
        isCaptive: Bool? = nil
    ) {
        (self.isReachable, self.kind, self.isExpensive) = (isReachable, kind, isExpensive)
        (self.isConstrained, self.isCaptive) = (isConstrained, isCaptive)
    }

    /// A network of an unknown kind.
    public static let reachable = NetworkState()
    /// No network.
    public static let unreachable = NetworkState(isReachable: false)
}

/// A source of the state of the network, now and after each change.
public protocol NetworkMonitor: Sendable {
    /// The state now.
    var state: NetworkState { get }

    /// The state now, and then each new state; a slow reader gets the newest one.
    func states() -> AsyncStream<NetworkState>
}

extension NetworkMonitor {
    /// Whether a network is there.
    public var isConnected: Bool { state.isReachable }
}

/// A network whose state is always the same.
public struct FixedNetwork: NetworkMonitor {
    /// The state.
    public let state: NetworkState

    /// Creates a network.
    ///
    /// - Parameter state: The state; by default, servers can be reached.
    public init(_ state: NetworkState = .reachable) { self.state = state }

    /// The one state; the stream ends after it.
    public func states() -> AsyncStream<NetworkState> {
        AsyncStream { continuation in
            continuation.yield(state)
            continuation.finish()
        }
    }
}

/// A network whose state is set from outside, by a test, or by an app that learns it elsewhere.
///
/// ```swift
/// let network = SettableNetwork(.unreachable)
/// network.set(.reachable)
/// ```
public final class SettableNetwork: NetworkMonitor {
    // Each request reads the state, so no lock guards it.
    private let current: Atomic<UInt8>
    private let updates: Updates<NetworkState>

    /// Creates a network.
    ///
    /// - Parameter state: The state at first.
    public init(_ state: NetworkState = .reachable) {
        current = Atomic(state.code)
        updates = Updates(state)
    }

    /// The state that was set last.
    public var state: NetworkState { NetworkState(code: current.load(ordering: .acquiring)) }

    /// Sets the state, and tells it to all readers, unless it is the same.
    ///
    /// - Parameter state: The new state.
    public func set(_ state: NetworkState) {
        updates.update {
            current.store(state.code, ordering: .releasing)
            $0 = state
        }
    }

    /// The state now, and then each new state; a slow reader gets the newest one.
    public func states() -> AsyncStream<NetworkState> { states(retaining: self) }

    /// The states; the stream retains an object until its reader drops it.
    package func states(retaining owner: any AnyObject & Sendable) -> AsyncStream<NetworkState> {
        updates.stream(retaining: owner)
    }
}

extension NetworkState {
    /// The state as a number, which an atomic value can hold.
    fileprivate var code: UInt8 {
        let flags: UInt8 = (isReachable ? 1 : 0) | (isExpensive ? 2 : 0) | (isConstrained ? 4 : 0)
        let kinds: UInt8 =
            switch kind {
            case nil: 0
            case .wired: 1
            case .wifi: 2
            case .cellular: 3
            case .other: 4
            }
        return flags | kinds << 3 | (isCaptive.map { $0 ? 2 : 1 } ?? 0) << 6
    }

    fileprivate init(code: UInt8) {
        let kind: Kind? =
            switch code >> 3 & 7 {
            case 1: .wired
            case 2: .wifi
            case 3: .cellular
            case 4: .other
            default: nil
            }
        self.init(
            isReachable: code & 1 != 0, kind: kind, isExpensive: code & 2 != 0, isConstrained: code & 4 != 0,
            isCaptive: code >> 6 == 0 ? nil : code >> 6 == 2)
    }
}

extension RequestOptions {
    /// The state of the network when the request was sent; nil unless a layer has asked for it.
    ///
    /// `waitingForNetwork` of `DecorumTraffic` sets it, and ``ObservedExchange/network`` shows it.
    public var networkState: NetworkState? {
        get { values.isEmpty ? nil : self[NetworkStateKey.self] }
        set { self[NetworkStateKey.self] = newValue }
    }
}

// It describes one attempt.
private enum NetworkStateKey: RequestOptionKey {
    static let defaultValue: NetworkState? = nil
    static let travels: OptionTravel = []
}
