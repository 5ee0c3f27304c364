import DecorumConformance
import DecorumTesting
import HTTPTypes
import Testing

@testable import Decorum

/// The hosts that requests may reach, for the first request and for each hop.
@Suite(.timeLimit(.minutes(2))) struct HostPolicyTests {
    private static func policy() throws -> HostPolicy {
        try .httpsOnly.allowing("api.example.com", "*.cdn.example.com").blocking(
            "old.cdn.example.com", "*.bad.cdn.example.com"
        )
        .allowingPlainHTTP(to: "localhost", "127.0.0.1", "[::1]", "api.example.com").allowing("localhost", "[::1]")
    }

    @Test(arguments: [
        ("https://api.example.com/", nil), ("https://API.example.com./", nil), ("https://api.example.com:8443/", nil),
        ("http://api.example.com/", nil), ("https://a.cdn.example.com/", nil), ("https://a.b.cdn.example.com/", nil),
        ("https://cdn.example.com/", HostPolicyError.Reason.notAllowed), ("https://evilcdn.example.com/", .notAllowed),
        ("https://example.com/", .notAllowed), ("https://api.example.com.evil.example/", .notAllowed),
        ("https://old.cdn.example.com/", .blocked), ("https://old.cdn.example.com./", .blocked),
        ("https://x.bad.cdn.example.com/", .blocked), ("http://a.cdn.example.com/", .notEncrypted),
        ("http://localhost:8080/", nil), ("http://[::1]/", nil), ("http://127.0.0.1/", .notAllowed),
    ])
    func `Patterns decide about the first request`(row: (url: String, reason: HostPolicyError.Reason?)) async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.restrictingHosts(to: try Self.policy())
        guard let reason = row.reason else {
            #expect(try await connection.send(.get(row.url)).status == .ok)
            return
        }
        let error = await #expect(throws: HostPolicyError.self) { try await connection.send(.get(row.url)) }
        #expect(error?.reason == reason && error?.isRedirected == false && stub.requests.isEmpty)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.1", true), ("0x7f.0.0.1", true), ("0177.0.0.1", true), ("2130706433", true),
        ("0x7F000001", true), ("127.0.0.1.", true), ("127.1.", true), ("[::ffff:127.0.0.1]", true),
        ("[::FFFF:7f00:1]", true), ("[0:0:0:0:0:ffff:7f00:1]", true), ("127.0.0.2", false), ("127.2", false),
        ("[::1]", false), ("127.0.0.1.example.com", false), ("x127.1", false), ("256.1", false), ("[fe80::1]", true),
        ("[fe80:0::0:1]", true), ("[fe80::1%25eth0]", true), ("[fe80::2]", false), ("10.0.0.1", true),
        ("10.1", true), ("167772161", true),
    ])
    func `A blocked address is blocked in each form, and no other host is`(row: (host: String, isBlocked: Bool)) throws
    {
        let policy = try HostPolicy.httpsOnly.blocking("127.0.0.1", "[fe80::1]", "[::ffff:10.0.0.1]")
        let reason = policy.refusal(of: try Origin("https://\(row.host)"))
        #expect(reason == (row.isBlocked ? .blocked : nil))
        #expect(try HostPolicy.httpsOnly.blocking(row.host).refusal(of: Origin("https://\(row.host)")) == .blocked)
    }

    @Test func `Another form of an address is not allowed with it`() throws {
        let policy = try HostPolicy.httpsOnly.allowing("127.0.0.1").allowingPlainHTTP(to: "127.0.0.1")
        #expect(policy.refusal(of: try Origin("http://127.0.0.1")) == nil)
        #expect(policy.refusal(of: try Origin("https://127.1")) == .notAllowed)
    }

    @Test func `Without exceptions any host may be reached over https alone`() async throws {
        let connection = StubConnection { _ in Response(status: .ok) }.restrictingHosts(to: .httpsOnly)
        #expect(try await connection.send(.get("https://anything.example/")).status == .ok)
        let error = await #expect(throws: HostPolicyError.self) { try await connection.send(.get("http://a.example/")) }
        #expect(
            error?.description
                == "The request is for http://a.example, which is not encrypted. Use https, or name a.example by "
                + "`allowingPlainHTTP(to:)`, as for a server on this machine.")
        await #expect(throws: InvalidRequestError.self) { try await connection.send(.get("relative")) }
        let everywhere = StubConnection { _ in Response(status: .ok) }
            .restrictingHosts(to: try .httpsOnly.allowingPlainHTTP(to: "*"))
        #expect(try await everywhere.send(.get("http://a.example/")).status == .ok)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `Each hop is held to the policy, and nothing is sent to a host that is refused`(code: Int) async throws {
        let stub = StubConnection { request in
            switch request.head.path {
            case "/away": Response(status: .init(code: code), fields: [.location: "https://evil.example/steal"])
            case "/plain": Response(status: .init(code: code), fields: [.location: "http://api.example.com/end"])
            case "/far": Response(status: .init(code: code), fields: [.location: "/away"])
            default: Response(status: .ok)
            }
        }
        let policy = try HostPolicy.httpsOnly.allowing("api.example.com")
        let connection = stub.restrictingHosts(to: policy)
            .followingRedirects(policy: .standard.allowingDowngrades())
        for (path, reason) in [
            ("/away", HostPolicyError.Reason.notAllowed), ("/plain", .notEncrypted), ("/far", .notAllowed),
        ] {
            let error = await #expect(throws: HostPolicyError.self) {
                try await connection.send(.get("https://api.example.com\(path)"))
            }
            #expect(error?.reason == reason && error?.isRedirected == true)
            #expect("\(error as Any)".contains("A redirection leads to"))
        }
        #expect(stub.requests.allSatisfy { $0.head.scheme == "https" && $0.head.authority == "api.example.com" })
    }

    @Test func `A rewritten origin gets the request and its own credentials, over a redirection too`() async throws {
        let (production, staging) = (try Origin("https://api.example.com"), try Origin("http://127.0.0.1:8080"))
        let stub = StubConnection { request in
            request.head.path == "/a?x=1"
                ? Response(status: .found, fields: [.location: "https://api.example.com/b"]) : Response(status: .ok)
        }
        let policy = try HostPolicy.httpsOnly.allowingPlainHTTP(to: "127.0.0.1").rewriting(production, to: staging)
        let connection = stub.authenticating(with: try .bearer("staging"), for: staging)
            .restrictingHosts(to: policy).followingRedirects()
        let response = try await connection.send(.get("https://api.example.com/a?x=1"))

        #expect(stub.requests.map { $0.head.authority } == ["127.0.0.1:8080", "127.0.0.1:8080"])
        #expect(stub.requests.map { $0.head.scheme } == ["http", "http"])
        #expect(stub.requests.map { $0.head.path } == ["/a?x=1", "/b"])
        #expect(stub.requests.map { $0.head.headerFields[.authorization] } == ["Bearer staging", "Bearer staging"])
        #expect(response.metadata.redirects.count == 1)
        await #expect(throws: HostPolicyError.self) {
            try await stub.restrictingHosts(to: .httpsOnly.rewriting(production, to: staging))
                .send(.get("https://api.example.com/"))
        }
    }

    @Test(arguments: [
        "", "*.", "a*", "*a.example", "https://a.example", "a b", "a.example/path", "a.*.example", "a:80",
    ])
    func `A pattern that no host has is refused`(pattern: String) {
        #expect(throws: InvalidRequestError.self) { try HostPolicy.httpsOnly.allowing(pattern) }
        #expect(throws: InvalidRequestError.self) { try HostPolicy.httpsOnly.blocking("a.example", pattern) }
        #expect(throws: InvalidRequestError.self) { try HostPolicy.httpsOnly.allowingPlainHTTP(to: pattern) }
    }

    @Test func `The layer shows its rules`() throws {
        let policy = try Self.policy().rewriting(try Origin("https://a.example"), to: try Origin("https://b.example"))
        let layer = try #require(StubConnection().restrictingHosts(to: policy).layers.first)
        #expect(layer.role == .hostPolicy && layer.facts == [.changesSignedParts])
        #expect(
            "\(policy)"
                == "https only, allowing *.cdn.example.com [::1] api.example.com localhost, blocking "
                + "*.bad.cdn.example.com old.cdn.example.com, plain HTTP to 127.0.0.1 [::1] api.example.com localhost, "
                + "sending https://a.example as https://b.example")
        #expect(StubConnection().restrictingHosts(to: .httpsOnly).layers.first?.facts == [])
    }

    @Test(arguments: DecoratorLaw.all)
    func `The layers keep the laws of decorators`(law: DecoratorLaw) async throws {
        try await law.check { $0.restrictingHosts(to: .httpsOnly) }
        let plain = DecoratorLaw.ActivePath(
            "a known host over http", sending: try .get("http://origin.example/"), changing: [.target]
        ) { _, _ in
            Response(status: .ok, fields: [.strictTransportSecurity: "max-age=60"])
        }
        try await law.check(answering: [plain]) {
            $0.upgradingToHTTPS(remembering: StrictTransportHosts(preloading: "origin.example"))
        }
    }
}
