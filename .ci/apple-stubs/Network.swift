// What Network has of the paths of the system.
public import Dispatch

public final class NWPathMonitor: Sendable {
    public init() {}
    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { nil }
        set {}
    }
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}

public struct NWPath: Equatable, Sendable {
    public enum Status: Equatable, Sendable { case satisfied, unsatisfied, requiresConnection }

    public let status: Status
    public var isExpensive: Bool { false }
    public var isConstrained: Bool { false }
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}

public struct NWInterface: Equatable, Sendable {
    public enum InterfaceType: Equatable, Sendable { case other, wifi, cellular, wiredEthernet, loopback }
}
