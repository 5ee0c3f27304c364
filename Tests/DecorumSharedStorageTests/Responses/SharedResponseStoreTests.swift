#if Signing
import Decorum
import DecorumSharedStorage
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5))) struct SharedResponseStoreTests {
    let clock = VirtualClock()
    let storage: ProbingStorage
    let bodies = MemoryBodies()
    let spawner = TrackingSpawner()

    init() { storage = ProbingStorage(MemorySharedStorage(clock: clock)) }

    private func store(sealed: Bool = true, bodyLimit: Int = 4 << 20, trusting: Duration = .zero) -> SharedResponseStore
    {
        SharedResponseStore(
            on: storage, bodies: bodies, sealedBy: sealed ? .test : nil, memoryLimit: 8 * bodyLimit,
            bodyLimit: bodyLimit, trustingHintsFor: trusting, clock: clock, spawner: spawner)
    }

    @Test(arguments: [0, 100, 10_000, 2 << 20])
    func `A response that one machine has stored is found by all, and no body is read twice`(length: Int) async throws {
        let (first, second, key) = (store(), store(), try Sample.key())
        #expect(await first.fill(key, Sample.response(3, length: length)))
        _ = storage.takeCalls()

        #expect(await second.versions(key) == [3])
        #expect(storage.takeCalls() == (length == 10_000 ? 2 : 1))
        #expect(bodies.names.count == (length > 1 << 20 ? 1 : 0))
        for name in bodies.names { bodies.set(nil, name) }
        for store in [first, second] { #expect(await store.versions(key) == [3]) }
        #expect(storage.takeCalls() == 2)
    }

    enum Removal: CaseIterable {
        case key, uri, principal, all

        func perform(_ key: ResponseKey, in store: SharedResponseStore) async {
            switch self {
            case .key: await store.removeResponses(for: key)
            case .uri: await store.removeResponses(at: key.uri)
            case .principal: await store.removeResponses(of: key.principal)
            case .all: await store.removeAllResponses()
            }
        }
    }

    @Test(arguments: Removal.allCases, [nil, "joe"])
    func `A removal on one machine holds on all, also for responses under way`(removal: Removal, principal: String?)
        async throws
    {
        let (first, second, key) = (store(), store(), try Sample.key(1, of: principal))
        let other = try Sample.key(2, of: "ann")
        for key in [key, other] { await first.fill(key) }
        _ = await second.responses(for: key)
        let tickets = [first.ticket(for: key), second.ticket(for: key)]

        await removal.perform(key, in: first)
        for store in [first, second] { #expect(await store.versions(key).isEmpty) }
        #expect(await first.store(Sample.response(2), for: key, with: tickets[0]) == false)
        #expect(await second.store(Sample.response(2), for: key, with: tickets[1]) == false)
        #expect(await second.versions(key).isEmpty)
        #expect(await second.versions(other) == (removal == .all ? [] : [1]))
        #expect(await second.fill(key, Sample.response(4)))
        #expect(await first.versions(key) == [4])
    }

    @Test func `A response does not replace one to a later request of any machine`() async throws {
        let (first, second, key) = (store(), store(), try Sample.key())
        await first.fill(key)
        let slow = first.ticket(for: key)
        clock.advance(by: .seconds(1))
        #expect(await second.fill(key, Sample.response(2)))
        #expect(await first.store(Sample.response(3), for: key, with: slow) == false)
        await first.removeResponses(for: key, before: slow)
        #expect(await first.versions(key) == [2])

        // The clock of the other machine is behind.
        let later = first.ticket(for: key)
        #expect(await second.fill(key, Sample.response(4)))
        _ = await first.responses(for: key)
        let last = first.ticket(for: key)
        #expect(await first.store(Sample.response(5), for: key, with: last))
        #expect(await second.store(Sample.response(6), for: key, with: second.ticket(for: key)) == false)
        #expect(await first.store(Sample.response(7), for: key, with: later) == false)
        await first.removeResponses(for: key, before: last)
        #expect(await second.versions(key) == [5])
        await first.removeResponses(for: key, before: first.ticket(for: key))
        #expect(await second.versions(key).isEmpty)
    }

    @Test func `A confirmation writes the head alone, and not onto another body`() async throws {
        let (first, second, key) = (store(), store(), try Sample.key())
        await first.fill(key, Sample.response(1, length: 10_000))
        let stored = try #require(await first.responses(for: key).first)
        let confirmed = Sample.response(1, length: 10_000, fields: [.age: "7"])
        let bodies = await storage.keys(":r:")
        #expect(await first.refresh(stored, with: confirmed, for: key, with: first.ticket(for: key)))
        #expect(await storage.keys(":r:") == bodies)
        #expect(await second.responses(for: key).first?.head.headerFields[.age] == "7")
        #expect(await second.versions(key) == [1])

        await second.fill(key, Sample.response(2, length: 10_000))
        _ = await first.responses(for: key)
        #expect(await first.refresh(stored, with: confirmed, for: key, with: first.ticket(for: key)) == false)
        #expect(await first.versions(key) == [2])
        // The body that no record names is removed.
        try await spawner.finished()
        #expect(await storage.keys(":r:").count == 2)
    }

    @Test func `The latest sixteen variants are kept, the latest first`() async throws {
        let (store, key) = (store(), try Sample.key())
        for number in 0..<20 { await store.fill(key, Sample.response(number, type: "text/\(number)")) }
        #expect(await store.versions(key) == (4..<20).reversed())
        #expect(await self.store().versions(key) == (4..<20).reversed())
    }

    @Test func `A lookup transfers as many bodies as there is room for, the latest first`() async throws {
        let (store, key) = (store(bodyLimit: 25_000), try Sample.key())
        for number in 0..<4 { await store.fill(key, Sample.response(number, length: 10_000, type: "text/\(number)")) }
        let other = self.store(bodyLimit: 25_000)
        #expect(await other.versions(key) == [3, 2])
        #expect(await other.versions(key) == [3, 2, 1, 0])
    }

    @Test func `A lookup begins no further body after a second`() async throws {
        let key = try Sample.key()
        for number in 0..<3 { await store().fill(key, Sample.response(number, length: 1_100_000, type: "\(number)")) }
        bodies.delayReading { [clock] in clock.advance(by: .milliseconds(600)) }
        #expect(await store().versions(key) == [2, 1])
    }

    @Test func `Bodies that are being received have a limit together`() async throws {
        let (store, key) = (store(bodyLimit: 1000), try Sample.key())
        _ = await store.responses(for: key)
        let ticket = store.ticket(for: key)
        var writers: [any ResponseWriter] = []
        for _ in 0..<9 {
            writers += [await store.writer(for: Sample.response(), key: key, with: ticket)].compactMap(\.self)
        }
        for index in 0..<9 {
            #expect(await writers[index].write(Sample.content(1, 900)) == (index < 8))
        }
        let isKept = await writers.removeFirst().finish()
        #expect(isKept)
        #expect(await store.versions(key) == [1])
        #expect(await writers[7].write(Data()))
    }

    @Test func `The responses of a fleet do not vanish at once`() async throws {
        await store().fill(try Sample.key(1))
        clock.advance(by: .seconds(13 * 86_400))
        await store().fill(try Sample.key(2))
        clock.advance(by: .seconds(2 * 86_400))
        #expect(await store().versions(try Sample.key(2)) == [1])
    }

    @Test func `Users whose keys have one digest do not get the responses of each other`() async throws {
        let key = try Sample.key(1, of: "alexander.hamilton@example-company.com")
        let other = try Sample.key(1, of: "v.hamiltelexandeon@example-company.com")
        #expect(ResponseKeyDigest(key) == ResponseKeyDigest(other))
        let (trusting, plain) = (store(trusting: .seconds(10)), store())
        await trusting.fill(key)
        try await wait { await trusting.responses(for: key).count == 1 && storage.takeCalls() == 0 }
        #expect(await plain.versions(key) == [1])
        for store in [trusting, plain, self.store()] { #expect(await store.versions(other).isEmpty) }
        #expect(await plain.fill(other, Sample.response(2)))
        #expect(await plain.versions(other) == [2])
        #expect(await plain.versions(key).isEmpty)
    }

    @Test func `No secret is in a key, and with a seal, none in a value`() async throws {
        let (store, secret) = (store(), PlantedSecret.opaque)
        var request = try Request.get("https://example.com/\(secret)")
        let key = try #require(ResponseKey(request))
        #expect(await store.fill(key, Sample.response(1, fields: [.eTag: "\"\(secret)\""], type: secret)))
        for (key, content) in await storage.contents {
            #expect(!key.description.contains(secret))
            #expect(content.range(of: Data(secret.utf8)) == nil)
        }

        _ = storage.takeCalls()
        request.head.headerFields[.authorization] = "Bearer \(secret)"
        #expect(await store.fill(try #require(ResponseKey(request))) == false)
        #expect(storage.takeCalls() == 0)
        let count = await storage.contents.count
        #expect(await store.fill(key, Sample.response(2, fields: [.setCookie: "id=\(secret)"])) == false)
        #expect(await storage.contents.count == count)
    }

    enum Damage: CaseIterable { case flipped, moved, removed, unsealed }

    @Test(arguments: Damage.allCases, [true, false])
    func `A damaged, foreign or unsealed value is a miss, and is replaced`(damage: Damage, isSealed: Bool) async throws
    {
        guard isSealed || damage != .unsealed else { return }
        let (keys, length) = ([try Sample.key(1), try Sample.key(2)], 10_000)
        func store() -> SharedResponseStore { self.store(sealed: isSealed) }
        for (index, key) in keys.enumerated() { await store().fill(key, Sample.response(index, length: length)) }
        let (values, plain) = (await storage.contents, ProbingStorage(MemorySharedStorage(clock: clock)))
        await SharedResponseStore(on: plain).fill(keys[0], Sample.response(0, length: length))
        let foreign = await plain.contents
        for (name, content) in values where name.description.contains(":r:") {
            let changed: [Data?] =
                switch damage {
                case .flipped:
                    stride(from: 0, to: content.count, by: content.count / 7).map { place in
                        Data(content.enumerated().map { $0 == place ? $1 ^ 1 : $1 })
                    }
                case .moved: values.filter { $0.key != name }.map(\.value)
                case .unsealed: [foreign[name] ?? Sample.content(0, length)]
                case .removed: [nil]
                }
            for change in changed {
                try await storage.replace(name, by: change)
                #expect([[0], [1]].contains(await store().versions(keys[0]) + store().versions(keys[1])))
            }
            try await storage.replace(name, by: content)
            for (index, key) in keys.enumerated() { #expect(await store().versions(key) == [index]) }
        }
        for name in values.keys { try await storage.replace(name, by: nil) }
        #expect(await store().fill(keys[0], Sample.response(9, length: length)))
        #expect(await store().versions(keys[0]) == [9])
    }

    @Test(arguments: ["all", ":p:", ":u:"], [Data?.none, Data("damaged epoch".utf8)])
    func `An epoch that is lost or damaged makes its responses a miss`(part: String, change: Data?) async throws {
        let (store, key) = (store(), try Sample.key())
        await store.fill(key)
        let name = try #require(await storage.keys(part).first)
        try await storage.replace(name, by: change)
        #expect(await store.versions(key).isEmpty)
        #expect(await store.fill(key, Sample.response(2)))
        #expect(await self.store().versions(key) == [2])
    }

    /// A row has what hangs, the calls of the first lookup until it does, its deadline, and the calls once it is left alone.
    @Test(
        arguments: [(.hangs, 1, 50, 0), (.hangsAtBodies, 2, 1000, 1), (.hangsAtChanges, 4, 50, nil)]
            as [(ProbingStorage.Fault, Int, Int, Int?)])
    func `A storage that hangs costs one deadline, and nothing while it is left alone`(
        fault: ProbingStorage.Fault, calls: Int, deadline: Int, callsAlone: Int?
    ) async throws {
        let (store, key) = (store(), try Sample.key())
        if fault == .hangsAtBodies { await self.store().fill(key, Sample.response(1, length: 10_000)) }
        storage.set(fault)
        for _ in 0..<(callsAlone == nil ? 1 : 5) {
            _ = storage.takeCalls()
            async let found = store.versions(key)
            try await wait { storage.calls == calls && !clock.pendingSleeps.isEmpty }
            clock.advance(by: .milliseconds(deadline))
            #expect(await found.isEmpty)
        }
        // A response is not stored either, which would take as long again.
        let response = Sample.response()
        let isKept = await fault == .hangs ? store.store(response, for: key, with: store.ticket(for: key)) : false
        #expect(!isKept && storage.takeCalls() == calls)
        guard let callsAlone else { return }
        #expect(await store.versions(key).isEmpty)
        #expect(storage.takeCalls() == callsAlone)
    }

    @Test func `A lookup that fails does not prevent storing a response to another request`() async throws {
        let (store, key, other) = (store(), try Sample.key(1, of: "joe"), try Sample.key(1, of: "ann"))
        for key in [key, other] { _ = await store.responses(for: key) }
        let ticket = store.ticket(for: other)
        storage.set(.fails)
        _ = await store.responses(for: key)
        storage.set(nil)
        #expect(await store.store(Sample.response(), for: key, with: store.ticket(for: key)) == false)
        #expect(await store.fill(key))
        #expect(await store.store(Sample.response(), for: other, with: ticket))
    }

    @Test func `A full storage stores nothing, and what it has is found`() async throws {
        let (store, key) = (store(), try Sample.key())
        await store.fill(key)
        storage.set(.isFull)
        #expect(await store.fill(key, Sample.response(2)) == false)
        #expect(await store.versions(key) == [1])
        #expect(await store.fill(try Sample.key(2)) == false)
    }

    @Test(arguments: Removal.allCases)
    func `A removal that the storage does not take counts here at once, and is tried until it does`(removal: Removal)
        async throws
    {
        let (first, second, key) = (store(), store(), try Sample.key())
        await first.fill(key)
        let ticket = first.ticket(for: key)
        storage.set(.fails)
        await Task { await removal.perform(key, in: first) }.value
        storage.set(nil)
        #expect(await first.versions(key).isEmpty)
        #expect(await first.store(Sample.response(2), for: key, with: ticket) == false)
        #expect(await second.versions(key) == [1])

        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        try await spawner.finished()
        #expect(await second.versions(key).isEmpty)
        #expect(await first.fill(key, Sample.response(3)))
    }

    private func wait(until condition: () async -> Bool) async throws {
        while await !condition() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func `A cancelled removal is performed, and a body that is dropped early is not stored`() async throws {
        let (store, key) = (store(), try Sample.key())
        await store.fill(key)
        try await cancelled { await store.removeResponses(of: nil) }
        #expect(await store.versions(key).isEmpty)

        let count = await storage.contents.count
        let writer = await store.writer(for: Sample.response(2), key: key, with: store.ticket(for: key))
        #expect(await writer?.write(Data("part".utf8)) == true)
        #expect(await storage.contents.count == count)
        try await cancelled { #expect(await store.fill(key, Sample.response(3)) == false) }
        #expect(await store.versions(key).isEmpty)
    }

    @Test func `A reading that ends late does not bring back what was replaced`() async throws {
        let (store, key, gate) = (store(), try Sample.key(), Gate())
        await store.fill(key)
        storage.delayReading(by: gate)
        async let late = store.versions(key)
        try await gate.waitForWaiting(1)
        let other = self.store()
        for _ in 0..<9 { _ = other.ticket(for: key) }
        await other.fill(key, Sample.response(2, length: 10_000))
        #expect(await store.versions(key) == [2])
        gate.open()
        #expect(await late == [1])
        // The next request is later by the version that is known, although the other machine has given more tickets.
        let ticket = store.ticket(for: key)
        _ = storage.takeCalls()
        #expect(await store.versions(key) == [2])
        #expect(storage.takeCalls() == 1)
        #expect(await store.store(Sample.response(3), for: key, with: ticket))
    }

    @Test func `A hit takes one call, and none while the hints of the storage are trusted`() async throws {
        let (store, other, key) = (store(trusting: .seconds(10)), store(), try Sample.key())
        await store.fill(key)
        try await wait { await store.responses(for: key).count == 1 && storage.takeCalls() == 0 }
        for _ in 0..<3 { #expect(await store.versions(key) == [1]) }
        #expect(storage.takeCalls() == 0)
        clock.advance(by: .seconds(10))
        #expect(await store.versions(key) == [1])
        #expect(await store.versions(key) == [1])
        #expect(storage.takeCalls() == 1)

        await other.fill(key, Sample.response(2))
        try await wait { await store.versions(key) == [2] }
        await other.removeResponses(of: nil)
        try await wait { await store.versions(key).isEmpty }
        await store.fill(key, Sample.response(3))
        _ = await store.versions(key)
        // A removal of its own counts before any hint.
        await store.removeResponses(at: key.uri)
        #expect(await store.versions(key).isEmpty)
    }
}
#endif
