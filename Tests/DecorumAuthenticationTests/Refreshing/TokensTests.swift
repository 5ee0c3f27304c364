import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumAuthentication

@Suite(.timeLimit(.minutes(3))) struct TokensTests {
    private let clock = VirtualClock()
    private let spawner = TrackingSpawner()
    private let generator = SeededGenerator(seed: 1)
    /// Open unless a test closes it.
    private let gate = Gate()
    private let server: RotatingServer
    private let expired: Token
    private let store: MemoryTokenStore

    init() throws {
        gate.open()
        server = RotatingServer(clock: clock, gate: gate)
        expired = try server.token(1, expiry: clock.date - 1)
        store = MemoryTokenStore(expired)
    }

    private func tokens(
        in store: (any TokenStore)? = nil, from source: (any TokenSource)? = nil
    ) -> Tokens {
        func make(_ store: some TokenStore, _ source: some TokenSource) -> Tokens {
            Tokens(in: store, from: source, clock: clock, generator: generator, spawner: spawner)
        }
        let (store, source): (any TokenStore, any TokenSource) = (store ?? self.store, source ?? server)
        return make(store, source)
    }

    /// A caller whose refresh waits at the closed gate.
    private func waitingCaller(of tokens: Tokens) async throws -> Task<Token, any Error> {
        gate.close()
        let call = Task { try await tokens.token() }
        try await gate.waitForWaiting(1)
        return call
    }

    @Test func `The caller who caused the refresh may be cancelled`() async throws {
        let tokens = tokens()
        let first = try await waitingCaller(of: tokens)
        let second = Task { try await tokens.token() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        gate.open()
        #expect(try await second.value.accessToken == "access-2")
        #expect(server.facts.refreshes == 1)
    }

    @Test func `A caller leaves at its deadline, and the refresh goes on`() async throws {
        gate.close()
        let connection = server.api.authenticating(with: tokens(), for: try .api())
        var request = try Request.get(RotatingServer.apiURL)
        request.options.deadline = clock.now + .seconds(5)
        let call = Task { [request] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        let error = try await #require(throws: TokenRefreshError.self) { try await call.value }
        #expect(error.underlying == nil && error.mayPass && error.meansNotProcessed && error.meansServerNotReached)
        gate.open()
        let response = try await connection.send(.get(RotatingServer.apiURL))
        #expect(response.status == .ok)
        #expect(server.facts.refreshes == 1)
    }

    @Test func `One look into the store serves all callers whose new token is rejected`() async throws {
        let server = RotatingServer(clock: clock)
        let store = FailingStore(expired, gate: gate)
        let tokens = tokens(in: store, from: server)
        #expect(try await tokens.token().accessToken == "access-2")
        server.skip()
        gate.close()
        let reads = store.reads.value
        let connection = server.api.authenticating(with: tokens, for: try .api())
        var calls: [Task<HTTPResponse.Status, any Error>] = []
        // Each deadline is before those of the others, so that the clock shows that its caller waits.
        for time in [4, 3, 2, 1].map({ Duration.seconds($0) }) {
            var request = try Request.get(RotatingServer.apiURL)
            request.options.deadline = clock.now + time
            calls.append(Task { [request] in try await connection.send(request).status })
            try await yield { clock.pendingSleeps.contains(time) }
        }
        gate.open()
        for call in calls { #expect(try await call.value == .unauthorized) }
        #expect(store.reads.value == reads + 2 && server.facts.refreshes == 1)
    }

    @Test func `A refresh that never ends fails its callers and keeps the token`() async throws {
        let tokens = tokens()
        let call = try await waitingCaller(of: tokens)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        let error = try await #require(throws: TokenRefreshError.self) { try await call.value }
        #expect(error.description.hasSuffix("the authorization server did not answer in time."))
        #expect(await store.token()?.accessToken == "access-1")
    }

    @Test(arguments: [(600.0, 29...60), (100, 9...20)])
    func `A token is replaced in the background before it expires, at a random moment`(
        row: (lifetime: Double, seconds: ClosedRange<Int>)
    ) async throws {
        var leads: Set<Duration> = []
        for seed in 0..<20 {
            let clock = VirtualClock()
            let server = RotatingServer(lifetime: row.lifetime, clock: clock)
            let tokens = Tokens(
                in: MemoryTokenStore(try server.token(1)), from: server, clock: clock,
                generator: SeededGenerator(seed: UInt64(seed)), spawner: spawner)
            var lead = Duration.seconds(row.lifetime)
            while server.facts.refreshes == 0, lead > .zero {
                #expect(try await tokens.token().accessToken == "access-1")
                try await spawner.finished()
                clock.advance(by: .seconds(1))
                lead -= .seconds(1)
            }
            leads.insert(lead)
            #expect(row.seconds.contains(Int(lead.components.seconds)))
            #expect(try await tokens.token().accessToken == "access-2")
        }
        #expect(leads.count > 5)
    }

    @Test func `An early refresh that fails keeps a token that is still valid`() async throws {
        let server = RotatingServer(lifetime: 600, clock: clock)
        server.fail(with: TransportError(.timedOut, at: .head), OAuthError(answering: .init(status: .badGateway)))
        let tokens = tokens(in: MemoryTokenStore(try server.token(1)), from: server)
        #expect(try await tokens.token().accessToken == "access-1")
        clock.advance(by: .seconds(595))
        for _ in 0..<10 { #expect(try await tokens.token().accessToken == "access-1") }
        try await spawner.finished()
        for _ in 0..<10 { #expect(try await tokens.token().accessToken == "access-1") }
        #expect(server.facts.refreshes == 1)
        clock.advance(by: .seconds(5))
        _ = try? await tokens.token()
        #expect(server.facts.refreshes == 2)
    }

    @Test func `A refresh that its transport has ended is cancelled for all, and holds nobody back`() async throws {
        gate.close()
        server.fail(with: CancellationError())
        let tokens = tokens()
        let callers = await Callers.start(3) { _ in try await tokens.token() }
        try await gate.waitForWaiting(1)
        gate.open()
        for caller in callers { await #expect(throws: CancellationError.self) { try await caller.value } }
        #expect(server.facts.refreshes == 1)
        #expect(try await tokens.token().accessToken == "access-2")
    }

    @Test func `A failure holds back all callers, for longer each time, and Retry-After counts`() async throws {
        let tokens = tokens()
        var waits: [Duration] = []
        let failures: [OAuthError] = [
            .init(answering: .init(status: .serviceUnavailable)), .init(answering: .init(status: .found)),
            .init(answering: .init(status: .ok)), .init(.invalidClient, status: .unauthorized),
            .init(answering: .init(status: .tooManyRequests), retryAfter: .seconds(90)),
        ]
        for failure in failures {
            server.fail(with: failure)
            let before = server.facts.refreshes
            let error = try await #require(throws: TokenRefreshError.self) { try await tokens.token() }
            #expect(error.mayPass == failure.mayPass)
            for _ in 0..<5 {
                let other = try await #require(throws: TokenRefreshError.self) { try await tokens.token() }
                #expect(other.earliestRetry == error.earliestRetry)
            }
            #expect(server.facts.refreshes == before + 1)
            let wait = clock.now.duration(to: try #require(error.earliestRetry))
            waits.append(wait)
            clock.advance(by: wait)
        }
        #expect(waits[0] >= .seconds(0.5) && waits[0] <= .seconds(1) && waits[3] > waits[0])
        #expect(waits[4] == .seconds(90))
        #expect(try await tokens.token().accessToken == "access-2")
        #expect(server.facts.reuses == 0)
    }

    @Test func `invalid_grant signs out, and no further refresh is sent`() async throws {
        server.skip()
        let tokens = tokens()
        for _ in 0..<5 {
            let error = try await #require(throws: SignedOutError.self) { try await tokens.token() }
            #expect(error == SignedOutError(.refused))
        }
        #expect(server.facts.refreshes == 1)
        #expect(await store.token() == nil)
        try await tokens.signIn(with: Token("again"))
        #expect(try await tokens.token().accessToken == "again")
    }

    @Test func `invalid_grant with a newer token in the store is no logout`() async throws {
        let tokens = tokens()
        let call = try await waitingCaller(of: tokens)
        // A process that does not respect the lock of the store.
        server.skip()
        #expect(await store.replace(expired, with: try server.token(2)))
        gate.open()
        #expect(try await call.value.accessToken == "access-2")
        #expect(server.facts.refreshes == 1 && server.facts.reuses == 1)
    }

    @Test func `Signing out during a refresh stores nothing and ends the wait`() async throws {
        let tokens = tokens()
        let call = try await waitingCaller(of: tokens)
        #expect(try await tokens.signOut()?.accessToken == "access-1")
        let error = try await #require(throws: SignedOutError.self) { try await call.value }
        #expect(error.reason == .signedOut)
        gate.open()
        try await spawner.finished()
        #expect(await store.token() == nil)
        await #expect(throws: SignedOutError(.noToken)) { try await tokens.token() }
    }

    @Test func `Signing in as another user during a refresh keeps the new user's token`() async throws {
        let tokens = tokens()
        let call = try await waitingCaller(of: tokens)
        try await tokens.signIn(with: Token("other-user"))
        await #expect(throws: SignedOutError(.signedOut)) { try await call.value }
        gate.open()
        try await spawner.finished()
        #expect(try await tokens.token().accessToken == "other-user")
        #expect(await store.token()?.accessToken == "other-user")
    }

    @Test func `A store that cannot write loses no token`() async throws {
        let server = RotatingServer(lifetime: 100, clock: clock)
        let store = FailingStore(expired)
        let tokens = tokens(in: store, from: server)
        store.failsWriting = true
        #expect(try await tokens.token().accessToken == "access-2")
        #expect(try await store.token()?.accessToken == "access-1")
        clock.advance(by: .seconds(101))
        await #expect(throws: TokenRefreshError.self) { try await tokens.token() }
        store.failsWriting = false
        clock.advance(by: .seconds(2))
        #expect(try await tokens.token().accessToken == "access-3")
        #expect(server.facts.refreshes == 2 && server.facts.reuses == 0)
        #expect(try await store.token()?.accessToken == "access-3")
    }

    @Test func `A new token that the store refuses is written no more`() async throws {
        let store = FailingStore(expired)
        let tokens = tokens(in: store)
        let call = try await waitingCaller(of: tokens)
        #expect(try await store.replace(expired, with: Token("other-user")))
        store.failsReading = true
        gate.open()
        await #expect(throws: TokenRefreshError.self) { try await call.value }
        store.failsReading = false
        clock.advance(by: .seconds(2))
        #expect(try await tokens.token().accessToken == "other-user")
    }

    @Test func `A store that cannot read fails the callers, and keeps what it has`() async throws {
        let store = FailingStore(try server.token(1))
        store.failsReading = true
        let tokens = tokens(in: store)
        let error = try await #require(throws: TokenRefreshError.self) { try await tokens.token() }
        #expect(error.mayPass && server.facts.refreshes == 0)
        store.failsReading = false
        clock.advance(by: .seconds(2))
        #expect(try await tokens.token().accessToken == "access-1")
    }

    @Test func `A server whose tokens have expired already is not asked by each caller`() async throws {
        let server = RotatingServer(lifetime: 0, clock: clock)
        let tokens = tokens(from: server)
        for _ in 0..<10 { #expect(try await tokens.token().accessToken == "access-2") }
        #expect(server.facts.refreshes == 1)
        clock.advance(by: .seconds(10))
        #expect(try await tokens.token().accessToken == "access-3")
    }

    @Test func `A source that starts without a token needs no sign-in`() async throws {
        let store = MemoryTokenStore()
        let tokens = tokens(in: store, from: StartingSource())
        #expect(try await tokens.token().accessToken == "started")
        #expect(await store.token()?.accessToken == "started")
    }

    @Test(arguments: [false, true])
    func `A sign-out or a sign-in by another process ends what is under way`(isFile: Bool) async throws {
        let folder = TokenFolder()
        let memory = MemoryTokenStore()
        let stores: [any TokenStore] =
            isFile ? try (0..<2).map { _ in try FileTokenStore(directory: folder.url) } : [memory, memory]
        let (first, second) = (tokens(in: stores[0]), tokens(in: stores[1]))
        try await first.signIn(with: server.token(1))
        let gate = Gate()
        let api = StubConnection { request in
            try await gate.wait()
            return Response(status: .unauthorized)
        }
        let connection = api.authenticating(with: first, for: try .api())
        let calls = [Task { try await connection.send(.get(RotatingServer.apiURL)) }]
        try await gate.waitForWaiting(1)

        try await second.signOut()
        while (try? await first.token()) != nil { try await pause() }
        await #expect(throws: SignedOutError(.noToken)) { try await connection.send(.get(RotatingServer.apiURL)) }
        try await second.signIn(with: Token("other-user"))
        let other = Task { try await connection.send(.get(RotatingServer.apiURL)) }
        try await gate.waitForWaiting(2)
        try await second.signIn(with: Token("third-user", refreshToken: "refresh-1"))
        while try await first.token().accessToken != "third-user" { try await pause() }
        gate.open()
        for call in calls + [other] {
            await #expect(throws: SignedOutError(.signedOut)) { try await call.value }
        }
        #expect(api.requests.map { $0.head.headerFields[.authorization] } == ["Bearer access-1", "Bearer other-user"])
        // A refresh by the other process is no other sign-in.
        let before = first.generation
        clock.advance(by: .seconds(3600))
        #expect(server.facts.refreshes == 0)
        let held = try await second.token()
        let newer = try Token("newer", refreshToken: "refresh-2").completed(by: held)
        #expect(try await stores[1].replace(held, with: newer))
        while try await first.token().accessToken != "newer" { try await pause() }
        #expect(first.generation == before && server.facts.refreshes == 0)
    }

    private func pause() async throws {
        try Task.checkCancellation()
        await Task.yield()
    }

    @Test func `Without a sign-in, no refresh is sent`() async throws {
        let tokens = tokens(in: MemoryTokenStore())
        let error = try await #require(throws: SignedOutError.self) { try await tokens.token() }
        #expect(error.reason == .noToken && !error.mayPass)
        #expect(server.facts.refreshes == 0)
    }
}

private struct StartingSource: TokenSource {
    var layers: [Layer] { [] }
    var startsWithoutToken: Bool { true }
    func token(replacing token: Token?) async throws -> Token { try Token("started") }
}
