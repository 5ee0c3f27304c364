#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTesting
import Foundation
import HTTPTypes
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientClosingTests {
    let origin: LoopbackOrigin
    let gate = Gate()

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(.get, "/", .init(body: "ok"))
        origin.route(.get, "/slow", .script(.head(.ok, ["Content-Length": "2"]), .raw("o"), .wait(gate), .raw("k")))
    }

    @Test func `What is under way ends, new requests are refused, and the connections close`() async throws {
        let connection = AsyncHTTPClientConnection()
        let slow = try await connection.send(.get(origin.url + "/slow"))
        let hasClosed = Gate()
        let closing = Task {
            await connection.close()
            hasClosed.open()
        }
        let error = try await connection.refusal(of: .get(origin.url + "/"))
        #expect(error.code == .closed)
        #expect(error.stage == .connecting)
        #expect(!hasClosed.isOpen)

        gate.open()
        #expect(try await slow.body.text(upTo: 10) == "ok")
        await closing.value
        try await origin.waitForOpenConnections(0)

        await connection.close()
        #expect(try await connection.refusal(of: .get(origin.url + "/")).code == .closed)
    }

    @Test func `A wait for the end can be cancelled, and a dropped response ends it`() async throws {
        let connection = AsyncHTTPClientConnection()
        var slow: Response? = try await connection.send(.get(origin.url + "/slow"))
        let closing = Task { await connection.close() }
        closing.cancel()
        await closing.value

        #expect(slow?.status == .ok)
        slow = nil
        await connection.close()
        try await origin.waitForOpenConnections(0)
        gate.open()
    }

    @Test func `A client of the app's own is left alone`() async throws {
        let client = HTTPClient(configuration: AsyncHTTPClientConnection.configuration())
        let connection = AsyncHTTPClientConnection(client)
        _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)

        await connection.close()

        #expect(try await connection.refusal(of: .get(origin.url + "/")).code == .closed)
        _ = try await client.get(url: origin.url + "/").get()
        try await client.shutdown()
        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientConnection(client).send(.get(origin.url + "/"))
        }
        #expect(error?.code == .closed)
    }
}

extension Connection {
    /// Sends a request until it is refused, and returns why.
    fileprivate func refusal(of request: Request) async throws -> TransportError {
        while true {
            do {
                try await send(request).body.drain(upTo: 100)
            } catch let error as TransportError {
                return error
            }
        }
    }
}
#endif
