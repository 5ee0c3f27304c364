import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct SigningOutTests {
    private let clock = VirtualClock()
    private let user = Principal("user-1")

    private struct FailingPart: SignsOut {
        func signOut(_ principal: Principal) async throws { throw TokenStoreError(.isLocked) }
    }

    @Test func `One call removes tokens and stored responses, and ends requests of this user alone`() async throws {
        let server = RotatingServer(clock: clock)
        let tokenStore = MemoryTokenStore(try server.token(1))
        let tokens = Tokens(in: tokenStore, from: server, servesOneUser: true, clock: clock)
        let responses = MemoryResponseStore()
        let requests = RequestsUnderWay()
        let gate = Gate()
        let api = StubConnection { request in
            if request.head.path == "/slow" { try await gate.wait() }
            return Response(status: .ok, fields: [.cacheControl: "private, max-age=600"], body: "private")
        }
        let connection = api.authenticating(with: tokens, for: try .api())
            .caching(in: responses, clock: clock).ending(with: requests)
        let mine = connection.acting(for: user)
        let other = api.ending(with: requests).acting(for: Principal("user-2"))

        _ = try await mine.send(.get(RotatingServer.apiURL)).body.data(upTo: 100)
        _ = try await mine.send(.get(RotatingServer.apiURL)).body.data(upTo: 100)
        #expect(api.requests.count == 1)
        let slow = Task { try await mine.send(.get("https://api.example.com/slow")) }
        let otherSlow = Task { try await other.send(.get("https://api.example.com/slow")).status }
        try await gate.waitForWaiting(2)

        let session = SigningOut(requests, tokens, StoredResponses(responses))
        try await session.signOut(user)

        await #expect(throws: SignedOutError(.signedOut)) { try await slow.value }
        #expect(await tokenStore.token() == nil)
        await #expect(throws: SignedOutError(.noToken)) { try await mine.send(.get(RotatingServer.apiURL)) }
        gate.open()
        #expect(try await otherSlow.value == .ok)
        #expect(requests.count == 0)
    }

    @Test func `A part that fails keeps no other part from signing out`() async throws {
        let store = MemoryTokenStore(try Token("a"))
        let tokens = Tokens(in: store, from: RotatingServer(clock: clock), clock: clock)
        let error = try await #require(throws: SigningOutError.self) {
            try await SigningOut(FailingPart(), tokens, FailingPart()).signOut(user)
        }
        #expect(error.errors.count == 2 && error.description.hasPrefix("Some data of the user may remain"))
        #expect(await store.token() == nil)
    }

    @Test func `The body of a response ends too`() async throws {
        let gate = Gate()
        let requests = RequestsUnderWay()
        let api = StubConnection { _ in
            let body = Body(replay: .once) { _ in GatedReader(gate: gate) }
            return Response(status: .ok, body: body)
        }
        let connection = api.ending(with: requests).acting(for: user)
        let response = try await connection.send(.get(RotatingServer.apiURL))
        let reading = Task { try await response.body.data(upTo: 1000) }
        try await gate.waitForWaiting(1)
        await requests.signOut(user)
        gate.admit()
        await #expect(throws: SignedOutError(.signedOut)) { try await reading.value }
    }

    @Test func `A request that meets the sign-out has ended when its caller goes on`() async throws {
        let requests = RequestsUnderWay()
        let sending = Mutex(0)
        let api = StubConnection { _ in
            sending.withLock { $0 += 1 }
            defer { sending.withLock { $0 -= 1 } }
            for _ in 0..<10 { await Task.yield() }
            return Response(status: .ok)
        }
        let connection = api.ending(with: requests).acting(for: user)
        let signingOut = Task { [user] in
            while !Task.isCancelled {
                await requests.signOut(user)
                await Task.yield()
            }
        }
        defer { signingOut.cancel() }
        for _ in 0..<1000 {
            do {
                #expect(try await connection.send(.get(RotatingServer.apiURL)).status == .ok)
            } catch {
                #expect(error is SignedOutError)
            }
            #expect(sending.withLock { $0 } == 0)
        }
    }

    @Test func `A caller who is cancelled gets a cancellation, and requests without a user pass`() async throws {
        let gate = Gate()
        let requests = RequestsUnderWay()
        let api = StubConnection { _ in
            try await gate.wait()
            return Response(status: .ok)
        }
        let connection = api.ending(with: requests)
        let nobody = Task { try await connection.send(.get(RotatingServer.apiURL)).status }
        let cancelled = Task { try await connection.acting(for: user).send(.get(RotatingServer.apiURL)).status }
        try await gate.waitForWaiting(2)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await requests.signOut(user)
        gate.open()
        #expect(try await nobody.value == .ok && requests.count == 0)
    }
}

private struct GatedReader: BodyReader {
    let gate: Gate

    mutating func next() async throws -> Data? {
        try await gate.wait()
        return Data("x".utf8)
    }

    var trailers: HTTPFields? { nil }
}
