/// A store that keeps nothing, to turn a cache off where a store is asked for.
public struct EmptyResponseStore: ResponseStore {
    /// Creates a store that keeps nothing.
    public init() {}

    /// The largest body, in bytes, that the store takes: none.
    public var bodyLimit: Int { 0 }

    /// Finds nothing.
    public func responses(for key: ResponseKey) -> [StoredResponse] { [] }

    /// Keeps nothing.
    public func store(_ response: StoredResponse, for key: ResponseKey) {}

    /// Wants no response.
    public func writer(for response: StoredResponse, key: ResponseKey) -> (any ResponseWriter)? { nil }

    /// Has nothing to forget.
    public func removeResponses(for key: ResponseKey) {}

    /// Has nothing to forget.
    public func removeResponses(at uri: ResponseKey.URI) {}

    /// Has nothing to forget.
    public func removeResponses(of principal: Principal?) {}

    /// Has nothing to forget.
    public func removeAllResponses() {}
}
