import DecorumDemo
import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite struct PagesTests {
    private struct Feed: Decodable, Sendable {
        let items: [DemoNote]
        let next: String?
    }

    @Test func `Links lead through all pages, and each is requested once`() async throws {
        let demo = try DemoAPI(noteCount: 5)
        let connection = try SystemConnection().calling(at: demo.url)
        var ids: [Int] = []
        for try await note in connection.elements(of: Endpoint<[DemoNote]>.get("notes", query: ["per_page": 2])) {
            ids.append(note.id)
        }
        #expect(ids == [1, 2, 3, 4, 5])
        #expect(
            demo.origin.requests.map(\.target) == [
                "/v1/notes?per_page=2", "/v1/notes?page=2&per_page=2", "/v1/notes?page=3&per_page=2",
            ])
        demo.stop()
    }

    @Test func `Cursors, numbers and offsets lead through all pages`() async throws {
        let demo = try DemoAPI(noteCount: 5)
        let connection = try SystemConnection().calling(at: demo.url)
        let feed = Endpoint<Feed>.get("feed", query: ["limit": 2])
        let byCursor = connection.elements(of: feed, in: \.items, by: .cursor("after", \.next))
        #expect(try await byCursor.reduce(into: []) { $0.append($1.id) } == [1, 2, 3, 4, 5])
        let byOffset = connection.elements(of: feed, in: \.items, by: .offset("after") { $0.items.count })
        #expect(try await byOffset.reduce(into: []) { $0.append($1.id) } == [1, 2, 3, 4, 5])
        let first = connection.elements(of: feed, in: \.items, by: .cursor("after", \.next), upTo: 1)
        await #expect(throws: PageError.self) { for try await _ in first {} }
        let notes = Endpoint<[DemoNote]>.get("notes", query: ["per_page": 2])
        let byNumber = connection.elements(of: notes, by: .number("page") { $0.count })
        #expect(try await byNumber.reduce(into: []) { $0.append($1.id) } == [1, 2, 3, 4, 5])
        #expect(demo.origin.requests.map(\.target).contains("/v1/notes?per_page=2&page=4"))
        demo.stop()
    }

    @Test func `Responses of pages have their heads and requests`() async throws {
        let demo = try DemoAPI(noteCount: 3)
        let connection = try SystemConnection().calling(at: demo.url)
        var links: [Bool] = []
        for try await page in connection.pages(of: Endpoint<[DemoNote]>.get("notes")).responses {
            links.append(Response(head: page.head, metadata: page.metadata).link("next") != nil)
        }
        #expect(links == [true, false])
        demo.stop()
    }

    /// A server whose pages are lists of one number, and which names the next page with a text.
    private func stub(_ next: @escaping @Sendable (Int) -> String?) -> StubConnection {
        StubConnection { request in
            let number = Int(request.head.path?.split(separator: "=").last ?? "") ?? 0
            var response = Response(status: .ok, body: Body(Data("[\(number)]".utf8)))
            if let name = HTTPField.Name("Link") {
                response.head.headerFields[name] = next(number).map { "<\($0)>; rel=next" }
            }
            response.metadata.url = request.url
            return response
        }
    }

    private let list = Endpoint<[Int]>.get("https://api.example.com/list", query: ["page": 0])

    private func read(
        _ stub: StubConnection, upTo limit: Int = 1000, allowing allowed: Set<Origin> = []
    ) async throws -> (numbers: [Int], error: PageError?) {
        var numbers: [Int] = []
        do {
            for try await number in stub.elements(of: list, upTo: limit, allowing: allowed) { numbers.append(number) }
        } catch let error as PageError {
            return (numbers, error)
        }
        return (numbers, nil)
    }

    @Test func `A page that links itself, and a longer circle, are errors`() async throws {
        let own = try await read(stub { _ in "?page=0" })
        #expect(own.numbers == [0] && own.error?.reason == .loop)
        let circle = try await read(stub { "?page=\(($0 + 1) % 3)" })
        #expect(circle.numbers == [0, 1, 2] && circle.error?.reason == .loop)
        #expect(circle.error?.pageCount == 3)
    }

    @Test(arguments: [
        "https://evil.example.net/list?page=1", "//evil.example.net/list?page=1", "http://api.example.com/list?page=1",
        "https://api.example.com:8443/list?page=1",
    ])
    func `A page of another origin is refused before anything is sent`(next: String) async throws {
        let stub = stub { $0 == 0 ? next : nil }
        let read = try await read(stub)
        #expect(read.numbers == [0] && read.error?.reason == .origin)
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: [false, true])
    func `A redirection of the first page does not make its target the origin of the list`(isAllowed: Bool) async throws
    {
        let (asked, answered) = ("https://api.example.com/list?page=0", "https://pages.example.net/list?page=0")
        let (from, to) = (try #require(URL(string: asked)), try #require(URL(string: answered)))
        let pages = stub { $0 == 0 ? "?page=1" : nil }
        let stub = StubConnection { request in
            var response = try await pages.send(request)
            guard request.url == from else { return response }
            response.metadata.redirects = [Redirection(status: .found, method: .get, from: from, to: to)]
            response.metadata.url = to
            return response
        }
        let read = try await read(stub, allowing: isAllowed ? [Origin("https://pages.example.net")] : [])
        #expect(read.numbers == (isAllowed ? [0, 1] : [0]))
        #expect(read.error?.reason == (isAllowed ? nil : .origin))
        #expect(stub.requests.count == (isAllowed ? 2 : 1))
    }

    @Test func `A list that was asked for without TLS goes on over TLS at the same host, and not the other way`()
        async throws
    {
        for (first, next, isRead) in [
            ("http://api.example.com/list", "https://api.example.com/list?page=1", true),
            ("https://api.example.com/list", "http://api.example.com/list?page=1", false),
            ("http://api.example.com/list", "https://api.example.net/list?page=1", false),
            ("http://api.example.com:8080/list", "https://api.example.com/list?page=1", false),
        ] {
            let link = try #require(HTTPField.Name("Link"))
            let stub = StubConnection(
                Response(status: .ok, fields: [link: "<\(next)>; rel=next"], body: "[0]"),
                Response(status: .ok, body: "[1]"))
            var numbers: [Int] = []
            do {
                for try await number in stub.elements(of: Endpoint<[Int]>.get(PathTemplate(first))) {
                    numbers.append(number)
                }
            } catch let error as PageError {
                #expect(error.reason == .origin)
            }
            #expect(numbers == (isRead ? [0, 1] : [0]))
        }
    }

    @Test func `More pages than the limit are an error, and a list of as many is none`() async throws {
        let endless = try await read(stub { "?page=\($0 + 1)" }, upTo: 5)
        #expect(endless.numbers == [0, 1, 2, 3, 4] && endless.error?.reason == .limit)
        let exact = try await read(stub { $0 < 4 ? "?page=\($0 + 1)" : nil }, upTo: 5)
        #expect(exact.numbers == [0, 1, 2, 3, 4] && exact.error == nil)
    }

    @Test func `A list ends after an error`() async throws {
        let stub = StubConnection { _ in throw TransportError(.connectionLost, at: .head) }
        var pages = stub.pages(of: list).makeAsyncIterator()
        await #expect(throws: TransportError.self) { _ = try await pages.next() }
        #expect(try await pages.next() == nil)
        #expect(stub.requests.count == 1)
    }

    @Test func `Each page has the fields of the first request`() async throws {
        var endpoint = list
        endpoint.fields[.acceptLanguage] = "de"
        let stub = stub { $0 == 0 ? "?page=1" : nil }
        for try await _ in stub.pages(of: endpoint) {}
        #expect(stub.requests.map { $0.head.headerFields[.acceptLanguage] } == ["de", "de"])
        #expect(
            stub.requests.map { $0.options.routeName } == Array(repeating: "https://api.example.com/list", count: 2))
    }
}

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
