import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct LoopbackOriginTests {
    let origin: LoopbackOrigin
    let client: RawClient

    init() throws {
        origin = try LoopbackOrigin()
        client = try RawClient(port: origin.port)
    }

    @Test func `A queued answer goes before a route, and a route before 404`() async throws {
        origin.route(.get, "/a", "route")
        origin.enqueue(.init(.accepted, body: "queue"))
        #expect(origin.queuedAnswerCount == 1)

        for (target, status) in [("/a", "202 Accepted"), ("/a", "200 OK"), ("/b", "404 Not Found")] {
            try await client.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 \(status)\r\n"))
            _ = try await client.receive()
        }

        #expect(origin.requests.map(\.target) == ["/a", "/a", "/b"])
        #expect(origin.requests.allSatisfy { $0.isComplete && $0.connection == 1 })
        #expect(origin.connectionCount == 1)
        #expect(origin.queuedAnswerCount == 0)
    }

    @Test(arguments: [
        ("GET", "/items", "all"), ("POST", "/items", "posted"), ("GET", "/items?page=2", "second"),
        ("GET", "/items?page=3", "all"), ("PUT", "/files/a/b", "put any"), ("GET", "http://other/items", "all"),
    ])
    func `The route that was added last and matches wins`(method: String, target: String, body: String) async throws {
        origin.route(nil, "/files/*", "any")
        origin.route(.put, "/files/*", "put any")
        origin.route(.get, "/items", "overridden")
        origin.route(.get, "/items", "all")
        origin.route(.post, "/items", "posted")
        origin.route(.get, "/items?page=2", "second")

        let answer = try await client.exchange(
            "\(method) \(target) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        #expect(answer.hasSuffix("\r\n\r\n" + body))
    }

    @Test func `A closure gets the whole request, and what it throws makes a 500`() async throws {
        origin.route(.post, "/echo") { request in
            guard request.text != "bad" else { throw RawClient.Failure(code: 1) }
            return .init(.created, body: "\(request.query ?? "-") \(request.text) \(request.fields["X-A"] ?? "-")")
        }

        try await client.send("POST /echo?q=1 HTTP/1.1\r\nHost: x\r\nx-a: 1\r\nContent-Length: 4\r\n\r\nbody")
        #expect(try await client.receive(until: "q=1 body 1").hasPrefix("HTTP/1.1 201 Created\r\n"))
        let failure = try await client.exchange(
            "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbad")
        #expect(failure.hasPrefix("HTTP/1.1 500 "))
    }

    @Test func `Every byte of a request is kept, with the order and spelling of its fields`() async throws {
        let head = "POST /a HTTP/1.1\r\nhOST: x\r\nX-B:  2 \r\nx-b:3\r\nTransfer-Encoding: chunked\r\n\r\n"
        let body = "5;a=b\r\nhello\r\n01\r\n!\r\n0\r\nDigest: d\r\n\r\n"
        try await client.send(head + body)
        let request = try #require(try await origin.waitForRequests(1).first)

        #expect(String(decoding: request.rawHead, as: UTF8.self) == head)
        #expect(String(decoding: request.rawBody, as: UTF8.self) == body)
        #expect(request.text == "hello!")
        #expect(request.bodyLength == 6)
        #expect(request.trailers == ["Digest": "d"])
        #expect(request.fields == ["hOST": "x", "X-B": "2", "x-b": "3", "Transfer-Encoding": "chunked"])
        #expect(request.fields["X-b"] == "2, 3")
        #expect(request.head.headerFields[values: .init("X-B")!] == ["2", "3"])
        #expect(request.head.authority == "x")
        #expect(request.method == .post)
    }

    @Test func `Fields go out in their order, repeated and as they are spelled`() async throws {
        origin.enqueue(.init(fields: ["sEt-cookie": "a", "X": "y", "Set-Cookie": "b"], body: "hi"))

        let answer = try await client.exchange("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        #expect(
            answer == "HTTP/1.1 200 OK\r\nsEt-cookie: a\r\nX: y\r\nSet-Cookie: b\r\n"
                + "Content-Length: 2\r\nConnection: close\r\n\r\nhi")
    }

    @Test func `Chunks go out one by one, with trailers`() async throws {
        origin.enqueue(.chunked(chunks: ["hello", "", "you"], trailers: ["A": "1", "a": "2"]))

        let answer = try await client.exchange("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        #expect(
            answer.hasSuffix(
                "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n0\r\nA: 1\r\na: 2\r\n\r\n"
            ))
    }

    @Test func `A body until the close ends the connection`() async throws {
        origin.enqueue(.untilClose(body: "hello"))

        let answer = try await client.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n")

        #expect(answer == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
    }

    @Test func `Informational responses go before the final one`() async throws {
        origin.enqueue(
            LoopbackOrigin.Answer("done").after(.head(.earlyHints, ["Link": "</a>"]), .head(.init(code: 102))))

        try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")

        #expect(
            try await client.receive(until: "done") == "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 102 \r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
    }

    @Test func `Pipelined requests are answered in order`() async throws {
        origin.route(.get, "/*") { .init(body: $0.path) }

        try await client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
        let answers = try await client.exchange("GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        let order = try ["/1", "/2", "/3"].map { try #require(answers.range(of: "\r\n\r\n\($0)")).lowerBound }
        #expect(order == order.sorted())
        #expect(origin.connectionCount == 1)
    }

    @Test func `A client that closes its side after the request still gets the answer`() async throws {
        origin.route(.get, "/", "hello")
        try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        client.closeWriting()
        #expect(try await client.receiveAll().hasSuffix("\r\n\r\nhello"))
        try await origin.waitForOpenConnections(0)
    }

    @Test(arguments: [
        ("HEAD", HTTPResponse.Status.ok, "200 OK\r\nContent-Length: 5"), ("GET", .noContent, "204 No Content"),
        ("GET", .notModified, "304 Not Modified"),
    ])
    func `Some responses have no content`(method: String, status: HTTPResponse.Status, head: String) async throws {
        origin.route(.get, "/", .init(status, body: "hello"))

        let answer = try await client.exchange("\(method) / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        #expect(answer == "HTTP/1.1 \(head)\r\nConnection: close\r\n\r\n")
    }

    @Test func `HTTP 1.0 clients get no chunks, and keep the connection only when they ask`() async throws {
        origin.enqueue(.init(body: "one"), .chunked(chunks: ["t", "wo"]))

        try await client.send("GET /1 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
        #expect(try await client.receive(until: "one").contains("\r\nConnection: keep-alive\r\n"))
        let answer = try await client.exchange("GET /2 HTTP/1.0\r\n\r\n")

        #expect(answer == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ntwo")
    }

    @Test func `Forgotten requests no longer count`() async throws {
        try await client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n")
        try await origin.waitForRequests(1)
        origin.forgetRequests()
        #expect(origin.requests.isEmpty)

        try await client.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await origin.waitForRequests(1).map(\.target) == ["/2"])
    }
}
