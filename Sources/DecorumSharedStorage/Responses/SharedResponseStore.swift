public import Decorum
import Foundation
import Synchronization

/// A store on a storage that a fleet of machines shares, so that each response is transferred once for all of them.
///
/// A lookup is one call, which reads the responses of a key with the epochs of their removals, and one for each body
/// above 4 KiB that is not in memory, of which none begins after the time of one. It transfers as many bodies as
/// ``bodyLimit`` has room for, the latest first; the other responses are not found by it. A response counts only with
/// the epochs that were there before its request was sent, so a removal on one machine holds on all, and covers
/// responses that are under way. A response does not replace one to a later request, which is told by the version of the
/// record that the machine had seen, and then by the date, unless the storage has lost the record.
///
/// A storage that fails, is slow or has damaged, foreign or unsealed values is a miss. Until it takes a removal, which is
/// tried again each second while the store lives, what that covers is not looked up on this machine.
///
/// A response that a `FileResponseStore` keeps in memory only is not stored, nor is the response to a `POST`. Without a
/// seal, whoever reads the storage sees URLs, principals, fields and bodies, and whoever writes it decides answers; with
/// one, they can put old values back.
public final class SharedResponseStore: ResponseStore {
    private static let inlineLimit = 4096
    private let storage: GuardedStorage<any SharedStorage>
    /// The same storage for bodies, which take longer.
    private let bodyValues: GuardedStorage<any SharedStorage>
    private let objects: GuardedStorage<any SharedBodyStorage>?
    private let name: String
    private let seal: SharedSeal
    private let lifetime: Duration
    private let clock: any DatedClock
    private let generator: any RandomGenerator
    private let spawner: any TaskSpawner
    private let memory: SharedResponseMemory
    private let listener: Task<Void, Never>?
    private let receivedLimit: Int
    private let received = Atomic(0)
    /// The largest body, in bytes, that the store takes.
    public let bodyLimit: Int

    /// Creates a store, named alike on all machines; keys have a digest of the name.
    ///
    /// - `bodies` takes the bodies that are too large for `storage`; without it, they are not stored.
    /// - `seal` seals all values but the epochs, which are random numbers.
    /// - `lifetime` is how long a response is kept, a year at most.
    /// - `memoryLimit` is the largest number of bytes of responses that are kept in memory, and again of bodies that are
    ///   being received, for which it is at least `bodyLimit`.
    /// - `bodyLimit` is the largest body, which is held in memory while it is stored.
    /// - `trustTime` is how long a response in memory needs no call while no hint of the storage names it. If a hint
    ///   comes late or is lost, a removal is unheeded for so long.
    /// - `deadline` is how long each call may take; a lookup begins no further call for its head after it. Calls for
    ///   bodies above 4 KiB may take a second at least.
    public init(
        on storage: any SharedStorage, bodies: (any SharedBodyStorage)? = nil, named name: String = "responses",
        sealedBy seal: SharedSeal? = nil, keptFor lifetime: Duration = .seconds(7 * 86_400),
        memoryLimit: Int = 16 << 20, bodyLimit: Int = 8 << 20, trustingHintsFor trustTime: Duration = .zero,
        deadline: Duration = .milliseconds(50), clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator(), spawner: any TaskSpawner = SystemSpawner()
    ) {
        let bodyDeadline = max(deadline, .seconds(1))
        self.seal = seal ?? .absent
        self.storage = GuardedStorage(storage, deadline: deadline, clock: clock, generator: generator)
        bodyValues = GuardedStorage(storage, deadline: bodyDeadline, clock: clock, generator: generator)
        objects = bodies.map { GuardedStorage($0, deadline: bodyDeadline, clock: clock, generator: generator) }
        self.name = SharedKey("responses", numbers: Checksum.of(Array(name.utf8)[...], seed: 0)).description
        (self.clock, self.generator, self.spawner) = (clock, generator, spawner)
        self.lifetime = min(max(lifetime, .seconds(1)), .seconds(365 * 86_400))
        self.bodyLimit = max(0, min(bodyLimit, max(storage.valueLimit, bodies?.bodyLimit ?? 0)))
        receivedLimit = max(memoryLimit, self.bodyLimit)
        let memory = SharedResponseMemory(of: self.name, byteLimit: memoryLimit, trustTime: trustTime, clock: clock)
        self.memory = memory
        listener = trustTime > .zero ? spawner.spawn { await memory.follow(storage) } : nil
    }

    deinit { listener?.cancel() }

    /// Gives a ticket, with which a response is stored only if the storage was read for its key before.
    public func ticket(for key: ResponseKey) -> StoreTicket { memory.ticket(for: key) }

    /// Finds the stored responses for a key, the latest first.
    public func responses(for key: ResponseKey) async -> [StoredResponse] {
        if let trusted = memory.trustedResponses(key) { return trusted }
        return await find(key)
    }

    @concurrent private func find(_ key: ResponseKey) async -> [StoredResponse] {
        do {
            var (reading, variants) = try await read(key)
            await addBodies(to: &variants, of: reading)
            memory.keep(variants, of: reading)
            return variants.filter { $0.hasBody && $0.epochs == reading.epochs }.map(\.found)
        } catch {
            memory.forget(key)
            return []
        }
    }

    /// Reads a record with its epochs; one that is missing is created, which makes all earlier responses invisible.
    private func read(_ key: ResponseKey) async throws -> SharedResponseMemory.Entry {
        let limit = clock.instant(after: storage.deadline)
        for _ in 0..<2 where clock.now < limit {
            guard var reading = memory.begin(key) else { throw SharedStorageError(.leftAlone) }
            let keys = reading.keys
            let values = try await storage.call { try await $0.values(for: keys.all) }
            reading.record = values[keys.record]
            let found = keys.all.dropFirst().map { values[$0] }
            reading.epochs = found.compactMap(epoch)
            if reading.epochs.count < 3 {
                async let first = epoch(of: keys.removals[0], found[0])
                async let second = epoch(of: keys.removals[1], found[1])
                async let third = epoch(of: keys.removals[2], found[2])
                reading.epochs = try await [first, second, third].compactMap(\.self)
            }
            // If one is missing, another machine was first to create it.
            guard reading.epochs.count == 3 else { continue }
            return (reading, variants(of: reading, knowing: memory.note(reading)))
        }
        throw SharedStorageError(.tooSlow)
    }

    private func epoch(_ value: SharedValue?) -> UInt64? {
        guard let content = value?.content, content.count == 8 else { return nil }
        return unsafe content.withUnsafeBytes { unsafe UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    }

    private func epoch(of removal: SharedRemoval, _ value: SharedValue?) async throws -> UInt64? {
        if let epoch = epoch(value) { return epoch }
        return try await renew(removal, if: .holding(value))
    }

    private func renew(_ removal: SharedRemoval, if condition: SharedCondition) async throws -> UInt64? {
        let (number, key) = (generator.next(), removal.epoch(in: name))
        let content = unsafe withUnsafeBytes(of: number.littleEndian) { unsafe Data($0) }
        // What an epoch covers is a miss once it has expired, which would be most responses of a fleet for these two.
        let time = [.all, .principal(nil)].contains(removal) ? nil : lifetime * 2
        return try await storage.write(content, for: key, expiringAfter: time, if: condition) == nil ? nil : number
    }

    /// The variants in a record, with the bodies that are in memory.
    private func variants(of reading: SharedReading, knowing known: SharedResponseMemory.Entry?) -> [SharedVariant] {
        guard let record = reading.record else { return [] }
        if let known, known.reading.record == record { return known.variants }
        let content = seal.opened(record.content, reading.keys.record)
        var variants = content.flatMap { SharedRecord.variants(in: [UInt8]($0), key: reading.keys.key) } ?? []
        for index in variants.indices where !variants[index].hasBody {
            guard let same = known?.variants.first(where: { $0.body == variants[index].body }) else { continue }
            variants[index].response.body = same.response.body
        }
        return variants
    }

    /// Reads the bodies that are not in memory and fit together, and verifies them; after an error, no further one.
    private func addBodies(to variants: inout [SharedVariant], of reading: SharedReading) async {
        var room = UInt64(bodyLimit)
        let limit = clock.instant(after: bodyValues.deadline)
        for index in variants.indices where !variants[index].hasBody && variants[index].epochs == reading.epochs {
            let (body, name) = (variants[index].body, reading.keys.body(variants[index].body))
            guard body.length <= room, clock.now < limit else { continue }
            room -= body.length
            do {
                let found =
                    body.place == .object
                    ? try await objects?.call { try await $0.content(named: name) } ?? nil
                    : try await bodyValues.value(of: name)?.content
                guard let found, let content = seal.opened(found, name), body.isBody(content) else { continue }
                variants[index].response.body = Body(content)
            } catch { return }
        }
    }

    /// Keeps a response whose body is in memory, in place of the responses of the same variant.
    @discardableResult
    @concurrent public func store(
        _ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket
    ) async -> Bool {
        guard let basis = basis(of: ticket, for: response, key), let keys = RecordKeys(key, in: name),
            let content = response.body.bytes, content.count <= bodyLimit, let body = try? await write(content, keys)
        else { return false }
        let variant = SharedVariant(response: response, epochs: basis.epochs, order: basis.order, body: body)
        let isStored = try? await change(key, with: ticket) { variants in
            let kept = variants.filter { !$0.response.isOfSameVariant(as: response) || variant.isEarlier(than: $0) }
            guard !kept.contains(where: { $0.response.isOfSameVariant(as: response) }) else { return false }
            variants = [variant] + kept
            return true
        }
        // After an error, the record may name the body.
        if isStored == false { removeBodies([body], keys) }
        return isStored ?? false
    }

    /// Starts to keep a response, whose body is gathered in memory.
    public func writer(
        for response: StoredResponse, key: ResponseKey, with ticket: StoreTicket
    ) async -> (any ResponseWriter)? {
        guard basis(of: ticket, for: response, key) != nil else { return nil }
        return SharedResponseWriter(response, key, ticket, self)
    }

    /// Counts bytes of bodies that are being received; returns whether there is room for them.
    fileprivate func receive(_ count: Int) -> Bool {
        received.add(count, ordering: .relaxed).newValue <= receivedLimit
    }

    private func basis(
        of ticket: StoreTicket, for response: StoredResponse? = nil, _ key: ResponseKey
    ) -> (epochs: [UInt64], order: [UInt64])? {
        guard memory.tickets.isCurrent(ticket), let basis = ticket.basis as? SharedBasis,
            response?.holdsSecret(under: key) != true
        else { return nil }
        return (basis.epochs, basis.order + [ticket.number])
    }

    /// Replaces the head of a stored response; the body is not written again.
    @discardableResult
    public func refresh(
        _ stored: StoredResponse, with refreshed: StoredResponse, for key: ResponseKey, with ticket: StoreTicket
    ) async -> Bool {
        guard refreshed.isOfSameVariant(as: stored) else { return await store(refreshed, for: key, with: ticket) }
        guard let basis = basis(of: ticket, for: refreshed, key) else { return false }
        let isRefreshed = try? await change(key, with: ticket) { variants in
            guard let index = variants.firstIndex(where: { $0.body.nonce == stored.fileNonce }) else { return false }
            let present = variants.remove(at: index)
            var variant = present
            (variant.response, variant.epochs, variant.order) = (refreshed, basis.epochs, basis.order)
            variant.response.body = present.response.body
            variants.insert(variant, at: 0)
            return present.response.isOfSameVariant(as: stored) && !variant.isEarlier(than: present)
        }
        return isRefreshed ?? false
    }

    /// Changes the record of a key, if the epochs of a ticket are still there; returns whether it was changed.
    @concurrent private func change(
        _ key: ResponseKey, with ticket: StoreTicket, by change: @Sendable (inout [SharedVariant]) -> Bool
    ) async throws -> Bool {
        for _ in 0..<5 {
            var (reading, all) = try await read(key)
            guard let basis = basis(of: ticket, key), basis.epochs == reading.epochs else { return false }
            let keys = reading.keys
            var variants = all.filter { $0.epochs == basis.epochs }
            guard change(&variants) else { return false }
            variants = Array(variants.prefix(MemoryResponseStore.variantLimit))
            guard let content = try content(of: &variants, keys) else { return false }
            let version = try await storage.write(
                content, for: keys.record, expiringAfter: lifetime, if: .holding(reading.record))
            guard let version else { continue }
            reading.record = SharedValue(content, version: version)
            reading.stream = nil
            memory.keep(variants, of: reading)
            let bodies = Set(variants.map(\.body))
            removeBodies(all.map(\.body).filter { !bodies.contains($0) }, keys)
            return true
        }
        throw SharedStorageError(.tooSlow)
    }

    /// The content of a record, without the variants for which there is no room; nil if no variant has room.
    private func content(of variants: inout [SharedVariant], _ keys: RecordKeys) throws -> Data? {
        while let bytes = SharedRecord.bytes(of: variants, key: keys.key) {
            let content = try seal.sealed(Data(bytes), keys.record)
            if content.count <= storage.base.valueLimit { return content }
            guard variants.count > 1 else { return nil }
            variants.removeLast()
        }
        return nil
    }

    /// Writes a body under a name of its own, unless it belongs into the record; nil without room for it.
    private func write(_ content: Data, _ keys: RecordKeys) async throws -> SharedBody? {
        let nonce = generator.next()
        let checksum = Checksum.of([UInt8](content)[...], seed: nonce)
        var body = SharedBody(nonce: nonce, length: UInt64(content.count), checksum: checksum)
        guard content.count > min(Self.inlineLimit, storage.base.valueLimit / 4) else { return body }
        let name = keys.body(body)
        let sealed = try seal.sealed(content, name)
        body.place = sealed.count <= storage.base.valueLimit ? .value : .object
        guard body.place == .object else {
            let version = try await bodyValues.write(sealed, for: name, expiringAfter: lifetime, if: .nothing)
            return version == nil ? nil : body
        }
        guard let objects, sealed.count <= objects.base.bodyLimit else { return nil }
        try await objects.call { try await $0.write(sealed, named: name) }
        return body
    }

    private func removeBodies(_ bodies: [SharedBody], _ keys: RecordKeys) {
        let bodies = bodies.filter { $0.place != .record }
        guard !bodies.isEmpty else { return }
        spawner.spawn { [bodyValues, objects] in
            for body in bodies {
                let name = keys.body(body)
                if body.place == .value {
                    _ = try? await bodyValues.call { try await $0.remove(name, if: .anything) }
                } else {
                    try? await objects?.call { try await $0.removeContent(named: name) }
                }
            }
        }
    }

    /// Removes the responses under a key that answer earlier requests than the ticket's.
    public func removeResponses(for key: ResponseKey, before ticket: StoreTicket) async {
        guard let basis = basis(of: ticket, key) else { return }
        let isRemoved = try? await change(key, with: ticket) { variants in
            let count = variants.count
            variants.removeAll { $0.order.lexicographicallyPrecedes(basis.order) }
            return variants.count < count
        }
        // A removal of all responses of the URI goes on in the background.
        if isRemoved == nil { begin(.uri(key.uri)) }
    }

    /// Removes every response of the URI of a key, of all principals.
    public func removeResponses(for key: ResponseKey) async { await begin(.uri(key.uri)).value }
    /// Removes every response of a URI, of all principals, for all machines.
    public func removeResponses(at uri: ResponseKey.URI) async { await begin(.uri(uri)).value }
    /// Removes every response that was stored on behalf of a principal, for all machines.
    public func removeResponses(of principal: Principal?) async { await begin(.principal(principal)).value }
    /// Removes every response, for all machines.
    public func removeAllResponses() async { await begin(.all).value }

    /// Begins a removal, which a cancelled caller does not end; the task ends with the first attempt.
    @discardableResult private func begin(_ removal: SharedRemoval) -> Task<Void, Never> {
        let pending = memory.begin(removal)
        return spawner.spawn { [self] in
            guard await !perform(pending) else { return }
            spawner.spawn { [weak self, clock] in
                repeat {
                    guard (try? await clock.sleep(for: .seconds(1))) != nil else { return }
                } while await self?.perform(pending) == false
            }
        }
    }

    /// Performs a removal, unless a later one of the same epoch does its work; returns whether that is done.
    private func perform(_ pending: SharedResponseMemory.Pending) async -> Bool {
        guard memory.isPending(pending) else { return true }
        guard (try? await renew(pending.removal, if: .anything)) != nil else { return false }
        memory.end(pending)
        return true
    }
}

/// Gathers a body in memory, while all that are being received have room together.
private final class SharedResponseWriter: ResponseWriter {
    private let base: BufferingResponseWriter<SharedResponseStore>
    private let store: SharedResponseStore
    private let received = Atomic(0)

    init(_ response: StoredResponse, _ key: ResponseKey, _ ticket: StoreTicket, _ store: SharedResponseStore) {
        base = BufferingResponseWriter(response: response, key: key, ticket: ticket, store: store)
        self.store = store
    }

    deinit { _ = store.receive(-received.load(ordering: .relaxed)) }

    func write(_ chunk: Data) async -> Bool {
        received.add(chunk.count, ordering: .relaxed)
        guard store.receive(chunk.count) else { return false }
        return await base.write(chunk)
    }

    func finish() async -> Bool { await base.finish() }
}
