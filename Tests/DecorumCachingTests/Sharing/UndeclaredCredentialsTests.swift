import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Two users of one stack, in which a layer adds credentials that no layer declares: each gets their own response.
@Suite(.timeLimit(.minutes(3))) struct UndeclaredCredentialsTests {
    let spawner = TrackingSpawner()

    /// A layer that shares or stores responses.
    enum Sharing: CaseIterable {
        case caching, revalidating, coalescing

        func stack(on base: some Connection, in store: some ResponseStore, _ spawner: TrackingSpawner) -> any Connection
        {
            switch self {
            case .caching: base.caching(in: store, spawner: spawner)
            case .revalidating: base.revalidating(in: store)
            case .coalescing: base.coalescing(spawner: spawner)
            }
        }
    }

    /// A server that answers each user with their name, and allows every cache to store it.
    private let server = StubConnection { request in
        let user = request.user ?? "public"
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"\(user)\""]
        if request.head.headerFields[.ifNoneMatch] == fields[.eTag] {
            return Response(status: .notModified, fields: fields)
        }
        return Response(
            status: .ok, fields: fields, body: Body(length: nil, replay: .once) { _ in try await Body(user).open() })
    }

    private func get(as user: String, principal: Principal? = nil) throws -> Request {
        var request = try Request.get("https://example.com/page")
        request.options[UserKey.self] = user
        request.options.principal = principal
        return request
    }

    /// Sends requests of two users, first concurrently and then in sequence, and expects each user's own response.
    private func requireOwnResponses(from connection: any Connection, principals: Bool = false) async throws {
        let users = (0..<40).map { $0 % 2 == 0 ? "alice" : "bob" }
        try await withThrowingTaskGroup { group in
            for user in users {
                group.addTask {
                    let request = try get(as: user, principal: principals ? Principal(user) : nil)
                    let text = try await connection.send(request).body.text(upTo: 100)
                    #expect(text == user)
                }
            }
            try await group.waitForAll()
        }
        for user in users.prefix(6) {
            let request = try get(as: user, principal: principals ? Principal(user) : nil)
            #expect(try await connection.send(request).body.text(upTo: 100) == user)
        }
        try await spawner.finished()
    }

    @Test(arguments: Sharing.allCases, Identification.allCases)
    func `A layer that adds undeclared credentials gives no response to another user`(
        sharing: Sharing, identification: Identification
    ) async throws {
        let base = server.intercepting { request, base in
            var request = request
            identification.identify(&request)
            return try await base.send(request)
        }
        try await requireOwnResponses(from: sharing.stack(on: base, in: MemoryResponseStore(), spawner))
    }

    @Test(arguments: Sharing.allCases)
    func `With a principal, responses are shared and stored nevertheless`(sharing: Sharing) async throws {
        let base = server.intercepting { request, base in
            var request = request
            Identification.authorization.identify(&request)
            return try await base.send(request)
        }
        let store = MemoryResponseStore()
        let connection = sharing.stack(on: base, in: store, spawner)
        try await requireOwnResponses(from: connection, principals: true)
        // The other layers store nothing, or ask the server each time.
        #expect(sharing != .caching || server.requests.count < 46)
    }

    /// What a careless layer or transport makes anew.
    enum Rebuilding: CaseIterable {
        case response, request, both
    }

    @Test(arguments: Sharing.allCases, Rebuilding.allCases)
    func `A layer that builds a new request or response hides nothing, and a silent transport shares nothing`(
        sharing: Sharing, rebuilding: Rebuilding
    ) async throws {
        let base = ClosureConnection { [server] request in
            var request = request
            Identification.apiKey.identify(&request)
            switch rebuilding {
            case .response:
                let response = try await server.send(request)
                return Response(head: response.head, body: response.body)
            case .request: return try await server.send(Request(head: request.head, body: request.body))
            case .both:
                let response = try await server.send(Request(head: request.head))
                return Response(head: response.head, body: response.body)
            }
        }
        try await requireOwnResponses(from: sharing.stack(on: base, in: MemoryResponseStore(), spawner))
    }

    @Test func `A response that a custom transport reports is stored`() async throws {
        let transport = ClosureConnection { request in
            request.reportSending()
            return Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "public")
        }
        let connection = transport.caching(in: MemoryResponseStore())
        _ = try await connection.send(get(as: "alice")).body.text(upTo: 10)
        #expect(try await connection.send(get(as: "bob")).metadata.source == .cache)
    }

    @Test(arguments: Sharing.allCases)
    func `A client certificate is a credential, also over two stores on one directory`(sharing: Sharing) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        for user in ["alice", "bob", "alice", "bob"] {
            let transport = ClosureConnection { request in
                request.reportSending(showingClientCertificate: true)
                return Response(status: .ok, fields: [.cacheControl: "max-age=60", .eTag: "\"1\""], body: Body(user))
            }
            let store = FileResponseStore(directory: directory)
            let connection = sharing.stack(on: transport, in: store, spawner)
            #expect(try await connection.send(get(as: user)).body.text(upTo: 10) == user)
            try await spawner.finished()
        }
    }

    @Test(arguments: Sharing.allCases, Sharing.allCases)
    func `One sharing layer within another still shares public responses`(outer: Sharing, inner: Sharing) async throws {
        let store = MemoryResponseStore()
        let innerStack = inner.stack(on: server, in: store, spawner)
        let connection = outer.stack(on: AnyConnection(innerStack), in: MemoryResponseStore(), spawner)
        for _ in 0..<4 { #expect(try await connection.send(get(as: "alice")).body.text(upTo: 10) == "public") }
        // A layer that only coalesces stores nothing, and a layer that revalidates asks each time.
        let stored = [outer, inner].contains(.caching)
        #expect(server.requests.count == (stored ? 1 : 4))
    }

    @Test func `A token under a harmless name distinguishes users outside of a cache`() async throws {
        let origin = StubConnection { request in
            Response(
                status: .ok, fields: [.cacheControl: "max-age=60"],
                body: Body(request.head.headerFields[.viewer].map { String($0.suffix(4)) } ?? "public"))
        }
        let connection = origin.caching(in: MemoryResponseStore())
        for user in ["aaaa", "bbbb", "aaaa", "bbbb"] {
            let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFO\(user)"
            let request = try Request.get("https://example.com/page", fields: [.viewer: token])
            #expect(try await connection.send(request).body.text(upTo: 10) == user)
        }
        #expect(origin.requests.count == 2)
    }

    @Test func `An error is not shared with another user either`() async throws {
        let base = ClosureConnection { request in throw NamedError(user: request.options[UserKey.self] ?? "public") }
        let gate = Gate()
        let slow = base.intercepting { request, base in
            try await gate.wait()
            return try await base.send(request)
        }
        let connection = slow.coalescing(spawner: spawner)
        let calls = ["alice", "bob", "alice"].map { user in
            Task { [self] in try await connection.send(get(as: user)) }
        }
        try await gate.waitForWaiting(1)
        gate.open()
        for (call, user) in zip(calls, ["alice", "bob", "alice"]) {
            await #expect(throws: NamedError(user: user)) { try await call.value }
        }
    }
}

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

private struct NamedError: Error, Hashable {
    let user: String
}

extension HTTPField.Name {
    // Safe: the literal is a valid field name.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let viewer = HTTPField.Name("X-Viewer")!
}
