import DecorumConformance
import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The layer that keeps cookies, in stacks.
@Suite(.timeLimit(.minutes(3))) struct KeepingCookiesTests {
    private func jar() -> CookieJar { CookieJar(suffixes: .conservative, clock: VirtualClock()) }

    /// An answer that sets cookies.
    private static func setting(_ cookies: String..., status: HTTPResponse.Status = .ok, fields: HTTPFields = [:])
        -> Response
    {
        var response = Response(status: status, fields: fields)
        for cookie in cookies { response.head.headerFields.append(HTTPField(name: .setCookie, value: cookie)) }
        return response
    }

    /// A server that sets a cookie and answers with the one that it gets.
    private static func echo(_ request: Request) -> Response {
        var response = setting("id=\(request.head.headerFields[.cookie] == nil ? "new" : "again"); Path=/")
        response.body = Body(request.head.headerFields[.cookie] ?? "")
        return response
    }

    @Test func `Each hop gets the cookies of its own host`() async throws {
        let stub = StubConnection { request in
            switch (request.head.authority, request.head.path) {
            case ("a.example", "/go"): Response(status: .temporaryRedirect, fields: [.location: "https://b.example/"])
            case ("b.example", "/"): Response(status: .found, fields: [.location: "https://a.example/end"])
            default: Response(status: .ok)
            }
        }
        let jar = jar()
        for (host, cookie) in [("a", "a=1"), ("b", "b=2")] {
            jar.set(try #require(SetCookie(cookie)), from: try #require(URL(string: "https://\(host).example/")))
        }
        let connection = stub.keepingCookies(in: jar).followingRedirects()
        _ = try await connection.send(.get("https://a.example/go"))
        #expect(stub.requests.map { $0.head.headerFields[.cookie] } == ["a=1", "b=2", "a=1"])
    }

    @Test func `A caller's own cookies go alone, and to no other host`() async throws {
        let stub = StubConnection(
            Self.setting("new=1", status: .found, fields: [.location: "https://b.example/"]), Response(status: .ok),
            Response(status: .ok))
        let jar = jar()
        let place = try #require(URL(string: "https://a.example/"))
        jar.set(SetCookie(name: "kept", value: "1"), from: place)
        let connection = stub.keepingCookies(in: jar).followingRedirects()
        _ = try await connection.send(.get("https://a.example/", fields: [.cookie: "own=1"]))
        var bare = try Request.get("https://a.example/")
        bare.options.skipsAuthentication = true
        _ = try await connection.send(bare)

        #expect(stub.requests.map { $0.head.headerFields[.cookie] } == ["own=1", nil, nil])
        #expect(jar.cookies(for: place).map(\.name) == ["kept", "new"])
    }

    @Test func `A site that redirects to another takes along what SameSite allows`() async throws {
        let jar = jar()
        let place = try #require(URL(string: "https://bank.example/"))
        for (name, attributes) in [
            ("n", "; SameSite=None"), ("l", "; SameSite=Lax"), ("s", "; SameSite=Strict"), ("d", ""),
        ] {
            jar.set(try #require(SetCookie("\(name)=1; Secure" + attributes)), from: place)
        }
        func cookies(_ method: HTTPRequest.Method, by origins: Set<Origin>) async throws -> String? {
            let stub = StubConnection(Response(status: .ok))
            var request = try Request(method, "https://bank.example/")
            request.options.redirectingOrigins = origins
            _ = try await stub.keepingCookies(in: jar).send(request)
            return stub.requests.first?.head.headerFields[.cookie]
        }
        let (evil, sibling) = (try Origin("https://evil.example"), try Origin("https://www.bank.example"))
        #expect(try await cookies(.get, by: []) == "n=1; l=1; s=1; d=1")
        #expect(try await cookies(.get, by: [evil]) == "n=1; l=1; d=1")
        #expect(try await cookies(.post, by: [evil, sibling]) == "n=1")
        #expect(try await cookies(.post, by: [sibling]) == "n=1; l=1; s=1; d=1")
        #expect(try await cookies(.post, by: [Origin("http://bank.example")]) == "n=1")
    }

    @Test(arguments: [
        (ResponseMetadata.Source.network, true), (.revalidated, true), (.stub, true), (.cache, false),
        (.cassette, false),
        (.init("offline"), false),
    ])
    func `Only what a server has sent just now sets cookies`(row: (source: ResponseMetadata.Source, isKept: Bool))
        async throws
    {
        let jar = jar()
        let stub = StubConnection { _ in
            var response = Self.setting("id=1")
            response.metadata.source = row.source
            return response
        }
        _ = try await stub.keepingCookies(in: jar).send(.get("https://a.example/"))
        #expect(jar.count == (row.isKept ? 1 : 0))
    }

    @Test func `An answer of another origin than was asked sets no cookies`() async throws {
        let jar = jar()
        let stub = StubConnection { _ in
            var response = Self.setting("id=1")
            response.metadata.url = URL(string: "https://b.example/")
            return response
        }
        _ = try await stub.keepingCookies(in: jar).send(.get("https://a.example/"))
        #expect(jar.count == 0)
    }

    @Test func `The cache goes on to hit for one user, and tells two users apart`() async throws {
        let clock = VirtualClock()
        let stub = StubConnection { request in
            Response(
                status: .ok, fields: [.cacheControl: "max-age=3600", .vary: "Cookie"],
                body: Body(request.head.headerFields[.cookie] ?? "none"))
        }
        let jar = jar()
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock).keepingCookies(in: jar)
            .followingRedirects()
        let place = try #require(URL(string: "https://a.example/"))
        for user in ["ada", "bob"] {
            jar.set(SetCookie(name: "user", value: user), from: place, of: Principal(user))
        }
        var sources: [ResponseMetadata.Source?] = []
        for user in ["ada", "ada", "bob", "bob", "ada"] {
            var request = try Request.get("https://a.example/")
            request.options.principal = Principal(user)
            let response = try await connection.send(request)
            #expect(try await response.body.text(upTo: 100) == "user=\(user)")
            sources.append(response.metadata.source)
        }
        #expect(sources == [.stub, .cache, .stub, .cache, .cache])

        jar.set(SetCookie(name: "theme", value: "dark"), from: place, of: Principal("ada"))
        var request = try Request.get("https://a.example/")
        request.options.principal = Principal("ada")
        #expect(try await connection.send(request).body.text(upTo: 100) == "user=ada; theme=dark")
    }

    @Test func `An answer that arrives after the user has signed out sets no cookie`() async throws {
        let (jar, gate) = (jar(), Gate())
        let ada = Principal("ada")
        let stub = StubConnection { request in
            if request.head.path == "/slow" { try await gate.wait() }
            return Self.setting("session=1; Path=/")
        }
        let connection = stub.keepingCookies(in: jar)
        func send(_ path: String, of user: Principal) async throws {
            var request = try Request.get("https://a.example" + path)
            request.options.principal = user
            _ = try await connection.send(request)
        }
        async let slow: Void = send("/slow", of: ada)
        async let other: Void = send("/slow", of: Principal("bob"))
        try await gate.waitForWaiting(2)
        jar.removeCookies(of: ada)
        gate.open()
        _ = try await (slow, other)
        #expect(jar.allCookies(of: ada).isEmpty && jar.allCookies(of: Principal("bob")).count == 1)

        try await send("/login", of: ada)
        #expect(jar.allCookies(of: ada).count == 1)
        try await send("/", of: ada)
        #expect(stub.requests.last?.head.headerFields[.cookie] == "session=1")
    }

    @Test func `Huge and hostile cookies neither stop the call nor reach the next one`() async throws {
        let jar = jar()
        let huge = String(repeating: "x", count: 1 << 20)
        let stub = StubConnection(
            Self.setting(
                "huge=\(huge)", "n=1; Path=/\(huge)", "evil=1; Domain=example", "evil=2; Domain=b.example",
                "__Host-evil=1; Domain=a.example", "ok=1; Path=/"),
            Response(status: .ok))
        let connection = stub.keepingCookies(in: jar)
        _ = try await connection.send(.get("https://a.example/"))
        _ = try await connection.send(.get("https://a.example/"))
        #expect(stub.requests.last?.head.headerFields[.cookie] == "n=1; ok=1")
    }

    @Test func `The layer tells its place, its secrets and its jar`() throws {
        let jar = jar()
        let layer = try #require(StubConnection().keepingCookies(in: jar).layers.first)
        #expect(layer.role == .cookies && layer.secretFields.contains(.cookie))
        #expect(layer.facts.isSuperset(of: [.addsCredentials, .bindsToOrigins]))
        #expect(layer.memory.state == [Layer.StateIdentity(jar)] && "\(layer)" == "keepingCookies(in: 0 cookies)")
    }

    @Test(arguments: DecoratorLaw.all)
    func `The layer keeps the laws of decorators`(law: DecoratorLaw) async throws {
        let path = DecoratorLaw.ActivePath("a server that sets a cookie", times: 2, adding: [.cookie]) { _, _ in
            var response = Self.setting("id=1; Path=/")
            response.metadata.source = .network
            return response
        }
        try await law.check(answering: [path]) { base in base.keepingCookies(in: CookieJar(suffixes: .conservative)) }
    }
}
