import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

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

    @Test func `Inside of a cache, a jar's responses are neither stored nor shared`() async throws {
        let jar = Jar()
        jar.keep([.setCookie: "session=ann"], of: "a.example")
        let connection = JarConnection(base: origin, jar: jar).coalescing().caching(in: MemoryResponseStore())
        for _ in 0..<2 { #expect(try await text("/page", connection) == "session=ann") }
        #expect(origin.requests.count == 2)
    }
}
