import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Which errors a stale response may hide: those of a client that is disconnected (RFC 9111, section 4.2.4).
@Suite(.timeLimit(.minutes(3))) struct StaleInsteadOfErrorTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    struct SignedOut: Error {}

    /// Gets a page, and again after its time, when an error comes instead.
    private func secondResponse(after error: any Error & Sendable, _ control: String) async throws -> Response {
        let old = Response(status: .ok, fields: [.cacheControl: control, .eTag: #""1""#], body: "old")
        let stub = StubConnection(answers: [{ _ in old }]) { _ in throw error }
        let connection = stub.caching(in: store, clock: clock, spawner: spawner)
        _ = try await connection.send(.get("https://example.com/page"))
        clock.advance(by: .seconds(10))
        return try await connection.send(.get("https://example.com/page"))
    }

    static let controls = ["max-age=1", "max-age=1, stale-if-error=60"]

    @Test(arguments: controls)
    func `An error of a layer further in reaches the caller`(control: String) async throws {
        await #expect(throws: SignedOut.self) { try await secondResponse(after: SignedOut(), control) }
    }

    @Test(arguments: controls, [TransportError.Stage.connecting, .head])
    func `A failure of TLS reaches the caller`(control: String, stage: TransportError.Stage) async throws {
        let error = await #expect(throws: TransportError.self) {
            try await secondResponse(after: TransportError(.tls, at: stage), control)
        }
        #expect(error?.code == .tls)
    }

    @Test(arguments: [TransportError.Code.malformedResponse, .unreadableBody, .limitExceeded])
    func `A failure that does not come from the network reaches the caller`(code: TransportError.Code) async throws {
        let error = await #expect(throws: TransportError.self) {
            try await secondResponse(after: TransportError(code, at: .head), "max-age=1")
        }
        #expect(error?.code == code)
    }

    @Test(arguments: [TransportError.Code.connectionRefused, .hostNotFound, .unreachable, .timedOut], controls)
    func `A server that is not reached is replaced by the stale response`(
        code: TransportError.Code, control: String
    ) async throws {
        let response = try await secondResponse(after: TransportError(code, at: .connecting), control)
        #expect(response.body == "old")
        #expect(response.metadata.source == .cache)
    }
}
