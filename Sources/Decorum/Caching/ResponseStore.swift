public import Foundation

/// A store of responses for later requests.
///
/// A store keeps, for each key, one response for each variant that the server gives
/// (``StoredResponse/isSelected(by:)``). It may remove any response at any time. A failure of the store, such as a full
/// disk, counts as a missing response: a store never fails a request.
public protocol ResponseStore: Sendable {
    /// The largest body, in bytes, that the store takes.
    var bodyLimit: Int { get }

    /// How often the responses of a principal, or all responses, were removed.
    ///
    /// A cache does not store a response if the count changed while the response was being received. The count is 0 for
    /// a store that does not count.
    var removalCount: Int { get }

    /// Finds the stored responses for a key, the latest first.
    ///
    /// - Parameter key: The key of the responses.
    /// - Returns: The variants, each whole, with a body that can be read any number of times.
    func responses(for key: ResponseKey) async -> [StoredResponse]

    /// Keeps a response, in place of those of the same variant.
    ///
    /// - Parameters:
    ///   - response: The response, whose body is in memory or comes from a response that this store returned.
    ///   - key: The key of the response.
    func store(_ response: StoredResponse, for key: ResponseKey) async

    /// Starts to keep a response whose body is still being received.
    ///
    /// - Parameters:
    ///   - response: The response; its body is empty, and the written bytes replace it.
    ///   - key: The key of the response.
    /// - Returns: A writer for the body; nil when the store does not take the response.
    func writer(for response: StoredResponse, key: ResponseKey) async -> (any ResponseWriter)?

    /// Removes every response under a key.
    ///
    /// - Parameter key: The key of the responses.
    func removeResponses(for key: ResponseKey) async

    /// Removes every response of a URI, of all principals.
    ///
    /// - Parameter uri: The URI.
    func removeResponses(at uri: ResponseKey.URI) async

    /// Removes every response that was stored on behalf of a principal, as when a user signs out.
    ///
    /// - Parameter principal: The principal; nil for the responses that were stored without a principal.
    func removeResponses(of principal: Principal?) async

    /// Removes every response.
    func removeAllResponses() async
}

extension ResponseStore {
    /// The count is 0 for a store that does not count.
    public var removalCount: Int { 0 }

    /// Keeps a response, unless it is outdated or becomes outdated meanwhile.
    func keep(for key: ResponseKey, unless isOutdated: () -> Bool, by keeping: () async -> Void) async {
        guard !isOutdated() else { return }
        await keeping()
        // A removal counts first and removes afterwards, so that either this check or the removal finds the response.
        if isOutdated() { await removeResponses(for: key) }
    }
}

/// Takes the body of a response that is being stored.
///
/// A writer that is dropped before ``finish()`` leaves the store unchanged.
public protocol ResponseWriter: Sendable {
    /// Takes the next bytes of the body.
    ///
    /// - Parameter chunk: The bytes.
    /// - Returns: Whether the store wants the rest; if not, nothing is kept.
    func write(_ chunk: Data) async -> Bool

    /// Keeps the response, in place of those of the same variant: its body is whole.
    func finish() async
}
