import Decorum
import Foundation
import Synchronization

/// A record and its epochs, read in one call.
struct SharedReading: Sendable {
    let keys: RecordKeys
    /// The number of the reading, its beginning, and how many hints had come until then.
    let number: UInt64
    let start: ContinuousClock.Instant
    let hints: UInt64
    /// The number of the stream of hints; nil without one.
    var stream: UInt64?
    var epochs: [UInt64] = []
    var record: SharedValue?
}

/// What a ticket knows: what was read before its request was sent.
final class SharedBasis: Sendable {
    let epochs: [UInt64]
    /// The version of the record, and the date.
    let order: [UInt64]

    init(epochs: [UInt64], order: [UInt64]) { (self.epochs, self.order) = (epochs, order) }
}

/// What a machine knows of the storage, and what it has not been able to tell it.
final class SharedResponseMemory: Sendable {
    typealias Entry = (reading: SharedReading, variants: [SharedVariant])
    typealias Pending = (removal: SharedRemoval, epoch: SharedKey, number: UInt64)

    private struct State {
        /// The version or the epoch that a reading has found under a key, and the number of the last hint of the key.
        var known = RecentValues<(number: UInt64?, reading: UInt64, hint: UInt64)>(limit: 16_384)
        var entries: RecentValues<Entry>
        /// The number of the last removal of each epoch that the storage lacks.
        var pending: [SharedKey: UInt64] = [:]
        var lastNumber: UInt64 = 0
        var hints: UInt64 = 0
        var stream: UInt64?

        mutating func next() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }

        /// Notes what a reading has found under a key, which may have been named before if it is new here.
        mutating func note(_ number: UInt64?, _ key: SharedKey, by reading: UInt64) {
            known.set((number, reading, known[key]?.hint ?? hints), for: key)
        }

        mutating func noteHint(_ key: SharedKey) {
            hints += 1
            if let (number, reading, _) = known[key] { known.set((number, reading, hints), for: key) }
        }

        func entry(_ keys: RecordKeys) -> Entry? {
            entries[keys.record].flatMap { $0.reading.keys.key == keys.key ? $0 : nil }
        }
    }

    static let pendingLimit = 1000

    let tickets = StoreTickets()
    private let state: Mutex<State>
    private let trustTime: Duration
    private let clock: any DatedClock

    init(byteLimit: Int, trustTime: Duration, clock: any DatedClock) {
        state = Mutex(State(entries: RecentValues(limit: max(0, byteLimit))))
        (self.trustTime, self.clock) = (trustTime, clock)
    }

    func ticket(for key: ResponseKey, _ keys: RecordKeys?) -> StoreTicket {
        let date = max(0, clock.date.timeIntervalSince1970).bitPattern
        return state.withLock { state in
            let numbers = keys?.all.map { state.known[$0]?.number } ?? [nil]
            let (record, epochs) = (numbers[0], numbers.dropFirst().compactMap(\.self))
            guard let record, epochs.count == numbers.count - 1 else { return tickets.ticket(for: key) }
            return tickets.ticket(for: key, basedOn: SharedBasis(epochs: epochs, order: [record, date]))
        }
    }

    /// Begins a reading; nil while the storage lacks a removal that covers it.
    func begin(_ keys: RecordKeys) -> SharedReading? {
        let now = clock.now
        return state.withLock { state in
            guard keys.epochs.allSatisfy({ state.pending[$0] == nil }) else { return nil }
            // A hint that comes meanwhile has to find each key.
            for key in keys.all { state.note(state.known[key]?.number, key, by: state.known[key]?.reading ?? 0) }
            return SharedReading(
                keys: keys, number: state.next(), start: now, hints: state.hints, stream: state.stream)
        }
    }

    /// Notes a reading: an epoch that is not the known one shows a removal, which covers requests under way.
    func note(_ reading: SharedReading) {
        let (keys, number) = (reading.keys.all, reading.number)
        let removals: [SharedRemoval?] = [nil] + reading.keys.removals
        state.withLock { state in
            for (index, found) in ([reading.record?.version.number ?? 0] + reading.epochs).enumerated() {
                let known = state.known[keys[index]]
                guard known?.reading ?? 0 <= number else { continue }
                if let removal = removals[index], known?.number != found { tickets.withdraw(removal) }
                state.note(found, keys[index], by: number)
            }
        }
    }

    /// Forgets the version of the record, since a reading has failed: to store the response would cost another call.
    func forget(_ keys: RecordKeys) { state.withLock { $0.note(nil, keys.record, by: $0.next()) } }

    func entry(_ keys: RecordKeys) -> Entry? { state.withLock { $0.entry(keys) } }

    /// Keeps variants, unless a reading is kept that began later.
    func keep(_ variants: [SharedVariant], of reading: SharedReading) {
        let heads = (reading.record?.content.count ?? 0) + 512 * (1 + variants.count)
        let size = variants.reduce(2 * heads) { $0 + ($1.response.body.bytes?.count ?? 0) }
        let key = reading.keys.record
        state.withLock { state in
            guard state.entries[key].map({ $0.reading.number <= reading.number }) ?? true else { return }
            state.entries.set((reading, variants), for: key, size: size)
        }
    }

    /// The responses that no hint has named since they were read; nil if the storage has to be asked.
    func trustedResponses(_ keys: RecordKeys) -> [StoredResponse]? {
        guard trustTime > .zero else { return nil }
        let now = clock.now
        let entry = state.withLock { state -> Entry? in
            guard let entry = state.entry(keys), let stream = entry.reading.stream, stream == state.stream,
                entry.reading.start.duration(to: now) < trustTime,
                keys.all.allSatisfy({ state.known[$0].map { $0.hint <= entry.reading.hints } ?? false })
            else { return nil }
            return entry
        }
        let live = entry?.variants.filter { $0.epochs == entry?.reading.epochs } ?? []
        return live.isEmpty || !live.allSatisfy(\.hasBody) ? nil : live.map(\.found)
    }

    /// Follows the hints until the task is cancelled, or the storage has none.
    func follow(_ storage: any SharedStorage) async {
        while let hints = storage.hints() {
            for await hint in hints {
                state.withLock { state in
                    switch hint {
                    case .listening: state.stream = state.next()
                    case .changed(let key): state.noteHint(key)
                    }
                }
            }
            state.withLock { $0.stream = nil }
            let next = clock.instant(after: .seconds(1))
            guard (try? await clock.sleep(until: next, tolerance: nil)) != nil else { return }
        }
    }

    /// Begins a removal, which counts here at once.
    func begin(_ removal: SharedRemoval, in name: String) -> Pending {
        state.withLock { state in
            let isFull = state.pending.count >= Self.pendingLimit
            let removal = isFull ? .all : removal
            tickets.withdraw(removal)
            if isFull { state.pending = [:] }
            let (epoch, number) = (removal.epoch(in: name), state.next())
            state.pending[epoch] = number
            state.note(nil, epoch, by: number)
            state.noteHint(epoch)
            return (removal, epoch, number)
        }
    }

    func isPending(_ one: Pending) -> Bool { state.withLock { $0.pending[one.epoch] == one.number } }

    func end(_ one: Pending) {
        state.withLock { if $0.pending[one.epoch] == one.number { $0.pending[one.epoch] = nil } }
    }
}

extension StoreTickets {
    fileprivate func withdraw(_ removal: SharedRemoval) {
        switch removal {
        case .all: withdrawAll()
        case .principal(let principal): withdraw(of: principal)
        case .uri(let uri): withdraw(at: uri)
        }
    }
}

/// Values by key, of which the ones that were not set for long leave when all are above a limit together.
struct RecentValues<Value: Sendable>: Sendable {
    typealias Part = [SharedKey: (value: Value, size: Int)]

    private var (recent, former): (Part, Part) = ([:], [:])
    private var size = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit / 2 }

    subscript(key: SharedKey) -> Value? { (recent[key] ?? former[key])?.value }

    mutating func set(_ value: Value, for key: SharedKey, size: Int = 1) {
        self.size -= recent.removeValue(forKey: key)?.size ?? 0
        former[key] = nil
        guard size <= limit else { return }
        if self.size + size > limit { (former, recent, self.size) = (recent, [:], 0) }
        recent[key] = (value, size)
        self.size += size
    }
}
