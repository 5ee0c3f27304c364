import Decorum
import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Host policies, cookies and refreshes at the wrong place of a stack: the harm, the finding, and the mended stack.
@Suite(.timeLimit(.minutes(3))) struct HostHazardTests {
    @Test func `A host policy outside of redirections lets a hop lead anywhere`() async throws {
        let answer = { @Sendable (request: Request) -> Response in
            request.head.authority == "a.example" ? .redirection(to: "https://b.example/") : .page
        }
        let (leaking, held) = (StubConnection(answer), StubConnection(answer))
        let policy = try HostPolicy.httpsOnly.allowing("a.example")
        let wrong = leaking.followingRedirects().restrictingHosts(to: policy)
        let mended = held.restrictingHosts(to: policy).followingRedirects()

        _ = try await wrong.send(.page)
        await #expect(throws: HostPolicyError.self) { try await mended.send(.page) }

        #expect(leaking.requests.map(\.head.authority) == ["a.example", "b.example"])
        #expect(held.requests.map(\.head.authority) == ["a.example"])
        expectFinding(
            of: "hostPolicyOutsideOfRedirections", in: wrong, naming: ["restrictingHosts", "followingRedirects"],
            notIn: mended)
        expectFinding(
            of: "hostPolicyOutsideOfRedirections",
            in: leaking.followingRedirects().upgradingToHTTPS(remembering: StrictTransportHosts()),
            naming: ["upgradingToHTTPS", "followingRedirects"], notIn: mended)
    }

    @Test func `A host that changes inside of credentials gets those of another`() async throws {
        let (leaking, kept) = (StubConnection { _ in .page }, StubConnection { _ in .page })
        let policy = HostPolicy.httpsOnly.rewriting(site, to: try Origin("https://staging.example"))
        let wrong = leaking.restrictingHosts(to: policy).authenticating(with: try .bearer("t"), for: site)
        let mended = kept.authenticating(with: try .bearer("t"), for: site).restrictingHosts(to: policy)

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(leaking.requests.first?.head.authority == "staging.example")
        #expect(leaking.values(of: .authorization) == ["Bearer t"] && kept.values(of: .authorization) == [nil])
        expectFinding(
            of: "hostChangedTooLate", in: wrong, naming: ["authenticating", "restrictingHosts"], notIn: mended)
        let checking = leaking.restrictingHosts(to: .httpsOnly).authenticating(with: try .bearer("t"), for: site)
        #expect(checking.findings.isEmpty)
    }

    @Test func `A relative request has no host that a policy could check`() async throws {
        let stub = StubConnection { _ in .page }
        let wrong = try stub.resolving(against: "https://a.example/").restrictingHosts(to: .httpsOnly)
        let mended = try stub.restrictingHosts(to: .httpsOnly).resolving(against: "https://a.example/")
        await #expect(throws: InvalidRequestError.self) { try await wrong.send(.get("x")) }
        #expect(try await mended.send(.get("x")).status == .ok)
        expectFinding(of: "originSetTooLate", in: wrong, naming: ["resolving", "restrictingHosts"], notIn: mended)
    }

    @Test func `Cookies outside of redirections lose the cookie of a login`() async throws {
        let answer = { @Sendable (request: Request) -> Response in
            guard request.head.path == "/" else { return .page }
            var response = Response.redirection(to: "/home")
            response.head.headerFields[.setCookie] = "session=1"
            return response
        }
        let (losing, keeping) = (StubConnection(answer), StubConnection(answer))
        let wrong = losing.followingRedirects().keepingCookies(in: CookieJar(suffixes: .conservative))
        let mended = keeping.keepingCookies(in: CookieJar(suffixes: .conservative)).followingRedirects()

        for connection: any Connection in [wrong, mended] { _ = try await connection.send(.page) }

        #expect(losing.values(of: .cookie) == [nil, nil] && keeping.values(of: .cookie) == [nil, "session=1"])
        expectFinding(
            of: "cookiesOutsideOfRedirections", in: wrong, naming: ["keepingCookies", "followingRedirects"],
            notIn: mended)
    }

    @Test func `A cache outside of cookies does not find a response that varies by them`() async throws {
        let answer = { @Sendable (request: Request) -> Response in
            Response(status: .ok, fields: [.cacheControl: "max-age=60", .vary: "Cookie"], body: "page")
        }
        let (asked, once) = (StubConnection(answer), StubConnection(answer))
        let jar = CookieJar(suffixes: .conservative)
        jar.set(SetCookie(name: "id", value: "1"), from: try #require(URL(string: "https://a.example/")))
        let wrong = asked.keepingCookies(in: jar).caching(in: MemoryResponseStore())
        let mended = once.caching(in: MemoryResponseStore()).keepingCookies(in: jar)

        for _ in 1...3 {
            for connection: any Connection in [wrong, mended] { _ = try await connection.send(.page).text() }
        }

        #expect(asked.requests.count == 3 && once.requests.count == 1)
        expectFinding(of: "cookiesInsideOfCache", in: wrong, naming: ["keepingCookies", "caching"], notIn: mended)
        expectFinding(
            of: "cookiesInsideOfCache", in: asked.keepingCookies(in: jar).coalescing(),
            naming: ["keepingCookies", "coalescing"], notIn: mended)
    }

    /// A layer that asks for new credentials over a stack of its own, as often as it is asked.
    private struct Refreshing<Base: Connection>: ComposedConnection {
        final class Tokens: Sendable {}

        let base: Base
        let tokens: Tokens
        let refresh: any Connection

        var layer: Layer {
            Layer(
                name: "refreshing", role: .authentication, facts: [.addsCredentials, .bindsToOrigins],
                sending: .init(branches: [Layer.Branch("refresh", refresh.layers, carriesRequests: false)]),
                memory: .init(state: [Layer.StateIdentity(tokens)]))
        }

        func send(_ request: consuming Request) async throws -> Response {
            let answer = try await refresh.send(.get("https://a.example/token"))
            request.head.headerFields[.authorization] = try await "Bearer " + answer.text()
            return try await base.send(request)
        }
    }

    @Test func `A refresh through its own layer begins another refresh`() async throws {
        let stub = StubConnection { _ in .page }
        let tokens = Refreshing<StubConnection>.Tokens()
        let inner = Refreshing(base: stub, tokens: tokens, refresh: stub)
        let wrong = Refreshing(base: stub, tokens: tokens, refresh: inner.retrying().limitingTime())
        let mended = Refreshing(base: stub, tokens: tokens, refresh: stub.retrying().limitingTime())

        _ = try await wrong.send(.page)
        let needed = stub.requests.count
        _ = try await mended.send(.page)

        #expect(needed == 3 && stub.requests.count - needed == 2)
        expectFinding(of: "refreshThroughItself", in: wrong, naming: ["refreshing", "refreshing"], notIn: mended)
        let others = Refreshing(
            base: stub, tokens: tokens,
            refresh: Refreshing(base: stub, tokens: .init(), refresh: stub))
        #expect(!others.findings.contains { $0.hazard == "refreshThroughItself" })
        let beside = Refreshing(base: inner, tokens: .init(), refresh: stub)
        #expect(!beside.findings.contains { $0.hazard == "refreshThroughItself" })
    }

    @Test func `A whole stack with hosts and cookies has no finding`() throws {
        let jar = CookieJar(suffixes: .conservative)
        let stack = StandardStack(for: "https://a.example/")
        let connection = try stack.composed(
            over: StubConnection(),
            adding: [
                .inside(of: .redirects) { $0.keepingCookies(in: jar) },
                .inside(of: .redirects) { $0.restrictingHosts(to: .httpsOnly) },
                .inside(of: .redirects) { $0.upgradingToHTTPS(remembering: StrictTransportHosts()) },
            ], clock: VirtualClock())
        #expect(
            connection.findings.isEmpty && connection.composition.unknownLayers.isEmpty, "\(connection.composition)")
        let names = connection.layers.map(\.name)
        let places = ["followingRedirects", "upgradingToHTTPS", "restrictingHosts", "keepingCookies", "decompressing"]
            .map { names.firstIndex(of: $0) }
        #expect(places == places.compactMap { $0 }.sorted())
    }
}
