import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A thousand callers with an expired token, some of whom are cancelled at random moments.
@Suite(.timeLimit(.minutes(10))) struct CrowdTests {
    @Test(arguments: 0..<(Footprint.isSoak ? 200 : 20))
    func `A crowd with a token that is expired or rejected causes one refresh`(seed: Int) async throws {
        let clock = VirtualClock()
        let generator = SeededGenerator(seed: UInt64(seed))
        let server = RotatingServer(clock: clock, gate: Gate())
        let isRejected = seed % 2 == 1
        // A rejected token is valid for the client, and not for the server.
        let first = isRejected ? try Token("access-0", expiry: clock.date + 600, refreshToken: "refresh-1") : nil
        let store = MemoryTokenStore(try first ?? server.token(1, expiry: clock.date - 1))
        let tokens = Tokens(in: store, from: server, clock: clock, generator: generator)
        let api = server.api
        let connection = api.authenticating(with: tokens, for: try .api())

        let calls = (0..<1000).map { _ in
            Task { try await connection.send(.get(RotatingServer.apiURL)).status }
        }
        var cancelled: Set<Int> = [0]
        for _ in 0..<(generator.next() % 500) { cancelled.insert(Int(generator.next() % 1000)) }
        for (count, index) in cancelled.sorted().enumerated() {
            calls[index].cancel()
            if count % 16 == 0 { await Task.yield() }
        }
        try await server.gate?.waitForWaiting(1)
        server.gate?.open()

        var answers = 0
        for (index, call) in calls.enumerated() {
            switch await call.result {
            case .success(let status):
                answers += 1
                #expect(status == .ok)
            case .failure(let error):
                #expect(error is CancellationError && cancelled.contains(index))
            }
        }
        #expect(answers >= 1000 - cancelled.count)
        #expect(server.facts.refreshes == 1 && server.facts.reuses == 0)
        #expect(await store.token()?.accessToken == "access-2")
        // Each call is sent once with the old token at most, and once with the new one.
        #expect(api.requests.count <= 2000)
    }
}
