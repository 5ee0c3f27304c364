import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct RequestBodyTests {
    @Test func `A client that waits for 100 Continue gets it before the body is read`() async throws {
        let origin = try LoopbackOrigin()
        let client = try RawClient(port: origin.port)
        origin.route(.put, "/", "stored")

        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n")
        #expect(try await client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        try await client.send("hi")

        #expect(try await client.receive(until: "stored").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(origin.requests.first?.text == "hi")
    }

    @Test func `An answer after the head sends no 100 Continue, and closes`() async throws {
        let origin = try LoopbackOrigin()
        let client = try RawClient(port: origin.port)
        origin.route(.put, "/", answering: .afterHead, .init(.contentTooLarge))

        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")

        #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 413 "))
        #expect(try await client.receiveAll() == "")
    }

    @Test func `An answer after the head leaves the connection for the next request`() async throws {
        let origin = try LoopbackOrigin()
        let client = try RawClient(port: origin.port)
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
        let origin = try LoopbackOrigin()
        let client = try RawClient(port: origin.port)
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
        let origin = try LoopbackOrigin()
        let client = try RawClient(port: origin.port)

        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        try await origin.waitForHeads(1)
        client.close()
        try await origin.waitForOpenConnections(0)

        #expect(origin.requests.map(\.isComplete) == [false])
        #expect(origin.requests.map(\.text) == ["abc"])
    }

    @Test func `A hundred mebibytes go up and down without being held`() async throws {
        let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
        let client = try RawClient(port: origin.port)
        let size: Int64 = 100 << 20
        origin.route(.put, "/", .generated(count: size))

        try await client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
        var sent: Int64 = 0
        while sent < size {
            let piece = BytePattern.bytes(Int(min(1 << 20, size - sent)), at: sent)
            try await client.send(piece)
            sent += Int64(piece.count)
        }
        _ = try await client.receive(until: "\r\n\r\n")
        var received: Int64 = 0
        var matches = true
        while received < size {
            let piece = try await client.receive()
            try #require(!piece.isEmpty)
            matches = matches && BytePattern.matches(piece, at: received)
            received += Int64(piece.count)
        }

        #expect(matches)
        #expect(received == size)
        #expect(origin.requests.map(\.bodyLength) == [size])
        #expect(origin.requests.map(\.isBodyPattern) == [true])
        #expect(origin.requests.map(\.body.count) == [0])
    }
}
