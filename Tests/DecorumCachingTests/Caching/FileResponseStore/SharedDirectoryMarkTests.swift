import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Marks of removals whose times are not in the order in which they were made, or that are forgotten.
@Suite(.timeLimit(.minutes(5))) struct SharedDirectoryMarkTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()
    static let year = 365 * TicketTime.day
    static let secret: HTTPFields = [.authorization: "Bearer hunter2"]

    private func store() -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 64 << 20, fileSystem: fileSystem)
    }

    private func marks() throws -> RemovalMarks {
        let directory = ResponseDirectory(folder.url.resolvingSymlinksInPath().path, fileSystem: fileSystem)
        try directory.prepare()
        return RemovalMarks(directory)
    }

    @Test func `A removal while the clock was a year ahead does not concern later responses`() async throws {
        let (store, other) = (store(), folder.store())
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

    @Test func `A mark of everything in the future is reset`() throws {
        let marks = try marks()
        try marks.add(.all, at: fileSystem.time.wall + Self.year)
        let path = folder.url.resolvingSymlinksInPath().path + "/removals/all"
        #expect(try fileSystem.status(of: path, mayWait: true).time > fileSystem.time.wall)
        try marks.sweep()
        #expect(try fileSystem.status(of: path, mayWait: true).time == 1)
    }

    @Test func `Responses in memory are not used after the clock was set and removals were marked`() async throws {
        let (store, other) = (store(), folder.store())
        let key = try SampleResponse.key(1, fields: Self.secret)
        fileSystem.setClock(by: Self.year)
        await store.store(SampleResponse.response(1), for: key)
        #expect(await store.responses(for: key).count == 1)
        fileSystem.setClock(by: 0)
        #expect(await store.responses(for: key).count == 1)
        await other.removeResponses(for: key)
        #expect(await store.responses(for: key).isEmpty)
    }

    @Test func `Each removal changes the time of the marks, also one that is marked late`() throws {
        let marks = try marks()
        let now = fileSystem.time.wall
        var last = try marks.lastChange(mayWait: true)
        for time in [now, now - 3_600_000_000_000, now, now + Self.year, now] {
            try marks.add(.key(ResponseKeyDigest(try SampleResponse.key(1))), at: time)
            let change = try marks.lastChange(mayWait: true)
            #expect(change > last)
            #expect(change >= now)
            last = change
        }
        fileSystem.setClock(by: -Self.year)
        try marks.add(.all, at: fileSystem.time.wall)
        #expect(try marks.lastChange(mayWait: true) > last)
    }

    @Test func `A removal counts for what is kept in memory, also when many keys were kept since`() async throws {
        let marks = try marks()
        let directory = ResponseDirectory(folder.url.resolvingSymlinksInPath().path, fileSystem: fileSystem)
        let (tickets, memory) = (StoreTickets(), MemoryResponseStore())
        let responses = MemoryOnlyResponses(memory, directory: directory, threads: DiskThreads())
        let key = try SampleResponse.key(1, fields: Self.secret)
        func keep(_ accept: String) {
            responses.note(key, tickets.ticket(for: key, at: fileSystem.time))
            memory.store(SampleResponse.response(1, vary: accept), for: key)
        }
        keep("a")
        #expect(await responses.responses(for: key).count == 1)
        try marks.add(.key(ResponseKeyDigest(key)), at: fileSystem.time.wall)
        for number in 2..<2100 {
            let other = try SampleResponse.key(number)
            responses.note(other, tickets.ticket(for: other, at: fileSystem.time))
        }
        keep("b")
        #expect(await !responses.responses(for: key).contains { $0.selectingFields[.accept] == "a" })
        keep("c")
        #expect(await responses.responses(for: key).map { $0.selectingFields[.accept] } == ["c"])
    }

    @Test func `Responses in memory are not used when the marks cannot be read`() async throws {
        let store = store()
        let key = try SampleResponse.key(1, fields: Self.secret)
        await store.store(SampleResponse.response(1), for: key)
        fileSystem.fail(after: 0)
        #expect(await store.responses(for: key).isEmpty)
    }
}
