#if AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The bodies of responses that are read slowly, in part or not at all.
@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientStreamingTests {
    let connection = AsyncHTTPClientConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
    }

    private func get() throws -> Request { try .get(origin.url + "/") }

    @Test func `The head comes before the body, and each chunk before the next`() async throws {
        let gate = Gate()
        origin.enqueue(
            .script(
                .head(.ok, ["Transfer-Encoding": "chunked"]), .wait(gate), .chunk("a"), .wait(gate), .chunk("b"),
                .wait(gate), .lastChunk()))

        let response = try await connection.send(get())
        #expect(response.body.length == nil)
        var reader = try await response.body.open()
        for letter in ["a", "b"] {
            gate.admit()
            #expect(try await reader.next() == Data(letter.utf8))
        }
        gate.admit()
        #expect(try await reader.next() == nil)
        #expect(try await reader.next() == nil)
        #expect(reader.trailers == nil)
    }

    @Test(arguments: [false, true])
    func `A large body arrives whole and in order`(isChunked: Bool) async throws {
        origin.enqueue(.generated(count: 32 << 20, chunked: isChunked))

        let response = try await connection.send(get())
        #expect(response.body.length == (isChunked ? nil : 32 << 20))
        var offset: Int64 = 0
        for try await chunk in response.body {
            #expect(BytePattern.matches(chunk, at: offset))
            offset += Int64(chunk.count)
        }
        #expect(offset == 32 << 20)
    }

    @Test(arguments: [HTTPRequest.Method.head, .get])
    func `An answer without content keeps its length and its connection`(method: HTTPRequest.Method) async throws {
        for _ in 0..<3 {
            origin.enqueue(.script(.head(method == .head ? .ok : .notModified, ["Content-Length": "9"])))
            let response = try await connection.send(Request(method, origin.url + "/"))
            #expect(response.head.headerFields[.contentLength] == "9")
            #expect(try await response.body.data(upTo: 10).isEmpty)
        }
        #expect(origin.connectionCount == 1)
    }

    @Test(arguments: 0..<20)
    func `Bytes that wait on an idle connection are never a response`(
        round: Int
    ) async throws {
        let (sends, rests) = (Gate(), Gate())
        origin.enqueue(
            .script(
                .head(.ok, ["Content-Length": "5"]), .raw("hello"), .wait(sends),
                .raw("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign"), .wait(rests)))
        origin.route(.post, "/", LoopbackOrigin.Answer(body: "own"))
        #expect(try await connection.send(get()).body.text(upTo: 10) == "hello")
        sends.open()
        // The client may close the connection before this test sees that the origin waits.
        try await rests.waitForArrivals(1)

        do {
            let response = try await connection.send(.post(origin.url + "/", body: "content"))
            #expect(try await response.body.text(upTo: 10) == "own")
        } catch let error as TransportError {
            #expect(error.code == .connectionLost)
        }
        rests.open()
    }

    @Test func `Requests one after the other share a connection`() async throws {
        origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
        for _ in 0..<50 {
            _ = try await connection.send(get()).body.drain(upTo: 10)
            _ = try await connection.send(.post(origin.url + "/", body: "hello")).body.drain(upTo: 10)
        }

        #expect(origin.connectionCount == 1)
    }

    @Test func `The limit of connections is kept, and a request that waits for one can be cancelled`() async throws {
        let gate = Gate()
        origin.route(.get, "/", LoopbackOrigin.Answer(body: "ok").after(.wait(gate)))
        let connection = AsyncHTTPClientConnection(connectionsPerHost: 2)
        let request = try get()
        let tasks = (0..<8).map { _ in Task { try await connection.send(request).body.text(upTo: 10) } }
        try await gate.waitForWaiting(2)
        let cancelled = Task { try await connection.send(request) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
        #expect(origin.connectionCount == 2)

        gate.open()
        for task in tasks { #expect(try await task.value == "ok") }
        #expect(origin.connectionCount == 2)
    }
}
#endif
