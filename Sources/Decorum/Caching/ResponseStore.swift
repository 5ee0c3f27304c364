public import Foundation

/// Where responses are kept for later requests.
///
/// A store keeps, for each key, one response for each variant that the server gives (``StoredResponse/isSelected(by:)``).
/// It may forget anything at any time. Trouble of its own, such as a full disk, is a response that is not there: a
/// store never fails a request.
public protocol ResponseStore: Sendable {
    /// The largest body, in bytes, that is worth handing to the store.
    var bodyLimit: Int { get }

    /// How often the responses of a principal, or all, were forgotten.
    ///
    /// A cache does not keep what was under way while it changed. It is 0 for a store that does not count.
    var removalCount: Int { get }

    /// Finds the stored responses for a key, the latest first.
    ///
    /// - Parameter key: What the responses are kept under.
    /// - Returns: The variants, each whole, with a body that can be read any number of times.
    func responses(for key: ResponseKey) async -> [StoredResponse]

    /// Keeps a response, in place of those of the same variant.
    ///
    /// - Parameters:
    ///   - response: The response, whose body is in memory, or is that of a response that this store gave out.
    ///   - key: What to keep it under.
    func store(_ response: StoredResponse, for key: ResponseKey) async

    /// Starts to keep a response whose body is still under way.
    ///
    /// - Parameters:
    ///   - response: The response; its body is empty, and what is written takes its place.
    ///   - key: What to keep it under.
    /// - Returns: A writer for the body; nil where the store does not want the response.
    func writer(for response: StoredResponse, key: ResponseKey) async -> (any ResponseWriter)?

    /// Forgets every response under a key.
    ///
    /// - Parameter key: What the responses are kept under.
    func removeResponses(for key: ResponseKey) async

    /// Forgets every response of a URI, on whosever behalf it was requested.
    ///
    /// - Parameter uri: The URI.
    func removeResponses(at uri: ResponseKey.URI) async

    /// Forgets every response that was stored on behalf of a principal, as when somebody signs out.
    ///
    /// - Parameter principal: The principal; nil for the responses that were stored on nobody's behalf.
    func removeResponses(of principal: Principal?) async

    /// Forgets every response.
    func removeAllResponses() async
}

extension ResponseStore {
    /// None, for a store that does not count.
    public var removalCount: Int { 0 }

    /// Keeps a response, unless it is outdated, or becomes so meanwhile.
    func keep(for key: ResponseKey, unless isOutdated: () -> Bool, by keeping: () async -> Void) async {
        guard !isOutdated() else { return }
        await keeping()
        // Who forgets counts first and removes then, so that one of both finds what the other does.
        if isOutdated() { await removeResponses(for: key) }
    }
}

/// Takes the body of a response that is being stored.
///
/// A writer that is dropped before ``finish()`` leaves nothing in the store, and what was there stays.
public protocol ResponseWriter: Sendable {
    /// Takes the next bytes of the body.
    ///
    /// - Parameter chunk: The bytes.
    /// - Returns: Whether the store wants the rest; if not, nothing is kept.
    func write(_ chunk: Data) async -> Bool

    /// Keeps the response, in place of those of the same variant: its body is whole.
    func finish() async
}
