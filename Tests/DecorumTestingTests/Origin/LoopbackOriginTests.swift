import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

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

    @Test func `A client that waits for 100 Continue gets it before the body is read`() async throws {
        origin.route(.put, "/", "stored")
        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n")
        #expect(try await client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        try await client.send("hi")
        #expect(try await client.receive(until: "stored").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(origin.requests.first?.text == "hi")
    }

    @Test func `An answer after the head sends no 100 Continue, and closes`() async throws {
        origin.route(.put, "/", answering: .afterHead, .init(.contentTooLarge))
        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 413 "))
        #expect(try await client.receiveAll() == "")
    }

    @Test func `An answer after the head leaves the connection for the next request`() async throws {
        origin.enqueue(.init(.unauthorized), answering: .afterHead)
        origin.route(.get, "/next", "next")
        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab")
        #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 401 "))
        #expect(origin.requests.first?.isComplete == false)
        try await client.send("cdGET /next HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive(until: "next").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(origin.requests.map(\.text) == ["abcd", ""])
    }

    @Test func `A script reads as much of the body as it asks for`() async throws {
        origin.enqueue(
            .script(.receive(atLeast: 2), .head(.init(code: 102)), .receiveBody, .head(.ok, ["Content-Length": "0"])),
            answering: .afterHead)
        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab")
        #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 102 "))
        try await client.send("cd")
        #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
        #expect(origin.requests.first?.text == "abcd")
    }

    @Test func `A body is kept to a limit and counted beyond it`() async throws {
        let origin = try LoopbackOrigin(keepingBodiesUpTo: 10)
        let client = try RawClient(port: origin.port)
        let body = BytePattern.bytes(200_000)
        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n")
        try await client.send(body)
        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
        let requests = try await origin.waitForRequests(2)
        #expect(requests.map(\.body) == [body.prefix(10), Data("abc".utf8)])
        #expect(requests.map(\.rawBody) == requests.map(\.body))
        #expect(requests.map(\.bodyLength) == [200_000, 3])
        #expect(requests.map(\.isBodyPattern) == [true, false])
    }

    @Test func `A request whose client goes away stays incomplete`() async throws {
        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        try await origin.waitForHeads(1)
        client.close()
        try await origin.waitForOpenConnections(0)
        #expect(origin.requests.map(\.isComplete) == [false])
        #expect(origin.requests.map(\.text) == ["abc"])
    }

    @Test(arguments: [
        ("nonsense\r\n\r\n", 400), ("GET /\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: x\n\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: x\r\nA: \u{1}\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 400),
    ])
    func `Bytes that are not HTTP are refused, and the connection is closed`(bytes: String, status: Int) async throws {
        try await client.send(bytes)
        #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 \(status) "))
        #expect(origin.rejections.map(\.status.code) == [status])
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\nHost: x\r\nX: "], ["", "\r\n\r\n"])
    func `A head that is too long is refused`(start: String, end: String) async throws {
        try await client.send(start + String(repeating: "a", count: 300_000) + end)
        #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 431 "))
    }
}

@Suite(.timeLimit(.minutes(3))) struct ScriptTests {
    private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    let clock = VirtualClock()
    let origin: LoopbackOrigin
    let client: RawClient

    init() throws {
        origin = try LoopbackOrigin(clock: clock)
        client = try RawClient(port: origin.port)
    }

    @Test func `Raw bytes go out as they are`() async throws {
        origin.enqueue(.script(.raw("HTTP/9 what\n: \u{0}"), .raw(Data([0xFF])), .close))
        #expect(try await client.exchange(Self.request) == "HTTP/9 what\n: \u{0}\u{FFFD}")
    }

    @Test func `A pause waits on the clock before the head and between chunks`() async throws {
        origin.enqueue(
            .script(
                .pause(.seconds(60)), .head(.ok, ["Transfer-Encoding": "chunked"]), .chunk("a"), .pause(.seconds(5)),
                .lastChunk(trailers: ["T": "1"])))

        try await client.send(Self.request)
        try await clock.waitForSleepers()
        #expect(clock.pendingSleeps == [.seconds(60)])
        clock.advance(by: .seconds(60))
        #expect(
            try await client.receive(until: "a\r\n")
                == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(try await client.receive(until: "\r\n\r\n") == "0\r\nT: 1\r\n\r\n")
    }

    @Test func `A gate holds an answer until the test opens it`() async throws {
        let gate = Gate()
        origin.enqueue(
            .script(.wait(gate), .head(.ok, ["Content-Length": "2"]), .raw("a"), .wait(gate), .raw("b")))

        try await client.send(Self.request)
        try await gate.waitForWaiting(1)
        gate.admit()
        #expect(try await client.receive(until: "\r\n\r\na").hasPrefix("HTTP/1.1 200 OK\r\n"))
        try await gate.waitForWaiting(1)
        gate.open()
        #expect(try await client.receive(until: "b") == "b")

        // The connection serves the next request.
        origin.enqueue("again")
        try await client.send(Self.request)
        #expect(try await client.receive(until: "again").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(origin.connectionCount == 1)
    }

    @Test func `A trickle pauses between pieces`() async throws {
        origin.enqueue(.script(.trickle("abcde", by: 2, every: .seconds(1)), .close))
        try await client.send(Self.request)
        #expect(try await client.receive(until: "ab") == "ab")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(try await client.receive(until: "cd") == "cd")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(try await client.receiveAll() == "e")
    }

    @Test(arguments: [false, true])
    func `A reset reaches the client as an error`(afterHead: Bool) async throws {
        origin.enqueue(afterHead ? .script(.head(.ok), .reset) : .resetting)
        try await client.send(Self.request)
        let error = await #expect(throws: RawClient.Failure.self) {
            while try await !client.receive().isEmpty {}
        }
        #expect(error?.isReset == true)
        try await origin.waitForOpenConnections(0)
    }

    @Test func `A connection closes without a byte, with the request read or not`() async throws {
        origin.enqueue(.closing)
        #expect(try await client.exchange(Self.request) == "")
        origin.enqueue(.closing, answering: .afterHead)
        let upload = try RawClient(port: origin.port)
        #expect(try await upload.exchange("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc") == "")
    }

    @Test(arguments: [LoopbackOrigin.Answer.hanging, .script(.wait(Gate())), .script(.pause(.seconds(1)))])
    func `A client that gives up ends an answer that waits`(answer: LoopbackOrigin.Answer) async throws {
        origin.enqueue(answer)
        try await client.send(Self.request)
        try await origin.waitForRequests(1)
        #expect(origin.openConnectionCount == 1)
        client.close()
        try await origin.waitForOpenConnections(0)
        #expect(origin.connectionCount == 1)
    }

    @Test func `A client that gives up ends a body that it does not read`() async throws {
        origin.enqueue(.generated(count: 1 << 40))
        try await client.send(Self.request)
        _ = try await client.receive(until: "\r\n\r\n")
        client.close()
        try await origin.waitForOpenConnections(0)
        #expect(origin.connectionCount == 1)
    }

    @Test func `Generated content is chunked where asked`() async throws {
        origin.enqueue(.generated(count: 65_600, chunked: true))
        try await client.send(Self.request)
        #expect(try await client.receive(until: "\r\n\r\n").hasSuffix("Transfer-Encoding: chunked\r\n\r\n"))
        #expect(try await client.receive(until: "\r\n") == "fff1\r\n")
        #expect(try await client.receive(until: "\r\n0\r\n\r\n").contains("\r\n4f\r\n"))
    }

    @Test func `Open connections close on request`() async throws {
        let others = try (1...3).map { _ in try RawClient(port: origin.port) }
        try await origin.waitForConnections(4)
        origin.closeConnections()
        for client in others + [client] {
            #expect(try await client.receiveAll() == "")
        }
        #expect(origin.openConnectionCount == 0)
    }
}

extension IsolatedTests {
    @Suite(.timeLimit(.minutes(3))) struct OriginLifetimeTests {
        private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

        @Test(.enabled(if: sysconf(Int32(_SC_OPEN_MAX)) >= 4096, "The process may open too few descriptors."))
        func `A thousand exchanges run at the same time`() async throws {
            let origin = try LoopbackOrigin()
            let gate = Gate()
            origin.route(.get, "/", LoopbackOrigin.Answer("hello").after(.wait(gate)))

            let clients = try (0..<1000).map { _ in try RawClient(port: origin.port) }
            for client in clients { try await client.send(Self.request) }
            try await origin.waitForRequests(1000)
            try await gate.waitForWaiting(1000)
            #expect(origin.openConnectionCount == 1000)

            gate.open()
            for client in clients {
                #expect(try await client.receive(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
                client.close()
            }
            try await origin.waitForOpenConnections(0)
            #expect(origin.connectionCount == 1000)
        }

        @Test func `Stopping ends the exchanges that run, and stopping again does nothing`() async throws {
            let origin = try LoopbackOrigin()
            let gate = Gate()
            origin.enqueue(.hanging, .generated(count: 1 << 40), .script(.wait(gate)))
            let clients = try (0..<4).map { _ in try RawClient(port: origin.port) }
            for client in clients.dropLast() { try await client.send(Self.request) }
            try await origin.waitForRequests(3)
            try await origin.waitForConnections(4)
            try await gate.waitForWaiting(1)

            origin.stop()
            origin.stop()

            #expect(origin.openConnectionCount == 0)
            for client in clients { #expect(await client.reachesEnd()) }
            #expect(throws: RawClient.Failure.self) { try RawClient(port: origin.port) }
            await #expect(throws: OriginStoppedError.self) { try await origin.waitForRequests(100) }
            #expect(try await origin.waitForRequests(3).count == 3)
        }

        @Test func `Letting go of an origin stops it`() async throws {
            var origin: LoopbackOrigin? = try LoopbackOrigin()
            let port = try #require(origin?.port)
            let client = try RawClient(port: port)
            try await origin?.waitForConnections(1)
            origin = nil
            #expect(try await client.receiveAll() == "")
            #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
        }

        @Test func `A closure that holds its origin does not outlive the stop`() async throws {
            weak var weakOrigin: LoopbackOrigin?
            do {
                let origin = try LoopbackOrigin()
                origin.route(.get, "/") { _ in .init(body: origin.url) }
                weakOrigin = origin
                origin.stop()
            }
            #expect(weakOrigin == nil)
        }

        @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd")))
        func `Origins that were stopped leave no descriptor and no thread`() async throws {
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count

            for _ in 0..<300 {
                let origin = try LoopbackOrigin()
                let client = try RawClient(port: origin.port)
                origin.enqueue(.hanging)
                try await client.send(Self.request)
                try await origin.waitForRequests(1)
                origin.stop()
            }

            // Tests that run beside this one use descriptors and threads too, but not hundreds.
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count < descriptors + 200)
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count < threads + 200)
        }

        @Test func `An origin refuses connections on request`() throws {
            let origin = try LoopbackOrigin.refusing()
            let error = #expect(throws: RawClient.Failure.self) { try RawClient(port: origin.port) }
            #expect(error?.isRefused == true)
            origin.stop()
        }

        @Test func `Waits end when their task is cancelled`() async throws {
            let origin = try LoopbackOrigin()
            let waits: [@Sendable () async throws -> Void] = [
                { try await origin.waitForRequests(1) }, { try await origin.waitForHeads(1) },
                { try await origin.waitForConnections(1) }, { try await origin.waitForOpenConnections(1) },
            ]
            for wait in waits {
                let task = Task { try await wait() }
                await Task.yield()
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }
}

@Suite struct RequestParserTests {
    private static let messages =
        "\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        + "PUT /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\nA;x=y\r\n0123456789\r\n0\r\nT: 1\r\n\r\n"
        + "GET /c HTTP/1.0\r\n\r\n"

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `Messages are the same in whatever pieces they come`(size: Int) throws {
        var parser = RequestParser(headLimit: 1000)
        var targets: [String] = []
        var content = ""
        var trailers: [RawFields] = []
        let bytes = Array(Self.messages.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            parser.feed(Array(bytes[start..<min(start + size, bytes.count)]))
            while let event = try parser.next() {
                switch event {
                case .head(let head): targets.append(head.target)
                case .body(let piece): content += String(decoding: piece, as: UTF8.self)
                case .end(let fields): trailers.append(fields)
                }
            }
        }

        #expect(targets == ["/a", "/b", "/c"])
        #expect(content == "hello0123456789")
        #expect(trailers == [[:], ["T": "1"], [:]])
        #expect(!parser.hasUnreadBytes)
    }

    @Test func `Random bytes always end in an event, an error or a wait`() {
        let generator = SeededGenerator(seed: 3)
        let alphabet = Array("GET / HTTP/1.1\r\n: 0aF;chunkedTransfer-EncodingContent-LengthHost\n\r\n\r".utf8)
        var errors = 0
        for _ in 0..<500 {
            var parser = RequestParser(headLimit: 64)
            parser.feed((0..<200).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
            do {
                while try parser.next() != nil {}
            } catch {
                errors += 1
            }
        }
        #expect(errors > 400)
    }

    @Test(
        arguments: [
            ("0", 0), ("fF;ext=1", 255), (" a\t", 10), ("fffffffffffffff", 0xFFF_FFFF_FFFF_FFFF), ("", nil), (";", nil),
            ("-1", nil), ("+1", nil), ("0x1", nil), ("1 2", nil), ("g", nil), ("1000000000000000", nil),
            ("\u{661}", nil),
        ] as [(String, Int64?)])
    func `Chunk sizes are hexadecimal`(line: String, size: Int64?) {
        #expect((try? RequestSyntax.chunkSize(line)) == size)
    }

    @Test func `Values keep what is not ASCII`() throws {
        #expect(try RequestSyntax.fields(["A: \u{301}é \u{301} "]) == ["A": "\u{301}é \u{301}"])
        #expect(try RequestSyntax.fields(["A:\u{301}", "B:"]) == ["A": "\u{301}", "B": ""])
    }

    @Test func `Trailers have a limit`() {
        var parser = RequestParser(headLimit: 100)
        parser.feed(Array("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n".utf8))
        parser.feed(Array(String(repeating: "A: b\r\n", count: 100).utf8))
        #expect(throws: RequestSyntaxError.headTooLarge) { while try parser.next() != nil {} }
    }
}

@Suite struct RawFieldsTests {
    private let fields: RawFields = ["A": "1", "b": "2", "a": "3"]

    @Test func `Values are found in any letter case and in order`() {
        #expect(fields.values(of: "a") == ["1", "3"])
        #expect(fields["A"] == "1, 3")
        #expect(fields["c"] == nil)
    }

    @Test func `Order, number and spelling count`() {
        #expect(fields != ["a": "1", "b": "2", "a": "3"])
        #expect(fields != ["b": "2", "A": "1", "a": "3"])
        #expect(fields.lines.map(\.name) == ["A", "b", "a"])
    }
}

@Suite struct BytePatternTests {
    @Test(arguments: [(0, 0), (1, 5), (65521, 0), (200_000, 65520), (10, Int64(1) << 40)])
    func `Bytes follow from their offset`(count: Int, offset: Int64) {
        let bytes = BytePattern.bytes(count, at: offset)
        #expect(bytes.count == count)
        #expect(BytePattern.matches(bytes, at: offset))
        #expect(BytePattern.matches(bytes.dropFirst(count / 2), at: offset + Int64(count / 2)))
        #expect(count < 8 || !BytePattern.matches(bytes, at: offset + 1))
    }

    @Test func `A changed byte is noticed`() {
        var bytes = BytePattern.bytes(100_000)
        bytes[99_999] ^= 1
        #expect(!BytePattern.matches(bytes))
    }
}
