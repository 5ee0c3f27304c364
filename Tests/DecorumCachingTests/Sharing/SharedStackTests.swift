import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Two users, each with a principal for the whole stack, on one store or on one stack.
@Suite(.timeLimit(.minutes(3))) struct SharedStackTests {
    private let store = MemoryResponseStore()
    private let spawner = TrackingSpawner()
    private let alice = Principal("alice")
    private let bob = Principal("bob")

    /// Answers each user with their token; an answer may be stored.
    private let server = StubConnection { request in
        let user = request.head.headerFields[.authorization].map { String($0.dropFirst("Bearer ".count)) } ?? "nobody"
        return Response(
            status: .ok, fields: [.cacheControl: "max-age=60"],
            body: Body(length: nil, replay: .once) { _ in try await Body(user).open() })
    }

    private func authenticated(as token: String) throws -> some Connection {
        try server.authenticating(with: .bearer(token), for: Origin("https://a.example"))
    }

    private func text(_ connection: some Connection, as own: Principal? = nil) async throws -> String {
        var request = try Request.get("https://a.example/me")
        request.options.principal = own
        return try await connection.send(request).body.text(upTo: 100)
    }

    @Test func `Two stacks with two principals share a store, and no response`() async throws {
        let first = try authenticated(as: "alice").caching(in: store, spawner: spawner).acting(for: alice)
        let second = try authenticated(as: "bob").caching(in: store, spawner: spawner).acting(for: bob)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 {
                group.addTask { try await text(first) + " as alice" }
                group.addTask { try await text(second) + " as bob" }
            }
            for try await outcome in group { #expect(["alice as alice", "bob as bob"].contains(outcome)) }
        }
        try await spawner.finished()
        let sent = server.requests.count
        #expect(try await text(first) == "alice")
        #expect(try await text(second) == "bob")
        #expect(server.requests.count == sent)

        store.removeResponses(of: alice)
        #expect(try await text(second) == "bob")
        #expect(server.requests.count == sent)
        #expect(try await text(first) == "alice")
        #expect(server.requests.count == sent + 1)
    }

    @Test func `Without a principal, the same stacks store nothing`() async throws {
        for _ in 1...2 {
            let connection = try authenticated(as: "alice").caching(in: store, spawner: spawner)
            #expect(try await text(connection) == "alice")
        }
        try await spawner.finished()
        #expect(server.requests.count == 2)
    }

    @Test func `A request's own principal gets its own response from the same stack`() async throws {
        let connection = server.caching(in: store, spawner: spawner).acting(for: alice)
        for _ in 1...2 {
            for own in [nil, bob] { _ = try await text(connection, as: own) }
            try await spawner.finished()
        }
        #expect(server.requests.map(\.options.principal) == [alice, bob])
    }

    @Test func `One coalescing stack for two users sends for each of them`() async throws {
        let gate = Gate()
        let slow = StubConnection { request in
            try await gate.wait()
            return Response(status: .ok, body: Body(request.options.principal == Principal("alice") ? "a" : "b"))
        }
        let shared = slow.coalescing(spawner: spawner)
        let calls = [alice, alice, bob, bob].map { principal in
            Task { try await text(shared.acting(for: principal)) }
        }
        for _ in 0..<1000 where gate.waitingCount < 2 { await Task.yield() }
        gate.open()
        var texts: [String] = []
        for call in calls { texts.append(try await call.value) }

        #expect(texts == ["a", "a", "b", "b"])
        #expect(Set(slow.requests.map(\.options.principal)) == [alice, bob])
    }

    @Test func `Where the principal is set further in, nothing is stored, and the status says why`() async throws {
        let connection = server.acting(for: alice).caching(in: store, spawner: spawner)
        for _ in 1...2 {
            let response = try await connection.send(.get("https://a.example/me"))
            #expect(response.metadata.source != .cache)
            _ = try await response.body.data(upTo: 100)
            try await spawner.finished()
        }
        #expect(server.requests.count == 2)
    }
}
