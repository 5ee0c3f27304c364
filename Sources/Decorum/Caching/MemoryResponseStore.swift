import Foundation
import HTTPTypes
import Synchronization

/// A store in memory, limited in bytes and in number; the least recently used responses are removed first.
///
/// The bounds hold at every moment. A response whose size alone is above a quarter of `byteLimit` is not stored. For
/// each key, the 16 latest variants are kept, since a lookup checks all of them.
public final class MemoryResponseStore: ResponseStore {
    /// The largest number of variants of one key, here and in a ``FileResponseStore``.
    static let variantLimit = 16

    private let state: Mutex<State>
    private let removals = Atomic(0)

    /// The largest body, in bytes, that the store takes.
    public let bodyLimit: Int

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - byteLimit: The largest number of bytes to keep, heads included; a negative number counts as 0.
    ///   - countLimit: The largest number of responses to keep; a negative number counts as 0.
    public init(byteLimit: Int = 32 << 20, countLimit: Int = 1000) {
        bodyLimit = max(byteLimit, 0) / 4
        state = Mutex(State(byteLimit: max(byteLimit, 0), countLimit: max(countLimit, 0)))
    }

    /// The number of responses in the store.
    public var count: Int { state.withLock { $0.entries.count } }

    /// The number of bytes that the responses in the store take, as `byteLimit` counts them.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// Finds the stored responses for a key, the latest first.
    public func responses(for key: ResponseKey) -> [StoredResponse] {
        state.withLock { $0.use(key) }
    }

    /// Keeps a response whose body is in memory, in place of those of the same variant.
    public func store(_ response: StoredResponse, for key: ResponseKey) {
        guard response.body.bytes != nil else { return }
        state.withLock { $0.store(response, for: key) }
    }

    /// Starts to keep a response, whose body is collected separately until it is complete.
    public func writer(for response: StoredResponse, key: ResponseKey) async -> (any ResponseWriter)? {
        makeWriter(response, key)
    }

    func makeWriter(_ response: StoredResponse, _ key: ResponseKey) -> MemoryResponseWriter? {
        bodyLimit > 0 ? MemoryResponseWriter(response: response, key: key, store: self) : nil
    }

    fileprivate func beginWrite(_ key: ResponseKey) -> Int {
        state.withLock { $0.ongoing.begin(key) }
    }

    fileprivate func endWrite(_ write: Int) {
        state.withLock { _ = $0.ongoing.end(write) }
    }

    fileprivate func endWrite(_ write: Int, with response: StoredResponse, for key: ResponseKey) -> Bool {
        state.withLock { state in
            guard state.ongoing.end(write) else { return false }
            state.store(response, for: key)
            return true
        }
    }

    /// Removes the responses of one variant under a key.
    func removeResponses(ofSameVariantAs response: StoredResponse, for key: ResponseKey) {
        state.withLock { state in
            for identifier in state.identifiers(ofSameVariantAs: response, for: key) { state.remove(identifier) }
        }
    }

    /// Removes every response under a key.
    public func removeResponses(for key: ResponseKey) {
        state.withLock { state in
            state.ongoing.cancel { $0 == key }
            for identifier in state.variants[key] ?? [] { state.remove(identifier) }
        }
    }

    /// Removes every response of a URI, of all principals.
    public func removeResponses(at uri: ResponseKey.URI) {
        state.withLock { state in
            state.ongoing.cancel { $0.uri == uri }
            for key in state.keys[uri] ?? [] {
                for identifier in state.variants[key] ?? [] { state.remove(identifier) }
            }
        }
    }

    /// How often the responses of a principal, or all responses, were removed.
    public var removalCount: Int { removals.load(ordering: .relaxed) }

    /// Removes every response that was stored on behalf of a principal.
    public func removeResponses(of principal: Principal?) {
        removals.add(1, ordering: .relaxed)
        state.withLock { state in
            state.ongoing.cancel { $0.principal == principal }
            for (identifier, entry) in state.entries where entry.key.principal == principal {
                state.remove(identifier)
            }
        }
    }

    /// Removes every response.
    public func removeAllResponses() {
        removals.add(1, ordering: .relaxed)
        state.withLock { state in
            var ongoing = state.ongoing
            ongoing.cancel { _ in true }
            state = State(byteLimit: state.byteLimit, countLimit: state.countLimit)
            state.ongoing = ongoing
        }
    }
}

/// Collects a body that is still being received.
final class MemoryResponseWriter: ResponseWriter {
    private let response: StoredResponse
    private let key: ResponseKey
    private let store: MemoryResponseStore
    private let write: Int
    /// Nil once the rest is not wanted.
    private let content = Mutex<Data?>(Data())

    fileprivate init(response: StoredResponse, key: ResponseKey, store: MemoryResponseStore) {
        self.response = response
        self.key = key
        self.store = store
        write = store.beginWrite(key)
    }

    deinit {
        store.endWrite(write)
    }

    func write(_ chunk: Data) -> Bool {
        content.withLock { content in
            guard let count = content?.count, count + chunk.count <= store.bodyLimit else {
                content = nil
                return false
            }
            content?.append(chunk)
            return true
        }
    }

    func finish() {
        _ = complete()
    }

    /// Keeps the response, and returns whether it was still wanted.
    func complete() -> Bool {
        guard let content = content.withLock({ $0.take() }) else { return false }
        var response = response
        response.body = Body(content)
        return store.endWrite(write, with: response, for: key)
    }
}

private struct Entry {
    let key: ResponseKey
    let response: StoredResponse
    let byteCount: Int
}

private struct State {
    let byteLimit: Int
    let countLimit: Int
    var byteCount = 0
    var entries: [Int: Entry] = [:]
    /// The entries of each key, the latest last.
    var variants: [ResponseKey: [Int]] = [:]
    /// The keys of each URI.
    var keys: [ResponseKey.URI: Set<ResponseKey>] = [:]
    var recency = RecencyOrder()
    var ongoing = OngoingWrites()

    init(byteLimit: Int, countLimit: Int) {
        self.byteLimit = byteLimit
        self.countLimit = countLimit
    }

    mutating func use(_ key: ResponseKey) -> [StoredResponse] {
        guard let identifiers = variants[key] else { return [] }
        for identifier in identifiers { recency.touch(identifier) }
        return identifiers.reversed().compactMap { entries[$0]?.response }
    }

    func identifiers(ofSameVariantAs response: StoredResponse, for key: ResponseKey) -> [Int] {
        variants[key, default: []].filter { entries[$0]?.response.isOfSameVariant(as: response) ?? false }
    }

    mutating func store(_ response: StoredResponse, for key: ResponseKey) {
        let size = response.byteCount + key.byteCount
        let replaced = identifiers(ofSameVariantAs: response, for: key)
        if let identifier = replaced.first, variants[key]?.last == identifier,
            let entry = entries[identifier], entry.byteCount == size
        {
            // A confirmed response keeps its position, so that no other response has to move.
            entries[identifier] = Entry(key: entry.key, response: response, byteCount: size)
            recency.touch(identifier)
            return
        }
        for identifier in replaced { remove(identifier) }

        guard size <= byteLimit / 4, countLimit > 0 else { return }
        while byteCount + size > byteLimit || entries.count >= countLimit, let oldest = recency.oldest {
            remove(oldest)
        }
        let identifier = recency.add()
        entries[identifier] = Entry(key: key, response: response, byteCount: size)
        variants[key, default: []].append(identifier)
        keys[key.uri, default: []].insert(key)
        byteCount += size
        if let all = variants[key], all.count > MemoryResponseStore.variantLimit { remove(all[0]) }
    }

    mutating func remove(_ identifier: Int) {
        guard let entry = entries.removeValue(forKey: identifier) else { return }
        recency.remove(identifier)
        byteCount -= entry.byteCount
        variants[entry.key]?.removeAll { $0 == identifier }
        guard variants[entry.key]?.isEmpty == true else { return }
        variants[entry.key] = nil
        keys[entry.key.uri]?.remove(entry.key)
        if keys[entry.key.uri]?.isEmpty == true { keys[entry.key.uri] = nil }
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
