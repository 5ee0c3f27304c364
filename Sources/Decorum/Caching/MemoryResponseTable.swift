import Foundation
import HTTPTypes

/// The responses of a ``MemoryResponseStore``, and the number of bytes that they take.
struct MemoryResponseTable {
    private struct Entry {
        let identifier: Int
        var response: StoredResponse
        let byteCount: Int
        /// The number of the ticket with which the response was stored.
        var number: UInt64
    }

    private let byteLimit: Int
    private let countLimit: Int
    private(set) var byteCount = 0
    private(set) var incoming: IncomingBodies
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
        incoming = IncomingBodies(byteLimit: byteLimit / 2, bodyLimit: byteLimit / 4)
    }

    var count: Int { keysOfEntries.count }

    mutating func use(_ key: ResponseKey) -> [StoredResponse] {
        guard let entries = variants[key] else { return [] }
        for index in entries.indices { recency.touch(entries[index].identifier) }
        // Most keys have one response.
        if entries.count == 1 { return [entries[0].response] }
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
            variants[key]?[last].response = response
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
            Entry(identifier: identifier, response: response, byteCount: size, number: number))
        keys[key.uri, default: []].insert(key)
        byteCount += size
        if let all = variants[key], all.count > MemoryResponseStore.variantLimit { remove(all[0].identifier) }
        return true
    }

    /// Starts to count a body that is being received; returns its number.
    mutating func begin(_ content: IncomingContent) -> Int {
        incoming.begin(content)
    }

    /// Makes room for bytes of a body that is being received, and returns the contents of others that are let go.
    mutating func reserve(_ count: Int, for number: Int) -> (isReserved: Bool, released: [IncomingContent]) {
        let reservation = incoming.reserve(count, for: number)
        // Bodies that are being received take at most half, so that removing stored responses is enough.
        if reservation.isReserved { _ = makeRoom(for: 0) }
        return reservation
    }

    /// Ends the counting of a body; returns false when it was let go before.
    mutating func end(_ number: Int) -> Bool {
        incoming.end(number)
    }

    private mutating func makeRoom(for size: Int) -> Bool {
        while byteCount + incoming.byteCount + size > byteLimit {
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

    mutating func remove(ofSameVariantAs response: StoredResponse, for key: ResponseKey) {
        for entry in entries(ofSameVariantAs: response, for: key) { remove(entry.identifier) }
    }

    /// Removes the responses of a variant, unless one was stored with a ticket of a larger number.
    mutating func remove(ofSameVariantAs response: StoredResponse, for key: ResponseKey, before number: UInt64) -> Bool
    {
        let found = entries(ofSameVariantAs: response, for: key)
        guard found.allSatisfy({ $0.number <= number }) else { return false }
        for entry in found { remove(entry.identifier) }
        return true
    }

    /// Removes the responses under a key; with a number, those that were stored with tickets of smaller numbers.
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
