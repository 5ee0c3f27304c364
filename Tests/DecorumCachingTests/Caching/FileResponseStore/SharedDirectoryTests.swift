import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Two stores on one directory: each sees the removals of the other.
@Suite(.timeLimit(.minutes(3))) struct SharedDirectoryTests {
    let folder = StoreFolder()

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
                if case .write(let path, let offset, _) = change {
                    path.hasSuffix("/removed") && offset > 0
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

    static let year = 365 * TicketTime.day
    static let secret: HTTPFields = [.authorization: "Bearer hunter2"]

    @Test func `A removal while the clock was a year ahead does not concern later responses`() async throws {
        let fileSystem = ProbingFileSystem()
        let (store, other) = (store(fileSystem), folder.store())
        let (key, secretKey) = (try SampleResponse.key(1), try SampleResponse.key(1, fields: Self.secret))
        fileSystem.setClock(by: Self.year)
        await store.removeAllResponses()
        await store.removeResponses(for: key)
        fileSystem.setClock(by: 0)
        for store in [store, other] {
            await store.store(SampleResponse.response(1), for: key)
            await store.store(SampleResponse.response(1), for: secretKey)
            #expect(await store.responses(for: key).count == 1)
            #expect(await store.responses(for: secretKey).count == 1)
            await store.removeAllResponses()
            #expect(await store.responses(for: key).isEmpty)
        }
    }

    @Test func `Responses in memory are not used after the clock was set, or when removals cannot be read`()
        async throws
    {
        let fileSystem = ProbingFileSystem()
        let store = store(fileSystem)
        let key = try SampleResponse.key(1, fields: Self.secret)
        fileSystem.setClock(by: Self.year)
        await store.store(SampleResponse.response(1), for: key)
        #expect(await store.responses(for: key).count == 1)
        fileSystem.setClock(by: 0)
        #expect(await store.responses(for: key).isEmpty)
        await store.store(SampleResponse.response(1), for: key)
        #expect(await store.responses(for: key).count == 1)
        fileSystem.fail(after: 0)
        #expect(await store.responses(for: key).isEmpty)
    }

    @Test func `The time of the last removal is known for all that it covers`() throws {
        let fileSystem = ProbingFileSystem()
        let directory = ResponseDirectory(folder.url.resolvingSymlinksInPath().path, fileSystem: fileSystem)
        func last(_ number: Int, _ principal: String) throws -> Int64 {
            let digest = ResponseKeyDigest(try SampleResponse.key(number, principal: principal))
            return try directory.lastRemoval(of: digest, mayWait: true)
        }
        #expect(try last(1, "a") == 0)
        try directory.prepare()
        let key = try SampleResponse.key(1, principal: "a")
        let digest = ResponseKeyDigest(key)
        try directory.note(.key(digest), at: 10)
        #expect(try [last(1, "a"), last(1, "b"), last(2, "a")] == [10, 0, 0])
        try directory.note(.uri(digest.uri), at: 20)
        #expect(try [last(1, "a"), last(1, "b"), last(2, "a")] == [20, 20, 0])
        try directory.note(.principal(digest.principal), at: 30)
        // An earlier time does not replace a later one, and one in the future counts for nothing.
        try directory.note(.principal(digest.principal), at: 5)
        try directory.note(.uri(digest.uri), at: fileSystem.time.wall + Self.year)
        #expect(try [last(1, "a"), last(1, "b"), last(2, "a"), last(2, "b")] == [30, 0, 30, 0])
        try directory.note(.uri(digest.uri), at: 40)
        try directory.note(.all, at: 35)
        #expect(try [last(1, "b"), last(2, "b")] == [40, 35])
    }

    @Test func `On a full disk, there is room for the time of a removal of everything`() throws {
        let fileSystem = ProbingFileSystem()
        let directory = ResponseDirectory(folder.url.resolvingSymlinksInPath().path, fileSystem: fileSystem)
        try directory.prepare()
        fileSystem.limit(to: 4096)
        try directory.note(.principal(1), at: 50)
        #expect(try directory.lastRemoval(of: ResponseKeyDigest(uri: 1, key: 2, principal: 3), mayWait: true) == 50)
    }
}
