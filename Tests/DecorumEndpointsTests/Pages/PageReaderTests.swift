import DecorumDemo
import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// Readers of pages that are slow, leave early or are cancelled.
@Suite(.timeLimit(.minutes(3))) struct PageReaderTests {
    private let notes = Endpoint<[DemoNote]>.get("notes", query: ["per_page": 1])

    @Test func `A page is requested when the reader asks for it, and not before`() async throws {
        let demo = try DemoAPI(noteCount: 4)
        let connection = try SystemConnection().calling(at: demo.url)
        var pages = connection.pages(of: notes).makeAsyncIterator()
        #expect(demo.origin.requests.isEmpty)
        for number in 1...4 {
            #expect(try await pages.next()?.map(\.id) == [number])
            #expect(demo.origin.requests.count == number)
        }
        #expect(try await pages.next() == nil)
        #expect(demo.origin.requests.count == 4)
        demo.stop()
    }

    @Test func `Two readers of one list are two walks`() async throws {
        let demo = try DemoAPI(noteCount: 3)
        let connection = try SystemConnection().calling(at: demo.url)
        let elements = connection.elements(of: notes)
        let first = try await elements.reduce(into: []) { $0.append($1.id) }
        let second = try await elements.reduce(into: []) { $0.append($1.id) }
        #expect(first == [1, 2, 3] && second == first)
        #expect(demo.origin.requests.count == 6)
        demo.stop()
    }

    @Test func `A cancelled reader ends the request of its page, and the list`() async throws {
        let demo = try DemoAPI(noteCount: 3)
        let connection = try SystemConnection().calling(at: demo.url)
        let (ids, seen) = AsyncStream.makeStream(of: Int.self)
        demo.origin.route(.get, "/v1/notes?page=2&per_page=1", .hanging)
        let task = Task { [notes] in
            var pages = connection.pages(of: notes).makeAsyncIterator()
            if let note = try await pages.next()?.first { seen.yield(note.id) }
            await #expect(throws: CancellationError.self) { _ = try await pages.next() }
            return try await pages.next()
        }
        var iterator = ids.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        try await demo.origin.waitForRequests(2)
        task.cancel()
        #expect(try await task.value == nil)
        #expect(demo.origin.requests.count == 2)
        demo.stop()
    }

    @Test func `A cancelled reader of a page that is still arriving lets go of its transfer`() async throws {
        let transfer = GatedTransfer()
        let task = Task { [transfer] in
            let body = transfer.body(chunks: 3)
            let stub = StubConnection(answers: [{ _ in Response(status: .ok, body: body) }])
            let list = Endpoint<[Int]>.get("https://api.example.com/list")
            for try await _ in stub.pages(of: list) { Issue.record("The page never arrives.") }
        }
        transfer.gate.admit(1)
        try await transfer.gate.waitForWaiting(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transfer.chunksRead == 1 && !transfer.isAlive)
    }
}
