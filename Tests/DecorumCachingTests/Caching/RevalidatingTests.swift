import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct RevalidatingTests {
    let store = MemoryResponseStore()

    static let page = Response(
        status: .ok,
        fields: [.eTag: #""1""#, .lastModified: "Sat, 29 Oct 1994 19:43:31 GMT", .contentType: "text/plain"],
        body: "page")
    static let notModified = Response(status: .notModified, fields: [.eTag: #""1""#, .age: "0"])

    private func get(_ fields: HTTPFields = [:]) throws -> Request {
        try .get("https://example.com/page", fields: fields)
    }

    @Test func `The first request is unconditional and the second carries both validators`() async throws {
        let stub = StubConnection(Self.page, Self.notModified)
        let connection = stub.revalidating(in: store)

        _ = try await connection.send(get())
        _ = try await connection.send(get())

        let sent = stub.requests.map(\.head.headerFields)
        #expect(sent[0].isEmpty)
        #expect(sent[1] == [.ifNoneMatch: #""1""#, .ifModifiedSince: "Sat, 29 Oct 1994 19:43:31 GMT"])
    }

    @Test func `A response with a date alone is validated by it, and then by the date of the 304`() async throws {
        let dates = ["Sat, 29 Oct 1994 19:43:31 GMT", "Sun, 30 Oct 1994 19:43:31 GMT"]
        let stub = StubConnection(
            Response(status: .ok, fields: [.date: dates[0]], body: "page"),
            Response(status: .notModified, fields: [.date: dates[1]]), Response(status: .notModified),
            Response(status: .notModified))
        let connection = stub.revalidating(in: store)

        for _ in 1...4 { #expect(try await connection.send(get()).body == "page") }

        // A 304 without a date leaves the one that is stored.
        #expect(
            stub.requests.map { $0.head.headerFields[.ifModifiedSince] } == [nil, dates[0], dates[1], dates[1]])
    }

    @Test func `A 304 is answered with the stored response and its own fields`() async throws {
        let connection = StubConnection(Self.page, Self.notModified).revalidating(in: store)

        _ = try await connection.send(get())
        let response = try await connection.send(get())

        #expect(response.status == .ok)
        #expect(response.head.headerFields[.age] == "0")
        #expect(response.head.headerFields[.contentType] == "text/plain")
        #expect(response.metadata.source == .revalidated)
        #expect(try await response.body.text(upTo: 100) == "page")
    }

    @Test func `A caller may get the 304 itself`() async throws {
        let connection = StubConnection(Self.page, Self.notModified).revalidating(in: store, answering: .notModified)

        _ = try await connection.send(get())
        let response = try await connection.send(get())

        #expect(response.status == .notModified)
        #expect(response.metadata.source == .stub)
        let stored = try #require(response.metadata.storedResponse)
        #expect(stored.head.status == .ok)
        #expect(stored.body == "page")
    }

    @Test func `A changed response replaces the stored one`() async throws {
        let changed = Response(status: .ok, fields: [.eTag: #""2""#], body: "new page")
        let stub = StubConnection(Self.page, changed, Response(status: .notModified))
        let connection = stub.revalidating(in: store)

        _ = try await connection.send(get())
        _ = try await connection.send(get())
        let response = try await connection.send(get())

        #expect(stub.requests[2].head.headerFields == [.ifNoneMatch: #""2""#])
        #expect(response.body == "new page")
        #expect(store.count == 1)
    }

    @Test(arguments: [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .ifRange, .range])
    func `A precondition of the caller passes through, and so does its 304`(name: HTTPField.Name) async throws {
        let stub = StubConnection(Self.page, Self.notModified)
        let connection = stub.revalidating(in: store)
        _ = try await connection.send(get())

        let own = try get([name: "x"])
        let response = try await connection.send(own)

        #expect(response.status == .notModified)
        #expect(stub.requests[1] == own)
    }

    static let unstorable = [
        Response(status: .ok),
        Response(status: .ok, fields: [.eTag: "\"1\"", .cacheControl: "private, no-store"]),
        Response(status: .ok, fields: [.eTag: "\"1\"", .vary: "*"]),
        Response(status: .ok, fields: [.eTag: "\"1\"", .vary: "accept, *"]),
        Response(status: .notFound, fields: [.eTag: "\"1\""]),
        Response(status: .partialContent, fields: [.eTag: "\"1\""]),
    ]

    @Test(arguments: unstorable) func `A response that must not be stored is not kept`(response: Response) async throws
    {
        _ = try await StubConnection(response).revalidating(in: store).send(get())
        #expect(store.count == 0)
    }

    @Test func `A word inside of a quoted directive does not forbid storing`() async throws {
        let response = Response(
            status: .ok, fields: [.eTag: "\"1\"", .cacheControl: #"ext="a, no-store", max-age=0"#], body: "x")
        _ = try await StubConnection(response).revalidating(in: store).send(get())
        #expect(store.count == 1)
    }

    @Test func `A request with no-store is neither stored nor answered from the store`() async throws {
        let stub = StubConnection(Self.page, Self.page)
        let connection = stub.revalidating(in: store)
        _ = try await connection.send(get([.cacheControl: "no-store"]))
        #expect(store.count == 0)
        _ = try await connection.send(get())
        #expect(store.count == 1)
    }

    @Test func `Each variant is kept and validated on its own`() async throws {
        let stub = StubConnection { request in
            let language = request.head.headerFields[.acceptLanguage] ?? "none"
            if request.head.headerFields[.ifNoneMatch] == "\"\(language)\"" { return Response(status: .notModified) }
            let fields: HTTPFields = [.eTag: "\"\(language)\"", .vary: "Accept-Language"]
            return Response(status: .ok, fields: fields, body: Body(language))
        }
        let connection = stub.revalidating(in: store)

        for language in ["de", "fr", "de", "fr"] {
            let response = try await connection.send(get([.acceptLanguage: language]))
            #expect(response.body == Body(language))
        }

        #expect(store.count == 2)
        #expect(stub.requests.map { $0.head.headerFields[.ifNoneMatch] } == [nil, nil, "\"de\"", "\"fr\""])
    }

    @Test func `Two principals and two credentials never see each other's responses`() async throws {
        let stub = StubConnection { request in
            #expect(request.head.headerFields[.ifNoneMatch] == nil)
            return Self.page
        }
        let connection = stub.revalidating(in: store)
        var requests = try [get(), get([.authorization: "Bearer a"]), get([.authorization: "Bearer b"])]
        let keyName = try #require(HTTPField.Name("X-API-Key"))
        for key in ["a", "b"] { requests.append(try get([keyName: key])) }
        for name in ["ann", "bob"] {
            var request = try get()
            request.options.principal = Principal(name)
            requests.append(request)
        }

        for request in requests { _ = try await connection.send(request) }

        #expect(store.count == requests.count)
        store.removeResponses(of: Principal("ann"))
        #expect(store.count == requests.count - 1)
    }

    @Test(arguments: ["\"1\"", "W/\"1\""])
    func `A response for another cookie is validated only by a strong tag`(tag: String) async throws {
        let page = Response(status: .ok, fields: [.eTag: tag, .lastModified: "Sat, 29 Oct 1994 19:43:31 GMT"])
        let stub = StubConnection(page, page)
        let connection = stub.revalidating(in: store)

        _ = try await connection.send(get([.cookie: "session=1"]))
        _ = try await connection.send(get([.cookie: "session=2"]))

        let sent = stub.requests[1].head.headerFields
        #expect(sent[.ifNoneMatch] == (tag.hasPrefix("W/") ? nil : tag))
        #expect(sent[.ifModifiedSince] == nil)
    }

    @Test func `Without a principal nothing is shared above a layer that adds credentials`() async throws {
        let stub = StubConnection { _ in Self.page }
        let connection = AddingCredentials(base: stub).revalidating(in: store)

        _ = try await connection.send(get())
        #expect(store.count == 0)

        var request = try get()
        request.options.principal = Principal("ann")
        _ = try await connection.send(request)
        #expect(store.count == 1)
    }

    @Test func `Fields and closures that add credentials count as layers that add them`() async throws {
        let stub = StubConnection { _ in Self.page }
        let connections: [any Connection] = [
            stub.overridingFields(with: [.authorization: "Bearer a"]).revalidating(in: store),
            stub.addingDefaultFields([.cookie: "session=1"]).revalidating(in: store),
            stub.intercepting("signing", facts: [.addsCredentials]) { request, base in try await base.send(request) }
                .revalidating(in: store),
        ]
        for connection in connections { _ = try await connection.send(get()) }
        #expect(store.count == 0)

        _ = try await stub.addingDefaultFields([.accept: "text/html"]).revalidating(in: store).send(get())
        #expect(store.count == 1)
    }

    @Test func `A stored cookie is not set again, but a cookie of the 304 is set`() async throws {
        let stub = StubConnection(
            Response(status: .ok, fields: [.eTag: "\"1\"", .setCookie: "old=1"], body: "page"),
            Response(status: .notModified),
            Response(status: .notModified, fields: [.setCookie: "new=2"]),
            Response(status: .notModified))
        let connection = stub.revalidating(in: store)

        var cookies: [String?] = []
        for _ in 1...4 { cookies.append(try await connection.send(get()).head.headerFields[.setCookie]) }

        #expect(cookies == ["old=1", nil, "new=2", nil])
    }

    @Test func `A streamed body is stored after it was read to its end`() async throws {
        let stub = StubConnection(Self.streamed(["a", "b"]), Response(status: .notModified))
        let connection = stub.revalidating(in: store)

        let first = try await connection.send(get())
        #expect(store.count == 0)
        #expect(try await first.body.text(upTo: 100) == "ab")
        #expect(store.count == 1)

        let second = try await connection.send(get())
        #expect(try await second.body.text(upTo: 100) == "ab")
    }

    @Test func `A body that is dropped or fails while it is read is not stored`() async throws {
        let failing = Response(
            head: HTTPResponse(status: .ok, headerFields: [.eTag: "\"1\""]),
            body: Body(
                chunks: AsyncThrowingStream<Data, any Error> { continuation in
                    continuation.yield(Data("a".utf8))
                    continuation.finish(throwing: TransportError(.truncated, at: .body))
                }))
        let connection = StubConnection(Self.streamed(["a", "b"]), failing).revalidating(in: store)

        do {
            var iterator = try await connection.send(get()).body.makeAsyncIterator()
            #expect(try await iterator.next() == Data("a".utf8))
        }
        let response = try await connection.send(get())
        await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }

        #expect(store.count == 0)
    }

    @Test func `A body above the store's limit passes through unstored`() async throws {
        let small = MemoryResponseStore(byteLimit: 4000)
        let content = String(repeating: "x", count: 2000)
        let connection = StubConnection(Self.streamed([content])).revalidating(in: small)

        let response = try await connection.send(get())

        #expect(try await response.body.text(upTo: 5000) == content)
        #expect(small.count == 0)
    }

    @Test func `After a 304 about another representation, the request is sent unconditionally`() async throws {
        let other = Response(status: .notModified, fields: [.eTag: #""other""#])
        let stub = StubConnection(Self.page, other, Self.page)
        let connection = stub.revalidating(in: store)

        _ = try await connection.send(get())
        let response = try await connection.send(get())

        #expect(response.status == .ok)
        #expect(response.metadata.attempts == 2)
        #expect(stub.requests[2].head.headerFields.isEmpty)
    }

    @Test func `A 304 does not change the fields that describe the stored content`() async throws {
        let validation = Response(
            status: .notModified,
            fields: [
                .eTag: "W/\"1\"", .contentLength: "0", .contentType: "text/html", .connection: "X-Hop", .xHop: "1",
                .cacheControl: "max-age=1",
            ])
        let connection = StubConnection(Self.page, validation).revalidating(in: store)

        _ = try await connection.send(get())
        let fields = try await connection.send(get()).head.headerFields

        #expect(fields[.contentType] == "text/plain")
        #expect(!fields.contains(.contentLength))
        #expect(!fields.contains(.xHop))
        #expect(fields[.cacheControl] == "max-age=1")
    }

    @Test func `A request with an unsafe method or a body passes through`() async throws {
        let stub = StubConnection(Self.page, Self.page)
        let connection = stub.revalidating(in: store)
        _ = try await connection.send(.post("https://example.com/page", body: "x"))
        _ = try await connection.send(Request(.get, "https://example.com/page", body: "x"))
        #expect(store.count == 0)
    }

    private static func streamed(_ chunks: [String]) -> Response {
        let stream = AsyncStream(Data.self) { continuation in
            for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
            continuation.finish()
        }
        return Response(status: .ok, fields: [.eTag: "\"1\""], body: Body(chunks: stream))
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let xHop = HTTPField.Name("X-Hop")!
}

private struct AddingCredentials<Base: Connection>: ComposedConnection {
    let base: Base
    var layer: Layer { Layer(name: "adding", role: .authentication, facts: [.addsCredentials]) }

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}
