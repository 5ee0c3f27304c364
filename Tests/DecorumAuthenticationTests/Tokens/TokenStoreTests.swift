import DecorumAuthentication
import DecorumTesting
import Foundation
import Testing

/// The promises that all stores keep.
@Suite(.timeLimit(.minutes(3))) struct TokenStoreTests {
    private let folder = TokenFolder()

    private func stores() throws -> [any TokenStore] {
        [MemoryTokenStore(), try FileTokenStore(directory: folder.url)]
    }

    @Test func `Only the expected token is replaced`() async throws {
        let (first, second) = (try Token("first"), try Token("second", refreshToken: "r"))
        for store in try stores() {
            #expect(try await store.token() == nil)
            #expect(try await !store.replace(first, with: second))
            #expect(try await store.replace(nil, with: first))
            #expect(try await !store.replace(nil, with: second))
            #expect(try await store.token() == first)
            #expect(try await store.replace(first, with: second))
            #expect(try await store.token() == second)
            #expect(try await store.replace(second, with: nil))
            #expect(try await store.token() == nil)
        }
    }

    @Test func `Of many replacements of one token, one succeeds`() async throws {
        for store in try stores() {
            let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<50 {
                    group.addTask { try await store.replace(nil, with: Token("token-\(number)")) }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(successes == 1)
        }
    }

    @Test func `Exclusive work never overlaps, and errors end it`() async throws {
        for store in try stores() {
            let running = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        try? await store.exclusively {
                            #expect(running.add(1) == 1)
                            await Task.yield()
                            running.add(-1)
                            if number % 3 == 0 { throw CancellationError() }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(running.value == 0)
        }
    }

    @Test func `Changes are told`() async throws {
        for store in try stores() {
            var changes = store.changes().makeAsyncIterator()
            let token = try Token("first")
            #expect(try await store.replace(nil, with: token))
            #expect(await changes.next() == .some(token))
            #expect(try await store.replace(token, with: nil))
            #expect(await changes.next() == .some(nil))
        }
    }
}
