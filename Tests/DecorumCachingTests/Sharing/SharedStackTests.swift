import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
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
}

/// A secret that a layer declares is a secret for every layer further in.
struct DeclaredSecretsTests {
    /// A layer that sets a field with a neutral name, and declares it secret.
    enum Declaring: String, CaseIterable {
        case addingDefaultFields, overridingFields, intercepting

        func stack(on base: some Connection) throws -> any Connection {
            let name = try #require(HTTPField.Name("X-Zeug"))
            switch self {
            case .addingDefaultFields:
                return base.addingDefaultFields(secretFields: [name]) { [name: $0.options[UserKey.self] ?? ""] }
            case .overridingFields:
                return base.overridingFields(secretFields: [name]) { [name: $0.options[UserKey.self] ?? ""] }
            case .intercepting:
                return base.intercepting(facts: [.addsCredentials], secretFields: [name]) { request, base in
                    var request = request
                    request.head.headerFields[name] = request.options[UserKey.self]
                    return try await base.send(request)
                }
            }
        }
    }

    private func get(as user: String) throws -> Request {
        var request = try Request.get("https://example.com/page")
        request.options[UserKey.self] = user
        return request
    }

    @Test(arguments: Declaring.allCases)
    func `A cache inside separates the responses of two users`(declaring: Declaring) async throws {
        let stub = StubConnection { request in
            Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: Body(request.user ?? "public"))
        }
        let connection = try declaring.stack(on: stub.caching(in: MemoryResponseStore()))
        for user in ["alice", "bob", "alice", "bob"] {
            #expect(try await connection.send(get(as: user)).body.text(upTo: 10) == user)
        }
        #expect(stub.requests.count == 2)
    }
}
