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
        // A client that is let go while it is open ends the process, so an error has to wait until it is shut down.
        let outcome: Result<Void, any Error>
        do {
            let connection = AsyncHTTPClientConnection(client)
            _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)

            await connection.close()

            let refusal = await #expect(throws: TransportError.self) {
                try await connection.send(.get(origin.url + "/"))
            }
            #expect(refusal?.code == .closed)
            _ = try await client.get(url: origin.url + "/").get()
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        try await client.shutdown()
        try outcome.get()
        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientConnection(client).send(.get(origin.url + "/"))
        }
        #expect(error?.code == .closed)
    }
}
#endif
