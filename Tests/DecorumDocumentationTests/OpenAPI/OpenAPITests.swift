import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Runs the transport of the page “Coming from middlewares of swift-openapi-runtime” on real sockets.
@Suite(.timeLimit(.minutes(3))) struct OpenAPITests {
    private func base(_ origin: LoopbackOrigin, _ path: String) throws -> URL {
        try #require(URL(string: origin.url + path))
    }

    private func text(_ body: HTTPBody?) async throws -> String {
        var bytes: [UInt8] = []
        for try await chunk in try #require(body) { bytes += chunk }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func chunks(_ texts: String...) -> AsyncStream<ArraySlice<UInt8>> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(ArraySlice(text.utf8)) }
            continuation.finish()
        }
    }

    @Test(arguments: [("/v1", "/v1/notes?a=b"), ("/v1/", "/v1/notes?a=b"), ("", "/notes?a=b"), ("/", "/notes?a=b")])
    func `The base URL keeps its path, and the fields are sent`(path: String, target: String) async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, target, .init(fields: ["ETag": "\"1\""], body: "[1]"))
        let transport = ConnectionTransport(connection: SystemConnection())
        let request = HTTPRequest(
            method: .get, scheme: nil, authority: nil, path: "/notes?a=b", headerFields: [.accept: "application/json"])
        let (head, body) = try await transport.send(
            request, body: nil, baseURL: base(origin, path), operationID: "listNotes")
        #expect(head.status == .ok && head.headerFields[.eTag] == "\"1\"")
        #expect(try await text(body) == "[1]")
        #expect(body?.length == .known(3))
        #expect(origin.requests.map(\.target) == [target])
        #expect(origin.requests.first?.fields[.accept] == "application/json")
    }

    @Test func `Every status is an answer, and the operation is the name of the route`() async throws {
        let stub = StubConnection(Response(status: .notFound, body: "gone"))
        let transport = ConnectionTransport(connection: stub.validatingStatus())
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/notes/7")
        let url = try #require(URL(string: "https://api.example.com/v1"))
        let (head, body) = try await transport.send(request, body: nil, baseURL: url, operationID: "getNote")
        #expect(head.status == .notFound)
        #expect(try await text(body) == "gone")
        #expect(stub.requests.map(\.options.routeName) == ["getNote"])
    }

    @Test(arguments: [HTTPBody.Length.known(10), .unknown])
    func `An upload is streamed, with its length where that is known`(length: HTTPBody.Length) async throws {
        let origin = try LoopbackOrigin()
        origin.route(.post, "/v1/files", .init(.created))
        let transport = ConnectionTransport(connection: SystemConnection())
        let request = HTTPRequest(
            method: .post, scheme: nil, authority: nil, path: "/files", headerFields: [.contentType: "text/csv"])
        let body = HTTPBody(chunks("first", "", "other"), length: length, iterationBehavior: .single)
        let (head, _) = try await transport.send(
            request, body: body, baseURL: base(origin, "/v1"), operationID: "upload")
        #expect(head.status == .created)
        let received = try #require(origin.requests.first)
        #expect(received.body == Data("firstother".utf8))
        #expect(received.fields[.contentType] == "text/csv")
        #expect(received.fields[.contentLength] == (length == .unknown ? nil : "10"))
        #expect(received.fields["Transfer-Encoding"] == (length == .unknown ? "chunked" : nil))
    }

    @Test func `A body that can be read again is sent again, and one that cannot is not`() async throws {
        struct Repeatable: AsyncSequence, Sendable {
            func makeAsyncIterator() -> AsyncStream<ArraySlice<UInt8>>.Iterator {
                AsyncStream { continuation in
                    continuation.yield(ArraySlice("again".utf8))
                    continuation.finish()
                }.makeAsyncIterator()
            }
        }
        for (behavior, statuses) in [(IterationBehavior.multiple, [200]), (.single, [503])] {
            let origin = try LoopbackOrigin()
            origin.enqueue(.init(.serviceUnavailable))
            origin.route(.put, "/file", .init(.ok))
            let policy = RetryPolicy(baseDelay: .zero, budget: .perCall(1))
            let transport = ConnectionTransport(connection: SystemConnection().retrying(policy))
            let request = HTTPRequest(method: .put, scheme: nil, authority: nil, path: "/file")
            let body = HTTPBody(Repeatable(), length: .known(5), iterationBehavior: behavior)
            let (head, _) = try await transport.send(request, body: body, baseURL: base(origin, ""), operationID: "put")
            #expect([head.status.code] == statuses)
            #expect(origin.requests.map(\.text) == Array(repeating: "again", count: behavior == .multiple ? 2 : 1))
        }
    }

    @Test func `A download that is dropped early ends its transfer`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/large", .generated(count: 1 << 30))
        let transport = ConnectionTransport(connection: SystemConnection())
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/large")
        let (_, body) = try await transport.send(request, body: nil, baseURL: base(origin, ""), operationID: "large")
        var count = 0
        for try await chunk in try #require(body) {
            count += chunk.count
            if count > 100_000 { break }
        }
        #expect(count < 10 << 20)
        try await origin.waitForOpenConnections(0)
    }

    @Test func `A download that nothing reads ends with its body`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/large", .generated(count: 1 << 30))
        let transport = ConnectionTransport(connection: SystemConnection())
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/large")
        let status = try await transport.send(
            request, body: nil, baseURL: base(origin, ""), operationID: "large"
        ).0.status
        #expect(status == .ok)
        try await origin.waitForOpenConnections(0)
    }

    @Test func `A cancelled call and a refused one throw the errors of the stack`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(.hanging)
        let transport = ConnectionTransport(connection: SystemConnection())
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        let url = try base(origin, "")
        let task = Task { try await transport.send(request, body: nil, baseURL: url, operationID: "wait").0.status }
        try await origin.waitForRequests(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }

        let refusing = try LoopbackOrigin.refusing()
        let refused = try base(refusing, "")
        await #expect(throws: TransportError.self) {
            try await transport.send(request, body: nil, baseURL: refused, operationID: "refused")
        }
    }

    @Test func `The error of an upload's own stream reaches the caller`() async throws {
        struct StreamError: Error {}
        let origin = try LoopbackOrigin()
        let transport = ConnectionTransport(connection: SystemConnection())
        let stream = AsyncThrowingStream<ArraySlice<UInt8>, any Error> { continuation in
            continuation.yield(ArraySlice("half".utf8))
            continuation.finish(throwing: StreamError())
        }
        let request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/")
        let body = HTTPBody(stream, length: .known(8), iterationBehavior: .single)
        let url = try base(origin, "")
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(request, body: body, baseURL: url, operationID: "half")
        }
        #expect(error?.code == .unreadableBody && error?.underlying is StreamError)
    }
}
