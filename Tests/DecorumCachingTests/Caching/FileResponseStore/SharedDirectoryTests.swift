import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Two stores on one directory: each sees the removals of the other.
@Suite(.timeLimit(.minutes(3))) struct SharedDirectoryTests {
    let folder = StoreFolder()

    enum Removal: CaseIterable {
        case key, uri, principal, all

        func remove(_ key: ResponseKey, from store: FileResponseStore) async {
            switch self {
            case .key: await store.removeResponses(for: key)
            case .uri: await store.removeResponses(at: key.uri)
            case .principal: await store.removeResponses(of: key.principal)
            case .all: await store.removeAllResponses()
            }
        }
    }

    private func store(_ fileSystem: any FileSystem = SystemFileSystem()) -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 64 << 20, fileSystem: fileSystem)
    }

    @Test(arguments: Removal.allCases, [10, 200_000])
    func `A removal through one store withdraws the responses that are under way in another`(
        removal: Removal, length: Int
    ) async throws {
        let (first, second) = (store(), store())
        let (key, other) = (try SampleResponse.key(1, principal: "a"), try SampleResponse.key(2, principal: "b"))
        let writer = try #require(await second.writer(for: SampleResponse.response(1, body: .empty), key: key))
        #expect(await writer.write(Data(count: length)))
        let (ticket, otherTicket) = (second.ticket(for: key), second.ticket(for: other))

        await removal.remove(key, from: first)
        let later = second.ticket(for: key)

        await writer.finish()
        await second.store(SampleResponse.response(1), for: key, with: ticket)
        #expect(await second.responses(for: key).isEmpty)
        await second.store(SampleResponse.response(2), for: other, with: otherTicket)
        #expect(await second.responses(for: other).count == (removal == .all ? 0 : 1))
        await second.store(SampleResponse.response(1), for: key, with: later)
        #expect(await second.responses(for: key).count == 1)
    }

    @Test(arguments: Removal.allCases) func `A removal through one store removes what another keeps in memory`(
        removal: Removal
    ) async throws {
        let (first, second) = (store(), store())
        let secret: HTTPFields = [.authorization: "Bearer hunter2"]
        let key = try SampleResponse.key(1, principal: "a", fields: secret)
        let other = try SampleResponse.key(2, principal: "b", fields: secret)
        let underWay = second.ticket(for: key)
        for key in [key, other] { await second.store(SampleResponse.response(1), for: key) }
        #expect(await second.responses(for: key).count == 1)
        #expect(await second.responses(for: other).count == 1)

        await removal.remove(key, from: first)

        #expect(await second.responses(for: key).isEmpty)
        #expect(await second.responses(for: other).count == (removal == .all ? 0 : 1))
        await second.store(SampleResponse.response(1), for: key, with: underWay)
        #expect(await second.responses(for: key).isEmpty)
        await second.store(SampleResponse.response(1), for: key)
        #expect(await second.responses(for: key).count == 1)
    }

    @Test func `A response to an earlier request through one store does not replace that to a later one`() async throws
    {
        let (first, second) = (store(), store())
        let key = try SampleResponse.key(1)
        let (early, late) = (first.ticket(for: key), second.ticket(for: key))
        await second.store(SampleResponse.response(1, version: 2), for: key, with: late)
        await first.store(SampleResponse.response(1, version: 1), for: key, with: early)
        for store in [first, second] {
            #expect(await store.responses(for: key).first?.date == Date(timeIntervalSince1970: 1e9 + 2))
        }
    }

    @Test(arguments: [-3_600_000_000_000, 3_600_000_000_000, 25 * 3_600_000_000_000] as [Int64])
    func `A ticket is not used when the clock is set`(offset: Int64) async throws {
        let (fileSystem, spawner) = (ProbingFileSystem(), TrackingSpawner())
        let store = FileResponseStore(
            directory: folder.url, byteLimit: 64 << 20, spawner: spawner, fileSystem: fileSystem)
        let key = try SampleResponse.key(1)
        let ticket = store.ticket(for: key)
        fileSystem.setClock(by: offset)
        await store.store(SampleResponse.response(1), for: key, with: ticket)
        // A survey takes the file of a body that is being written for an old one then, since its time is of the disk.
        try await spawner.finished()
        #expect(await store.responses(for: key).isEmpty)
        await store.store(SampleResponse.response(1), for: key)
        #expect(await store.responses(for: key).count == 1)
        // Set back again, the stored response is one of the future, and a new one replaces it.
        fileSystem.setClock(by: 0)
        await store.store(SampleResponse.response(1, version: 1), for: key)
        #expect(await store.responses(for: key).first?.date == Date(timeIntervalSince1970: 1e9 + 1))
    }

    @Test(
        arguments: [
            (1, 0, true), (TicketTime.day - 1, 0, true), (TicketTime.day, 0, false), (0, 4_000_000, true),
            (0, -6_000_000, false),
        ] as [(Int64, Int64, Bool)]) func `Tickets are compared with removals for a day, unless the clock was set`(
            passed: Int64, set: Int64, isComparable: Bool
        )
    {
        let ticket = TicketTime(wall: 1_000_000_000, steady: 500)
        let now = TicketTime(wall: ticket.wall + passed + set, steady: ticket.steady + passed)
        #expect(ticket.isComparable(at: now) == isComparable)
    }

    /// The pauses are those after each reading of a clock, of a thread that loses its processor.
    @Test(
        arguments: [
            ([], 0), ([0, 20], 0), ([0, 0, 20], 0), ([20, 0, 0, 0, 20], 0),
            (Array(repeating: 20, count: 12) + [3] + Array(repeating: 20, count: 40), 3),
        ] as [([Int64], Int64)]) func `Clocks that are read with a pause in between are read again`(
            pauses: [Int64], difference: Int64
        )
    {
        var now: Int64 = 1000
        var left = pauses[...]
        func read() -> Int64 {
            defer { now += (left.popFirst() ?? 0) * 1_000_000 }
            return now
        }
        let time = TicketTime.read(wall: { read() }, steady: { read() })
        #expect(time.wall - time.steady == difference * 1_000_000)
    }

    /// A store that ends in the middle of a removal leaves no lock; a removal that was marked counts.
    @Test func `After each prefix of a removal, another store goes on`() async throws {
        var outcomes: Set<Bool> = []
        for count in 0..<24 {
            let folder = StoreFolder()
            let second = folder.store()
            let key = try SampleResponse.key(1)
            await second.store(SampleResponse.response(1), for: key)
            let ticket = second.ticket(for: key)
            let fileSystem = ProbingFileSystem()
            let first = FileResponseStore(directory: folder.url, byteLimit: 64 << 20, fileSystem: fileSystem)
            fileSystem.fail(after: count)
            await first.removeResponses(for: key)

            await second.store(SampleResponse.response(1, version: 1), for: key, with: ticket)
            let isMarked = fileSystem.changes.contains { change in
                if case .setTime(let path, _) = change {
                    path.contains("/removals/") && !path.hasSuffix("/all")
                } else {
                    false
                }
            }
            let found = await second.responses(for: key)
            if isMarked { #expect(!found.contains { $0.date == Date(timeIntervalSince1970: 1e9 + 1) }) }
            outcomes.insert(found.isEmpty)
            await second.store(SampleResponse.response(1, version: 2), for: key)
            #expect(await second.responses(for: key).first?.date == Date(timeIntervalSince1970: 1e9 + 2))
        }
        #expect(outcomes == [true, false])
    }

    @Test func `A removal whose time was cut to seconds covers the requests before it`() throws {
        let directory = ResponseDirectory(folder.url.path, fileSystem: SystemFileSystem())
        try directory.prepare()
        let marks = RemovalMarks(directory)
        let digest = ResponseKeyDigest(try SampleResponse.key(1))
        let removed: Int64 = 1_000_000_700_000_000
        try marks.add(.key(digest), at: removed / 1_000_000_000 * 1_000_000_000)
        #expect(try marks.lastRemoval(of: digest, mayWait: true) >= removed)
    }

    @Test func `Marks of removals are deleted after a day, or when there are too many`() async throws {
        let directory = ResponseDirectory(folder.url.path, fileSystem: SystemFileSystem())
        try directory.prepare()
        let (marks, system) = (RemovalMarks(directory), SystemFileSystem())
        func digest(_ number: Int) throws -> ResponseKeyDigest { ResponseKeyDigest(try SampleResponse.key(number)) }
        func names() throws -> Set<String> {
            Set(try FileManager.default.contentsOfDirectory(atPath: directory.removalsPath))
        }
        let now = system.time.wall
        try marks.add(.key(digest(1)), at: now - TicketTime.day - 1_000_000_000)
        try marks.add(.uri(digest(2)), at: now)
        #expect(try marks.lastRemoval(of: digest(2), mayWait: true) == now)
        #expect(try marks.lastChange(mayWait: true) >= now)
        try marks.sweep()
        #expect(try names().count == 2)
        #expect(try marks.lastRemoval(of: digest(1), mayWait: true) == 1)

        for number in 0..<4100 { try marks.add(.principal(digest: UInt64(number)), at: now) }
        try marks.sweep()
        #expect(try names() == ["all"])
        #expect(try marks.lastRemoval(of: digest(7), mayWait: true) >= now)
    }
}
