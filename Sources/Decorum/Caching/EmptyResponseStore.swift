/// A store that keeps nothing, to turn a cache off where a store is required.
///
/// Equal requests at the same time are still sent once where a cache may use the response again. To send each of them,
/// set ``RequestOptions/allowsCoalescing`` to false.
public struct EmptyResponseStore: ResponseStore {
    private let tickets = StoreTickets()

    /// Creates a store that keeps nothing.
    public init() {}

    /// The largest body, in bytes, that the store takes: 0.
    public var bodyLimit: Int { 0 }

    /// Gives a ticket, with which a cache recognizes a request that was sent before a change.
    public func ticket(for key: ResponseKey) -> StoreTicket { tickets.ticket(for: key) }

    /// Finds nothing.
    public func responses(for key: ResponseKey) -> [StoredResponse] { [] }

    /// Keeps nothing.
    public func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) -> Bool { false }

    /// Returns no writer.
    public func writer(
        for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket
    ) -> (any ResponseWriter)? { nil }

    /// Withdraws the tickets of a key.
    public func removeResponses(for key: ResponseKey) { tickets.withdraw(for: key) }

    /// Withdraws the tickets of a URI.
    public func removeResponses(at uri: ResponseKey.URI) { tickets.withdraw(at: uri) }

    /// Withdraws the tickets of a principal.
    public func removeResponses(of principal: Principal?) { tickets.withdraw(of: principal) }

    /// Withdraws all tickets.
    public func removeAllResponses() { tickets.withdrawAll() }
}
