import Decorum
import Foundation
import Synchronization

/// A record and its epochs, read in one call.
struct SharedReading: Sendable {
    let keys: RecordKeys
    /// The number of the reading, which earlier hints are below, and its beginning.
    let number: UInt64
    let start: ContinuousClock.Instant
    /// The number of the stream of hints; nil without one.
    var stream: UInt64?
    var epochs: [UInt64] = []
    var record: SharedValue?
}

/// What a ticket knows: what was read before its request was sent.
final class SharedBasis: Sendable {
    /// The epochs; and the version of the record with the date.
    let epochs, order: [UInt64]
    init(epochs: [UInt64], order: [UInt64]) { (self.epochs, self.order) = (epochs, order) }
}

/// What a machine knows of the storage, and what it has not been able to tell it.
final class SharedResponseMemory: Sendable {
    typealias Entry = (reading: SharedReading, variants: [SharedVariant])
    typealias Pending = (removal: SharedRemoval, epoch: SharedKey, number: UInt64)

    /// What is known of one value, which all records share that it belongs to.
    private final class Slot {
        /// The version or the epoch that a reading has found, and the number of the reading.
        var (number, reading): (UInt64?, UInt64) = (nil, 0)
        /// The number of the last hint of the value, which may have been named before it was known here.
        var hint: UInt64
        init(hint: UInt64) { self.hint = hint }
    }

    /// What is known of one key of responses, which one step finds.
    private final class Record {
        let keys: RecordKeys
        /// The record itself and its epochs, as in the keys.
        let slots: [Slot]
        var entry: Entry?
        var size = 0
        init(_ keys: RecordKeys, _ slots: [Slot]) { (self.keys, self.slots) = (keys, slots) }
    }

    private struct State {
        let name: String
        /// The largest number of bytes of the records in use, and again of the others.
        let byteLimit: Int
        /// The records that were used last, and the ones that leave next.
        var (recent, former): ([ResponseKey: Record], [ResponseKey: Record]) = ([:], [:])
        var slots: [SharedKey: Slot] = [:]
        var size = 0
        /// The number of the last removal of each epoch that the storage lacks.
        var pending: [SharedKey: UInt64] = [:]
        var lastNumber: UInt64 = 0
        var stream: UInt64?
        init(name: String, byteLimit: Int) { (self.name, self.byteLimit) = (name, byteLimit) }

        mutating func next() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }

        mutating func noteHint(_ key: SharedKey) {
            let number = next()
            slots[key]?.hint = number
        }

        /// Uses the record of a key, which begins when it is new; nil for a key with a secret.
        mutating func record(_ key: ResponseKey) -> Record? {
            if let record = recent[key] { return record }
            let record =
                former.removeValue(forKey: key)
                ?? RecordKeys(key, in: name).map { keys in
                    Record(keys, keys.all.map { slots[$0, default: Slot(hint: lastNumber)] })
                }
            if let record { use(record) }
            return record
        }

        private mutating func use(_ record: Record) {
            if recent.count >= recordLimit || size + record.size > byteLimit {
                (former, recent, size, slots) = (recent, [:], 0, [:])
                for other in former.values { slots.merge(zip(other.keys.all, other.slots)) { $1 } }
            }
            slots.merge(zip(record.keys.all, record.slots)) { $1 }
            recent[record.keys.key] = record
            size += record.size
        }

        /// Replaces what a record has in memory; a content without room is forgotten.
        mutating func keep(_ entry: Entry, _ content: Int, in record: Record) {
            let change = (content <= byteLimit ? content : 0) - record.size
            record.entry = content <= byteLimit ? entry : nil
            (record.size, size) = (record.size + change, size + change)
            guard size > byteLimit, recent.removeValue(forKey: record.keys.key) != nil else { return }
            size -= record.size
            use(record)
        }
    }

    static let pendingLimit = 1000
    private static let recordLimit = 4096
    let tickets = StoreTickets()
    private let state: Mutex<State>
    private let trustTime: Duration
    private let clock: any DatedClock

    init(of name: String, byteLimit: Int, trustTime: Duration, clock: any DatedClock) {
        state = Mutex(State(name: name, byteLimit: max(0, byteLimit / 2)))
        (self.trustTime, self.clock) = (trustTime, clock)
    }

    func ticket(for key: ResponseKey) -> StoreTicket {
        let date = max(0, clock.date.timeIntervalSince1970).bitPattern
        return state.withLock { state in
            let numbers = (state.recent[key] ?? state.former[key])?.slots.compactMap(\.number) ?? []
            guard numbers.count == 4 else { return tickets.ticket(for: key) }
            let basis = SharedBasis(epochs: Array(numbers.dropFirst()), order: [numbers[0], date])
            return tickets.ticket(for: key, basedOn: basis)
        }
    }

    /// Begins a reading; nil for a key with a secret, and while the storage lacks a removal that covers it.
    func begin(_ key: ResponseKey) -> SharedReading? {
        let now = clock.now
        return state.withLock { state in
            // A hint that comes meanwhile finds the record.
            guard let keys = state.record(key)?.keys,
                state.pending.isEmpty || keys.all.allSatisfy({ state.pending[$0] == nil })
            else { return nil }
            return SharedReading(keys: keys, number: state.next(), start: now, stream: state.stream)
        }
    }

    /// Notes a reading, and returns what was known of its record.
    ///
    /// An epoch that is not the known one shows a removal, which covers requests under way.
    func note(_ reading: SharedReading) -> Entry? {
        state.withLock { state in
            guard let record = state.record(reading.keys.key) else { return nil }
            let found = [reading.record?.version.number ?? 0] + reading.epochs
            for (index, slot) in record.slots.enumerated() where slot.reading <= reading.number {
                if index > 0, slot.number != found[index] { record.keys.removals[index - 1].withdraw(from: tickets) }
                (slot.number, slot.reading) = (found[index], reading.number)
            }
            return record.entry
        }
    }

    /// Forgets the version of the record, since a reading has failed: to store the response would cost another call.
    func forget(_ key: ResponseKey) {
        state.withLock { state in
            guard let slot = state.record(key)?.slots.first else { return }
            (slot.number, slot.reading) = (nil, state.next())
        }
    }

    /// Keeps variants, unless a reading is kept that began later.
    func keep(_ variants: [SharedVariant], of reading: SharedReading) {
        let heads = (reading.record?.content.count ?? 0) + 512 * (1 + variants.count)
        let size = variants.reduce(2 * heads) { $0 + ($1.response.body.bytes?.count ?? 0) }
        state.withLock { state in
            guard let record = state.record(reading.keys.key),
                record.entry.map({ $0.reading.number <= reading.number }) ?? true
            else { return }
            state.keep((reading, variants), size, in: record)
        }
    }

    /// The responses that no hint has named since they were read; nil if the storage has to be asked.
    func trustedResponses(_ key: ResponseKey) -> [StoredResponse]? {
        guard trustTime > .zero else { return nil }
        let now = clock.now
        let entry = state.withLock { state -> Entry? in
            guard let record = state.record(key), let entry = record.entry, let stream = entry.reading.stream,
                stream == state.stream, entry.reading.start.duration(to: now) < trustTime,
                record.slots.allSatisfy({ $0.hint <= entry.reading.number })
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
            guard (try? await clock.sleep(for: .seconds(1))) != nil else { return }
        }
    }

    /// Begins a removal, which counts here at once.
    func begin(_ removal: SharedRemoval) -> Pending {
        state.withLock { state in
            let isFull = state.pending.count >= Self.pendingLimit
            let removal = isFull ? .all : removal
            removal.withdraw(from: tickets)
            if isFull { state.pending = [:] }
            let (epoch, number) = (removal.epoch(in: state.name), state.next())
            state.pending[epoch] = number
            state.noteHint(epoch)
            if let slot = state.slots[epoch] { (slot.number, slot.reading) = (nil, number) }
            return (removal, epoch, number)
        }
    }

    func isPending(_ one: Pending) -> Bool { state.withLock { $0.pending[one.epoch] == one.number } }

    func end(_ one: Pending) {
        state.withLock { if $0.pending[one.epoch] == one.number { $0.pending[one.epoch] = nil } }
    }
}
