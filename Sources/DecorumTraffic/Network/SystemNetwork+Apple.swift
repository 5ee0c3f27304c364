#if canImport(Darwin)
import Decorum
import Dispatch
import Network

/// A monitor of the system's paths, which ends with this object.
final class SystemNetworkWatch: Sendable {
    private let monitor = NWPathMonitor()

    init(telling network: SettableNetwork) {
        monitor.pathUpdateHandler = { path in network.set(NetworkState(path)) }
        monitor.start(queue: DispatchQueue(label: "decorum.network", qos: .utility))
    }

    deinit { monitor.cancel() }
}

extension NetworkState {
    fileprivate init(_ path: NWPath) {
        let kinds: [(NWInterface.InterfaceType, Kind)] = [
            (.wifi, .wifi), (.wiredEthernet, .wired), (.cellular, .cellular), (.other, .other),
        ]
        // A path that requires a connection, such as a VPN on demand, comes up with the first request.
        self.init(
            isReachable: path.status != .unsatisfied, kind: kinds.first { path.usesInterfaceType($0.0) }?.1,
            isExpensive: path.isExpensive, isConstrained: path.isConstrained)
    }
}
#endif
