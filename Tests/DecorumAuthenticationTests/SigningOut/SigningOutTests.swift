import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumAuthentication

@Suite(.timeLimit(.minutes(3))) struct SigningOutTests {
    private let clock = VirtualClock()
    private let user = Principal("user-1")

    private struct FailingPart: SignsOut {
        func signOut(_ principal: Principal) async throws { throw TokenStoreError(.isLocked) }
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
