import Decorum
import DecorumTesting
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct ClosingTests {
    let connection = URLSessionConnection()
    let origin: LoopbackOrigin
    let gate = Gate()

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(.get, "/", .init(body: "ok"))
        origin.route(.get, "/slow", .script(.head(.ok, ["Content-Length": "2"]), .raw("o"), .wait(gate), .raw("k")))
    }

    /// Sends requests until one is refused.
    private func refusal() async throws -> TransportError {
        while true {
            do {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            } catch let error as TransportError {
                return error
            }
        }
    }

    @Test func `What is under way ends, new requests are refused, and the connections close`() async throws {
        let slow = try await connection.send(.get(origin.url + "/slow"))
        let hasClosed = Gate()
        let closing = Task { [connection] in
            await connection.close()
            hasClosed.open()
        }
        let error = try await refusal()
        #expect(error.code == .closed)
        #expect(error.stage == .connecting)
        #expect(!hasClosed.isOpen)

        gate.open()
        #expect(try await slow.body.text(upTo: 10) == "ok")
        await closing.value
        try await origin.waitForOpenConnections(0)

        await connection.close()
        #expect(try await refusal().code == .closed)
    }

    @Test func `A wait for the end can be cancelled, and a dropped response ends it`() async throws {
        var slow: Response? = try await connection.send(.get(origin.url + "/slow"))
        let closing = Task { [connection] in await connection.close() }
        closing.cancel()
        await closing.value

        #expect(slow?.status == .ok)
        slow = nil
        await connection.close()
        try await origin.waitForOpenConnections(0)
        gate.open()
    }

    @Test func `A connection that was never used, or failed before it sent, closes at once`() async throws {
        let request = try Request.post(origin.url + "/", body: Body(replay: .once) { _ in throw CancellationError() })
        await #expect(throws: CancellationError.self) { try await connection.send(request) }

        await connection.close()

        #expect(origin.connectionCount == 0)
    }
}
