import Foundation
import HTTPTypes

/// The responses of a ``MemoryResponseStore``, and the number of bytes that they take.
struct MemoryResponseTable {
    private struct Entry {
        let key: ResponseKey
        let response: StoredResponse
        let byteCount: Int
        /// The number of the ticket with which the response was stored.
        let number: UInt64
    }

    private let byteLimit: Int
    private let countLimit: Int
    private(set) var byteCount = 0
    private(set) var incoming: IncomingBodies
    private var entries: [Int: Entry] = [:]
    /// The entries of each key, the latest last.
    private var variants: [ResponseKey: [Int]] = [:]
    /// The keys of each URI.
    private var keys: [ResponseKey.URI: Set<ResponseKey>] = [:]
    private var recency = RecencyOrder()

    init(byteLimit: Int, countLimit: Int) {
        self.byteLimit = byteLimit
        self.countLimit = countLimit
        incoming = IncomingBodies(byteLimit: byteLimit / 2, bodyLimit: byteLimit / 4)
    }

    var count: Int { entries.count }

    mutating func use(_ key: ResponseKey) -> [StoredResponse] {
        guard let identifiers = variants[key] else { return [] }
        for identifier in identifiers { recency.touch(identifier) }
        return identifiers.reversed().compactMap { entries[$0]?.response }
    }

    private func identifiers(ofSameVariantAs response: StoredResponse, for key: ResponseKey) -> [Int] {
        variants[key, default: []].filter { entries[$0]?.response.isOfSameVariant(as: response) ?? false }
    }

    /// Keeps a response, unless one of the same variant was stored with a later ticket; returns whether it is kept.
    mutating func store(_ response: StoredResponse, for key: ResponseKey, number: UInt64) -> Bool {
        let size = response.byteCount + key.byteCount
        let replaced = identifiers(ofSameVariantAs: response, for: key)
        guard !replaced.contains(where: { entries[$0].map { $0.number > number } ?? false }) else {
            return false
        }
        if let identifier = replaced.first, variants[key]?.last == identifier,
            let entry = entries[identifier], entry.byteCount == size
        {
            // A confirmed response keeps its position, so that no other response has to move.
            entries[identifier] = Entry(key: entry.key, response: response, byteCount: size, number: number)
            recency.touch(identifier)
            return true
        }
        for identifier in replaced { remove(identifier) }

        guard size <= byteLimit / 4, countLimit > 0, makeRoom(for: size), count < countLimit || removeOldest() else {
            return false
        }
        let identifier = recency.add()
        entries[identifier] = Entry(key: key, response: response, byteCount: size, number: number)
        variants[key, default: []].append(identifier)
        keys[key.uri, default: []].insert(key)
        byteCount += size
        if let all = variants[key], all.count > MemoryResponseStore.variantLimit { remove(all[0]) }
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
        guard let entry = entries.removeValue(forKey: identifier) else { return }
        recency.remove(identifier)
        byteCount -= entry.byteCount
        variants[entry.key]?.removeAll { $0 == identifier }
        guard variants[entry.key]?.isEmpty == true else { return }
        variants[entry.key] = nil
        keys[entry.key.uri]?.remove(entry.key)
        if keys[entry.key.uri]?.isEmpty == true { keys[entry.key.uri] = nil }
    }

    mutating func remove(ofSameVariantAs response: StoredResponse, for key: ResponseKey) {
        for identifier in identifiers(ofSameVariantAs: response, for: key) { remove(identifier) }
    }

    /// Removes the responses of a variant, unless one was stored with a ticket of a larger number.
    mutating func remove(ofSameVariantAs response: StoredResponse, for key: ResponseKey, before number: UInt64) -> Bool
    {
        let found = identifiers(ofSameVariantAs: response, for: key)
        guard found.allSatisfy({ entries[$0].map { $0.number <= number } ?? true }) else { return false }
        for identifier in found { remove(identifier) }
        return true
    }

    /// Removes the responses under a key; with a number, those that were stored with tickets of smaller numbers.
    mutating func remove(for key: ResponseKey, before number: UInt64 = .max) {
        for identifier in variants[key] ?? [] where entries[identifier].map({ $0.number < number }) ?? false {
            remove(identifier)
        }
    }

    mutating func remove(at uri: ResponseKey.URI) {
        for key in keys[uri] ?? [] { remove(for: key) }
    }

    mutating func remove(of principal: Principal?) {
        for (identifier, entry) in entries where entry.key.principal == principal { remove(identifier) }
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
