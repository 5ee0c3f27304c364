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
    @Test func `Closing leaves a client of the app's own open`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/", .init(body: "ok"))
        let client = HTTPClient(configuration: AsyncHTTPClientConnection.configuration())
        let connection = AsyncHTTPClientConnection(client)
        _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)

        await connection.close()

        let refusal = await #expect(throws: TransportError.self) { try await connection.send(.get(origin.url + "/")) }
        #expect(refusal?.code == .closed)
        _ = try await client.get(url: origin.url + "/").get()
        try await client.shutdown()
        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientConnection(client).send(.get(origin.url + "/"))
        }
        #expect(error?.code == .closed)
    }
}
#endif
