import Foundation
import HTTPTypes
import Synchronization

/// A store in memory, limited in bytes and in number; the least recently used responses are removed first.
///
/// The bounds hold at every moment, and the bodies that are still being received count: they take at most half of
/// `byteLimit` together. When a transfer finds no room, the store drops a body that has received no bytes since this
/// transfer began. If there is no such body, the body of this transfer is not stored. A response whose size alone is
/// above a quarter of `byteLimit` is not stored either. For each key, the 16 latest variants are kept, since a lookup
/// checks all of them.
public final class MemoryResponseStore: ResponseStore {
    /// The largest number of variants of one key, here and in a ``FileResponseStore``.
    static let variantLimit = 16

    private let table: Mutex<MemoryResponseTable>
    private let tickets: StoreTickets

    /// The largest body, in bytes, that the store takes.
    public let bodyLimit: Int

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - byteLimit: The largest number of bytes to keep, heads included; a negative number counts as 0.
    ///   - countLimit: The largest number of responses to keep; a negative number counts as 0.
    public convenience init(byteLimit: Int = 32 << 20, countLimit: Int = 1000) {
        self.init(byteLimit: byteLimit, countLimit: countLimit, tickets: StoreTickets())
    }

    /// Creates an empty store that shares its tickets with another store.
    init(byteLimit: Int, countLimit: Int = 1000, tickets: StoreTickets) {
        self.tickets = tickets
        bodyLimit = max(byteLimit, 0) / 4
        table = Mutex(MemoryResponseTable(byteLimit: max(byteLimit, 0), countLimit: max(countLimit, 0)))
    }

    /// The number of responses in the store.
    public var count: Int { table.withLock { $0.count } }

    /// The number of bytes that the store takes, as `byteLimit` counts them, with the bodies that are being received.
    public var byteCount: Int { table.withLock { $0.byteCount + $0.incoming.byteCount } }

    /// Gives the ticket with which the response to a request can be stored.
    public func ticket(for key: ResponseKey) -> StoreTicket { tickets.ticket(for: key) }

    /// Finds the stored responses for a key, the latest first.
    public func responses(for key: ResponseKey) -> [StoredResponse] {
        table.withLock { $0.use(key) }
    }

    /// Keeps a response that answers no request under way, as when a store is filled before its first use.
    public func store(_ response: StoredResponse, for key: ResponseKey) {
        store(response, for: key, with: ticket(for: key))
    }

    /// Keeps a response whose body is in memory, in place of those of the same variant.
    @discardableResult
    public func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) -> Bool {
        guard response.body.bytes != nil else { return false }
        return table.withLock { table in
            tickets.isCurrent(ticket) && table.store(response, for: key, number: ticket.number)
        }
    }

    /// Starts to keep a response, whose body is collected separately until it is complete.
    public func writer(
        for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket
    ) async -> (any ResponseWriter)? {
        makeWriter(response, key, ticket)
    }

    func makeWriter(_ response: StoredResponse, _ key: ResponseKey, _ ticket: StoreTicket) -> MemoryResponseWriter? {
        bodyLimit > 0 ? MemoryResponseWriter(response: response, key: key, ticket: ticket, store: self) : nil
    }

    /// Starts to count a body that is being received.
    func begin(_ content: IncomingContent) -> Int {
        table.withLock { $0.begin(content) }
    }

    /// Makes room for bytes of a body that is being received; returns false when there is no room, or was none before.
    func reserve(_ count: Int, for number: Int) -> Bool {
        let (isReserved, released) = table.withLock { $0.reserve(count, for: number) }
        for content in released { content.clear() }
        return isReserved
    }

    /// Ends the counting of a body that is not wanted any more.
    func abandon(_ number: Int) {
        table.withLock { _ = $0.end(number) }
    }

    /// Keeps a response whose body was received; returns whether it was still wanted.
    func complete(
        _ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket, _ number: Int
    ) -> Bool {
        table.withLock { table in
            guard table.end(number), tickets.isCurrent(ticket) else { return false }
            return table.store(response, for: key, number: ticket.number)
        }
    }

    /// Removes the responses of one variant under a key that were stored with earlier tickets.
    ///
    /// - Returns: Whether no response of the variant is left; otherwise none is removed.
    func removeResponses(
        ofSameVariantAs response: StoredResponse, for key: ResponseKey, before ticket: StoreTicket
    ) -> Bool {
        table.withLock { $0.remove(ofSameVariantAs: response, for: key, before: ticket.number) }
    }

    /// Removes the responses of one variant under a key.
    func removeResponses(ofSameVariantAs response: StoredResponse, for key: ResponseKey) {
        table.withLock { $0.remove(ofSameVariantAs: response, for: key) }
    }

    /// Removes every response under a key.
    public func removeResponses(for key: ResponseKey) {
        table.withLock { table in
            tickets.withdraw(for: key)
            table.remove(for: key)
        }
    }

    /// Removes the responses under a key that were stored with earlier tickets, if the ticket is current.
    public func removeResponses(for key: ResponseKey, before ticket: StoreTicket) async {
        table.withLock { table in
            if tickets.isCurrent(ticket) { table.remove(for: key, before: ticket.number) }
        }
    }

    /// Removes every response of a URI, of all principals.
    public func removeResponses(at uri: ResponseKey.URI) {
        table.withLock { table in
            tickets.withdraw(at: uri)
            table.remove(at: uri)
        }
    }

    /// Removes every response that was stored on behalf of a principal.
    public func removeResponses(of principal: Principal?) {
        table.withLock { table in
            tickets.withdraw(of: principal)
            table.remove(of: principal)
        }
    }

    /// Removes every response.
    public func removeAllResponses() {
        table.withLock { table in
            tickets.withdrawAll()
            table.removeAll()
        }
    }
}
