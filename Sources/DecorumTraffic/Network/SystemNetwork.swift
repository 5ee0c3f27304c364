public import Decorum

/// The network of this machine, as its system reports it.
///
/// On Apple's systems, `NWPathMonitor` reports it; until its first report, servers count as reachable. On Linux, the interfaces
/// are read after each change that the kernel tells over netlink, and every 5 seconds for the case that it tells none. There,
/// servers count as reachable if an interface that is up, running and no loopback has an address beyond its link, and
/// `isExpensive` and `isConstrained` are always false.
///
/// ```swift
/// let network = SystemNetwork()
/// for await state in network.states() { offlineBadge.isHidden = state.isReachable }
/// ```
///
/// Use ``shared`` where you can: on Linux, each value has a thread, which ends some seconds after the value and its streams.
public final class SystemNetwork: NetworkMonitor {
    /// The network that stacks watch unless they get another one; its watch never ends.
    public static let shared = SystemNetwork()

    private let network: SettableNetwork
    private let watch: SystemNetworkWatch

    /// Begins to watch the network.
    public init() {
        network = SettableNetwork()
        watch = SystemNetworkWatch(telling: network)
    }

    /// The state now.
    public var state: NetworkState { network.state }

    /// The state now, and then each new state; a slow reader gets the newest one.
    public func states() -> AsyncStream<NetworkState> { network.states(retaining: self) }
}
