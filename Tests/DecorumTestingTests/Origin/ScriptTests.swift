import DecorumTesting
import Foundation
import HTTPTypes
import Testing

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
