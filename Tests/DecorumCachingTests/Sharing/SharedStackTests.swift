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

    @Test func `Without a principal, the same stacks store nothing`() async throws {
        for _ in 1...2 {
            let connection = try authenticated(as: "alice").caching(in: store, spawner: spawner)
            #expect(try await text(connection) == "alice")
        }
        try await spawner.finished()
        #expect(server.requests.count == 2)
    }
}

/// A cookie jar in the place that the documentation gives it: between redirects and the cache.
@Suite(.timeLimit(.minutes(3))) struct CookieJarTests {
    /// The cookies of one user, by host; a value that a layer shares between requests.
    private final class Jar: Sendable {
        private let cookies = Mutex<[String: [String: String]]>([:])

        func cookie(for host: String) -> String? {
            let pairs = cookies.withLock { $0[host] ?? [:] }
            return pairs.isEmpty ? nil : pairs.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "; ")
        }

        func keep(_ fields: HTTPFields, of host: String) {
            for line in fields[values: .setCookie] {
                let pair = line.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
                guard pair.count == 2 else { continue }
                cookies.withLock { $0[host, default: [:]][pair[0]] = pair[1] }
            }
        }
    }

    private struct JarConnection<Base: Connection>: ComposedConnection {
        let base: Base
        let jar: Jar

        var layer: Layer {
            Layer(name: "jar", role: .preparation, facts: [.addsCredentials], secretFields: [.cookie])
        }

        func send(_ request: consuming Request) async throws -> Response {
            let host = request.head.authority ?? ""
            if let cookie = jar.cookie(for: host) {
                request.head.headerFields[.cookie] = cookie
                request.options.secretFields.insert(.cookie)
            }
            let response = try await base.send(request)
            jar.keep(response.head.headerFields, of: host)
            return response
        }
    }

    /// A site with a login that redirects to another host, a page for each user, and a public image.
    private let origin = StubConnection { request in
        let cookie = request.head.headerFields[.cookie] ?? "none"
        switch (request.head.authority, request.head.path) {
        case ("a.example", "/login/ann"), ("a.example", "/login/bob"):
            let user = request.head.path?.suffix(3) ?? ""
            return Response(
                status: .found, fields: [.setCookie: "session=\(user); Path=/", .location: "https://b.example/start"])
        case (_, "/start"): return Response(status: .ok, fields: [.setCookie: "b=1"], body: Body(cookie))
        case (_, "/image"): return Response(status: .ok, fields: [.cacheControl: "public, max-age=60"], body: "image")
        case (_, "/varied"):
            return Response(status: .ok, fields: [.cacheControl: "max-age=60", .vary: "Cookie"], body: Body(cookie))
        default: return Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: Body(cookie))
        }
    }

    private func text(_ path: String, _ connection: some Connection) async throws -> String {
        try await connection.send(.get("https://a.example" + path)).body.text(upTo: 100)
    }

    @Test func `Two users with jars of their own share one cache without mixing`() async throws {
        let cached = origin.coalescing().caching(in: MemoryResponseStore())
        let ann = JarConnection(base: cached, jar: Jar()).followingRedirects()
        let bob = JarConnection(base: cached, jar: Jar()).followingRedirects()

        // The cookie of the first host does not go to the second one.
        #expect(try await text("/login/ann", ann) == "none")
        #expect(try await text("/login/bob", bob) == "none")
        for _ in 0..<2 {
            for path in ["/page", "/varied"] {
                #expect(try await text(path, ann) == "session=ann")
                #expect(try await text(path, bob) == "session=bob")
            }
            #expect(try await text("/image", ann) == "image")
            #expect(try await text("/image", bob) == "image")
        }
        // One user's stored page is no answer to the other, and the public image was transferred once.
        #expect(origin.requests.count { $0.head.path == "/image" } == 1)
        #expect(try await ann.send(.get("https://b.example/start")).body.text(upTo: 10) == "b=1")
    }

    @Test func `A jar whose cookie changes with each response does not keep the cache from hitting`() async throws {
        let count = Mutex(0)
        let origin = StubConnection { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let fields: HTTPFields = [
                .setCookie: "rolling=\(number)", .eTag: #""1""#,
                .cacheControl: request.head.path == "/image" ? "public, max-age=60" : "max-age=60",
            ]
            guard request.head.headerFields[.ifNoneMatch] == nil else {
                return Response(status: .notModified, fields: fields)
            }
            return Response(status: .ok, fields: fields, body: "content")
        }
        let jar = Jar()
        let connection = JarConnection(base: origin.caching(in: MemoryResponseStore()), jar: jar).followingRedirects()
        var sources: [ResponseMetadata.Source?] = []
        for path in ["/other", "/image", "/image", "/page", "/other", "/page"] {
            let response = try await connection.send(.get("https://a.example" + path))
            #expect(try await response.body.text(upTo: 10) == "content")
            sources.append(response.metadata.source)
        }
        // Stored without a cookie, public, and confirmed by the strong tag for another value of the cookie.
        #expect(sources == [.stub, .stub, .cache, .stub, .cache, .revalidated])
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
    func `A redirection inside drops the secret before another origin`(declaring: Declaring) async throws {
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "https://other.example/"]), Response(status: .ok))
        _ = try await declaring.stack(on: stub.followingRedirects()).send(get(as: "alice"))
        #expect(stub.requests.map(\.user) == ["alice", nil])
    }

    @Test(arguments: Declaring.allCases)
    func `A log inside does not show the secret`(declaring: Declaring) async throws {
        let log = Mutex("")
        let stub = StubConnection(Response(status: .ok))
        let sink = LogSink { entry in log.withLock { $0 += entry } }
        let connection = try declaring.stack(on: stub.logging(to: sink, detail: .bodies(upTo: 1000)))
        _ = try await connection.send(get(as: "alice")).body.data(upTo: 10)
        #expect(log.withLock { $0 }.lowercased().contains("x-zeug"))
        #expect(!log.withLock { $0 }.contains("alice"))
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
