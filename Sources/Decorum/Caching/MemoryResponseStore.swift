import Foundation
import HTTPTypes
import Synchronization

/// A store in memory, limited in bytes and in number; the least recently used responses are removed first.
///
/// The bounds hold at every moment, and the bodies that are still being received count: they take at most half of
/// `byteLimit` together, and a body for which there is no room is not stored. A response whose size alone is above a
/// quarter of `byteLimit` is not stored either. For each key, the 16 latest variants are kept, since a lookup checks all
/// of them.
public final class MemoryResponseStore: ResponseStore {
    /// The largest number of variants of one key, here and in a ``FileResponseStore``.
    package static let variantLimit = 16

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
    public var byteCount: Int { table.withLock { $0.byteCount + $0.incoming } }

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

    /// Keeps a response whose body is in memory, in place of the responses of the same variant.
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

    /// Makes room for bytes of a body that is being received; returns false when there is no room.
    fileprivate func admit(_ count: Int) -> Bool {
        table.withLock { $0.admit(count) }
    }

    /// Ends the counting of bytes of a body that is dropped.
    fileprivate func release(_ count: Int) {
        table.withLock { $0.incoming -= count }
    }

    /// Keeps a response whose body was received; returns whether it was still wanted.
    fileprivate func complete(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) -> Bool {
        table.withLock { table in
            table.incoming -= response.body.bytes?.count ?? 0
            return tickets.isCurrent(ticket) && table.store(response, for: key, number: ticket.number)
        }
    }

    /// Removes the responses of one variant under a key; with a ticket, only if all were stored with earlier ones;
    /// returns whether no response of the variant is left, since otherwise all stay.
    @discardableResult
    func removeResponses(
        ofSameVariantAs response: StoredResponse, for key: ResponseKey, before ticket: StoreTicket? = nil
    ) -> Bool {
        table.withLock { $0.remove(ofSameVariantAs: response, for: key, before: ticket?.number ?? .max) }
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

/// Collects a body that is still being received.
final class MemoryResponseWriter: ResponseWriter {
    private let response: StoredResponse
    private let key: ResponseKey
    private let ticket: StoreTicket
    private let store: MemoryResponseStore
    /// The bytes of the body; nil once they are stored, or cannot be stored.
    private let content = Mutex<Data?>(Data())

    fileprivate init(response: StoredResponse, key: ResponseKey, ticket: StoreTicket, store: MemoryResponseStore) {
        (self.response, self.key, self.ticket, self.store) = (response, key, ticket, store)
    }

    deinit {
        if let count = content.withLock({ $0?.count }) { store.release(count) }
    }

    func write(_ chunk: Data) -> Bool {
        content.withLock { content in
            guard let count = content?.count else { return false }
            guard count + chunk.count <= store.bodyLimit, store.admit(chunk.count) else {
                store.release(count)
                content = nil
                return false
            }
            content?.append(chunk)
            return true
        }
    }

    @discardableResult
    func finish() -> Bool {
        guard let content = content.withLock({ $0.take() }) else { return false }
        var response = response
        response.body = Body(content)
        return store.complete(response, for: key, with: ticket)
    }
}

/// The responses of a ``MemoryResponseStore``, and the number of bytes that they take.
private struct MemoryResponseTable {
    private struct Entry {
        let identifier: Int
        /// The response alone, as the readers of most keys get it.
        var responses: [StoredResponse]
        var response: StoredResponse { responses[0] }
        let byteCount: Int
        /// The number of the ticket with which the response was stored.
        var number: UInt64
    }

    private let byteLimit: Int
    private let countLimit: Int
    private(set) var byteCount = 0
    /// The bytes of the bodies that are being received.
    var incoming = 0
    /// The entries of each key, the latest last.
    private var variants: [ResponseKey: [Entry]] = [:]
    /// The key of each entry, by the entry's identifier.
    private var keysOfEntries: [Int: ResponseKey] = [:]
    /// The keys of each URI.
    private var keys: [ResponseKey.URI: Set<ResponseKey>] = [:]
    private var recency = RecencyOrder()

    init(byteLimit: Int, countLimit: Int) {
        self.byteLimit = byteLimit
        self.countLimit = countLimit
    }

    var count: Int { keysOfEntries.count }

    mutating func use(_ key: ResponseKey) -> [StoredResponse] {
        guard let entries = variants[key] else { return [] }
        for index in entries.indices { recency.touch(entries[index].identifier) }
        // Most keys have one response.
        if entries.count == 1 { return entries[0].responses }
        return entries.indices.reversed().map { entries[$0].response }
    }

    private func entries(ofSameVariantAs response: StoredResponse, for key: ResponseKey) -> [Entry] {
        variants[key, default: []].filter { $0.response.isOfSameVariant(as: response) }
    }

    /// Keeps a response, unless one of the same variant was stored with a later ticket; returns whether it is kept.
    mutating func store(_ response: StoredResponse, for key: ResponseKey, number: UInt64) -> Bool {
        let size = response.byteCount + key.byteCount
        let replaced = entries(ofSameVariantAs: response, for: key)
        guard !replaced.contains(where: { $0.number > number }) else { return false }
        if let entry = replaced.first, entry.byteCount == size,
            let last = variants[key]?.indices.last, variants[key]?[last].identifier == entry.identifier
        {
            // A confirmed response keeps its position, so that no other response has to move.
            variants[key]?[last].responses = [response]
            variants[key]?[last].number = number
            recency.touch(entry.identifier)
            return true
        }
        for entry in replaced { remove(entry.identifier) }

        guard size <= byteLimit / 4, countLimit > 0, makeRoom(for: size), count < countLimit || removeOldest() else {
            return false
        }
        let identifier = recency.add()
        keysOfEntries[identifier] = key
        variants[key, default: []].append(
            Entry(identifier: identifier, responses: [response], byteCount: size, number: number))
        keys[key.uri, default: []].insert(key)
        byteCount += size
        if let all = variants[key], all.count > MemoryResponseStore.variantLimit { remove(all[0].identifier) }
        return true
    }

    mutating func admit(_ count: Int) -> Bool {
        guard incoming + count <= byteLimit / 2 else { return false }
        incoming += count
        // Bodies that are being received take at most half, so that removing stored responses is enough.
        return makeRoom(for: 0)
    }

    private mutating func makeRoom(for size: Int) -> Bool {
        while byteCount + incoming + size > byteLimit {
            guard removeOldest() else { return false }
        }
        return true
    }

    private mutating func removeOldest() -> Bool {
        guard let oldest = recency.oldest else { return false }
        remove(oldest)
        return true
    }

    private mutating func remove(_ identifier: Int) {
        guard let key = keysOfEntries.removeValue(forKey: identifier),
            let index = variants[key]?.firstIndex(where: { $0.identifier == identifier })
        else { return }
        recency.remove(identifier)
        byteCount -= variants[key]?.remove(at: index).byteCount ?? 0
        guard variants[key]?.isEmpty == true else { return }
        variants[key] = nil
        keys[key.uri]?.remove(key)
        if keys[key.uri]?.isEmpty == true { keys[key.uri] = nil }
    }

    /// Removes the responses of a variant, unless one was stored with a ticket of a larger number.
    mutating func remove(ofSameVariantAs response: StoredResponse, for key: ResponseKey, before number: UInt64) -> Bool
    {
        let found = entries(ofSameVariantAs: response, for: key)
        guard found.allSatisfy({ $0.number <= number }) else { return false }
        for entry in found { remove(entry.identifier) }
        return true
    }

    /// Removes the responses under a key; with a number, only responses that were stored with tickets of smaller numbers.
    mutating func remove(for key: ResponseKey, before number: UInt64 = .max) {
        for entry in variants[key] ?? [] where entry.number < number { remove(entry.identifier) }
    }

    mutating func remove(at uri: ResponseKey.URI) {
        for key in keys[uri] ?? [] { remove(for: key) }
    }

    mutating func remove(of principal: Principal?) {
        for (identifier, key) in keysOfEntries where key.principal == principal { remove(identifier) }
    }

    mutating func removeAll() {
        let incoming = incoming
        self = MemoryResponseTable(byteLimit: byteLimit, countLimit: countLimit)
        self.incoming = incoming
    }
}

extension StoredResponse {
    fileprivate var byteCount: Int {
        // The approximate size of a dictionary entry, a list node and the storage of the heads.
        let overhead = 512
        return overhead + (body.bytes?.count ?? 0) + head.headerFields.byteCount + selectingFields.byteCount
    }
}

extension HTTPFields {
    fileprivate var byteCount: Int {
        reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 }
    }
}

/// An order of identifiers by last use; using, adding and removing an identifier takes constant time.
private struct RecencyOrder {
    private struct Node {
        var older: Int
        var newer: Int
    }

    // A ring with a fixed node at index 0: its `newer` is the oldest identifier, its `older` the newest.
    private var nodes = [Node(older: 0, newer: 0)]
    private var free: [Int] = []

    /// The least recently used identifier.
    var oldest: Int? {
        nodes[0].newer == 0 ? nil : nodes[0].newer
    }

    /// Adds an identifier as the newest.
    mutating func add() -> Int {
        let identifier = free.popLast() ?? nodes.count
        if identifier == nodes.count { nodes.append(Node(older: 0, newer: 0)) }
        link(identifier)
        return identifier
    }

    /// Makes an identifier the newest.
    mutating func touch(_ identifier: Int) {
        unlink(identifier)
        link(identifier)
    }

    /// Removes an identifier, which may be used again.
    mutating func remove(_ identifier: Int) {
        unlink(identifier)
        free.append(identifier)
    }

    private mutating func link(_ identifier: Int) {
        let newest = nodes[0].older
        nodes[identifier] = Node(older: newest, newer: 0)
        nodes[newest].newer = identifier
        nodes[0].older = identifier
    }

    private mutating func unlink(_ identifier: Int) {
        let node = nodes[identifier]
        nodes[node.older].newer = node.newer
        nodes[node.newer].older = node.older
    }
}
