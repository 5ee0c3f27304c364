public import Foundation
import HTTPTypes
import Synchronization

/// A store of responses for later requests.
///
/// A store keeps, for each key, one response for each variant that the server gives
/// (``StoredResponse/isSelected(by:)``). It may remove any response at any time. A failure of the store, such as a full
/// disk, counts as a missing response: a store never fails a request.
///
/// A cache asks for a ``StoreTicket`` before it sends a request, and stores the response with it. A removal withdraws
/// the tickets of the responses that it covers, so that a response that is complete later is not stored. A store of your
/// own gets its tickets from ``StoreTickets``, which keeps account of them; ``writer(for:key:with:)`` and
/// ``refresh(_:with:for:with:)`` have defaults. <doc:keeping-responses> shows a whole store.
public protocol ResponseStore: Sendable {
    /// The largest body, in bytes, that the store takes.
    var bodyLimit: Int { get }

    /// Gives the ticket with which the response to a request can be stored.
    ///
    /// It is called before the request is sent, and must not block.
    ///
    /// - Parameter key: The key under which the response would be stored.
    /// - Returns: The ticket.
    func ticket(for key: ResponseKey) -> StoreTicket

    /// Finds the stored responses for a key, the latest first.
    ///
    /// - Parameter key: The key of the responses.
    /// - Returns: The variants, each whole, with a body that can be read any number of times.
    func responses(for key: ResponseKey) async -> [StoredResponse]

    /// Keeps a response, in place of the responses of the same variant, if its ticket is current and no later one was used.
    ///
    /// - Parameters:
    ///   - response: The response, whose body is in memory or comes from a response that this store returned.
    ///   - key: The key of the response.
    ///   - ticket: The ticket of the request that the response answers.
    /// - Returns: Whether the store has taken the response.
    @discardableResult
    func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) async -> Bool

    /// Replaces the fields and the dates of a stored response that the server has confirmed.
    ///
    /// A store that can write the fields alone does not write the body again. By default, the response is stored whole.
    ///
    /// - Parameters:
    ///   - stored: The response as this store returned it; when it is no longer stored, a store may do nothing.
    ///   - refreshed: The response with its updated fields and the same body.
    ///   - key: The key of the response.
    ///   - ticket: The ticket of the request that the confirmation answers.
    /// - Returns: Whether the store has the updated fields.
    @discardableResult
    func refresh(
        _ stored: StoredResponse, with refreshed: StoredResponse, for key: ResponseKey, with ticket: StoreTicket
    ) async -> Bool

    /// Starts to keep a response whose body is still being received.
    ///
    /// By default, the body is gathered in memory up to ``bodyLimit``, and then stored at once.
    ///
    /// - Parameters:
    ///   - response: The response; its body is empty, and the written bytes replace it.
    ///   - key: The key of the response.
    ///   - ticket: The ticket of the request that the response answers.
    /// - Returns: A writer for the body; nil when the store does not take the response.
    func writer(for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket) async -> (
        any ResponseWriter
    )?

    /// Removes every response under a key, and withdraws its tickets.
    ///
    /// - Parameter key: The key of the responses.
    func removeResponses(for key: ResponseKey) async

    /// Removes the responses under a key that were stored with earlier tickets, since a later response has shown that
    /// they are outdated.
    ///
    /// Responses to later requests stay, and so do all responses if the ticket was withdrawn. No ticket is withdrawn. By
    /// default, all responses under the key are removed.
    ///
    /// - Parameters:
    ///   - key: The key of the responses.
    ///   - ticket: The ticket of the request whose response is not stored in their place.
    func removeResponses(for key: ResponseKey, before ticket: StoreTicket) async

    /// Removes every response of a URI, of all principals, and withdraws their tickets.
    ///
    /// - Parameter uri: The URI.
    func removeResponses(at uri: ResponseKey.URI) async

    /// Removes every response that was stored on behalf of a principal, as when a user signs out, and withdraws the
    /// principal's tickets.
    ///
    /// - Parameter principal: The principal; nil for the responses that were stored without a principal.
    func removeResponses(of principal: Principal?) async

    /// Removes every response, and withdraws all tickets.
    func removeAllResponses() async
}

extension ResponseStore {
    /// Keeps a response that answers no request under way, as when a store is filled before its first use.
    ///
    /// - Parameters:
    ///   - response: The response, whose body is in memory or comes from a response that this store returned.
    ///   - key: The key of the response.
    public func store(_ response: StoredResponse, for key: ResponseKey) async {
        await store(response, for: key, with: ticket(for: key))
    }

    /// Stores the response whole.
    @discardableResult
    public func refresh(
        _ stored: StoredResponse, with refreshed: StoredResponse, for key: ResponseKey, with ticket: StoreTicket
    ) async -> Bool {
        await store(refreshed, for: key, with: ticket)
    }

    /// Starts to keep a response, whose body is gathered in memory up to ``bodyLimit`` and then stored at once.
    ///
    /// - Parameters:
    ///   - response: The response without its body.
    ///   - key: The key of the response.
    ///   - ticket: The ticket of the request that the response answers.
    /// - Returns: A writer for the body.
    public func writer(
        for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket
    ) async -> (any ResponseWriter)? {
        BufferingResponseWriter(response: response, key: key, ticket: ticket, store: self)
    }

    /// Removes all responses under the key if the ticket is current.
    public func removeResponses(for key: ResponseKey, before ticket: StoreTicket) async {
        if ticket.isCurrent { await removeResponses(for: key) }
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

    /// Keeps the response, in place of the responses of the same variant: its body is whole.
    ///
    /// - Returns: Whether the store has kept it.
    @discardableResult
    func finish() async -> Bool
}

/// Collects a body in memory for a store that takes whole bodies.
package final class BufferingResponseWriter<Store: ResponseStore>: ResponseWriter {
    private let response: StoredResponse
    private let key: ResponseKey
    private let ticket: StoreTicket
    private let store: Store
    private let content = Mutex(Data())

    package init(response: StoredResponse, key: ResponseKey, ticket: StoreTicket, store: Store) {
        (self.response, self.key, self.ticket, self.store) = (response, key, ticket, store)
    }

    package func write(_ chunk: Data) async -> Bool {
        content.withLock { content in
            guard content.count + chunk.count <= store.bodyLimit else { return false }
            content.append(chunk)
            return true
        }
    }

    package func finish() async -> Bool {
        var response = response
        response.body = Body(content.withLock { $0 })
        return await store.store(response, for: key, with: ticket)
    }
}

/// How a body is stored while it is read for the first time.
struct BodyStoring: Sendable {
    /// The bytes that are stored before the body.
    var start: Body?
    let writer: any ResponseWriter
    /// The requests that were sent, of which more may be sent while the body is read.
    let sent: SentRequests
    /// Is called when the store does not take the body.
    var onFailure: @Sendable () async -> Void = {}
}

extension Body {
    /// Stores the body while it is read for the first time, and keeps it once the end was reached.
    func stored(_ storing: BodyStoring) -> Body {
        let content = self
        let storing = FirstReading(storing)
        return Body(trustedLength: length, replay: replay) { offset in
            let reader = try await content.open(at: offset)
            guard offset == 0, let storing = storing.take() else { return reader }
            return StoringBodyReader(reader: reader, storing: storing)
        }
    }
}

/// Gives the writer to the first reader alone, who ends it when the reading ends early.
private final class FirstReading: Sendable {
    private let storing: Mutex<BodyStoring?>

    init(_ storing: BodyStoring) {
        self.storing = Mutex(storing)
    }

    func take() -> BodyStoring? {
        storing.withLock { $0.take() }
    }
}

private struct StoringBodyReader: BodyReader {
    var reader: any BodyReader
    /// Nil once the body is stored, or cannot be stored.
    var storing: BodyStoring?

    init(reader: any BodyReader, storing: BodyStoring) {
        self.reader = reader
        self.storing = storing
    }

    mutating func next() async throws -> Data? {
        let chunk = try await reader.next()
        await writeStart()
        if let chunk {
            await write(chunk)
        } else if let storing = storing.take(), storing.sent.allowsSharing {
            // A layer that resumes an interrupted body may have sent another request since the head arrived.
            if await !storing.writer.finish() { await storing.onFailure() }
        }
        return chunk
    }

    private mutating func write(_ chunk: Data) async {
        guard let storing, await !storing.writer.write(chunk) else { return }
        self.storing = nil
        await storing.onFailure()
    }

    private mutating func writeStart() async {
        guard let start = storing?.start.take() else { return }
        do {
            for try await chunk in start {
                guard storing != nil else { return }
                await write(chunk)
            }
        } catch {
            // The stored start is lost, and the rest alone is not a response.
            storing = nil
        }
    }

    var trailers: HTTPFields? { reader.trailers }
}
