import Synchronization

/// The responses that a store of files keeps in memory, checked against the removals of other stores on the directory.
final class MemoryOnlyResponses: Sendable {
    private struct Check {
        /// Removals before this time do not concern the responses; nil when the time was forgotten.
        var since: TicketTime?
        /// The time that the marks of removals had at the last check.
        var marked: Int64?
    }

    /// Above this limit, the older half of the checks is forgotten; responses without one count as removed.
    private static let countLimit = 2000

    let store: MemoryResponseStore
    private let marks: RemovalMarks
    private let threads: DiskThreads
    private let checks = Mutex<[ResponseKey: Check]>([:])

    init(_ store: MemoryResponseStore, directory: ResponseDirectory, threads: DiskThreads) {
        self.store = store
        marks = RemovalMarks(directory)
        self.threads = threads
    }

    /// Notes that a response is kept under a key, with a ticket after which removals count.
    func note(_ key: ResponseKey, _ ticket: StoreTicket) {
        guard let time = ticket.time else { return }
        let isFirst = store.responses(for: key).isEmpty
        checks.withLock { checks in
            if checks.count >= Self.countLimit { Self.forgetOlderHalf(of: &checks) }
            guard !isFirst else {
                checks[key] = Check(since: time)
                return
            }
            let since = checks[key]?.since.map { $0.steady < time.steady ? $0 : time }
            checks[key] = Check(since: since)
        }
    }

    private static func forgetOlderHalf(of checks: inout [ResponseKey: Check]) {
        let latestFirst = checks.sorted { $0.value.since?.steady ?? .min > $1.value.since?.steady ?? .min }
        checks = Dictionary(uniqueKeysWithValues: latestFirst.prefix(countLimit / 2).map { ($0.key, $0.value) })
    }

    /// Finds the responses of a key that no store has removed.
    func responses(for key: ResponseKey) async -> [StoredResponse] {
        let found = store.responses(for: key)
        guard !found.isEmpty else { return found }
        let isRemoved: Bool
        do {
            isRemoved = try checkRemoved(key, mayWait: false)
        } catch {
            isRemoved = await threads.reading.perform { [self] in (try? checkRemoved(key, mayWait: true)) ?? true }
        }
        guard isRemoved else { return found }
        // Not all responses of the key, which would withdraw the tickets of requests that were sent later.
        for response in found { store.removeResponses(ofSameVariantAs: response, for: key) }
        return []
    }

    private func checkRemoved(_ key: ResponseKey, mayWait: Bool) throws -> Bool {
        let marked = try marks.lastChange(mayWait: mayWait)
        let check = checks.withLock { $0[key] }
        if let check, check.marked == marked { return false }
        let removed = try marks.lastRemoval(of: ResponseKeyDigest(key), mayWait: mayWait)
        // Marks are compared with the time of day, and deleted after a day.
        guard let since = check?.since, since.isComparable(at: marks.now), removed < since.wall else {
            checks.withLock { $0[key] = nil }
            return true
        }
        checks.withLock { $0[key] = Check(since: since, marked: RemovalMarks.isWholeSecond(marked) ? nil : marked) }
        return false
    }
}
