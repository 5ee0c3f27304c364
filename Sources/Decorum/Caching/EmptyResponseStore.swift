/// A store that keeps nothing, to turn a cache off where a store is required.
public struct EmptyResponseStore: ResponseStore {
    /// Creates a store that keeps nothing.
    public init() {}

    /// The largest body, in bytes, that the store takes: 0.
    public var bodyLimit: Int { 0 }

    /// Finds nothing.
    public func responses(for key: ResponseKey) -> [StoredResponse] { [] }

    /// Keeps nothing.
    public func store(_ response: StoredResponse, for key: ResponseKey) {}

    /// Returns no writer.
    public func writer(for response: StoredResponse, key: ResponseKey) -> (any ResponseWriter)? { nil }

    /// Does nothing, since the store is empty.
    public func removeResponses(for key: ResponseKey) {}

    /// Does nothing, since the store is empty.
    public func removeResponses(at uri: ResponseKey.URI) {}

    /// Does nothing, since the store is empty.
    public func removeResponses(of principal: Principal?) {}

    /// Does nothing, since the store is empty.
    public func removeAllResponses() {}
}
