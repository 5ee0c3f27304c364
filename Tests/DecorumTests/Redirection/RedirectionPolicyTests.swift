import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct RedirectionPolicyTests {
    private func stub(_ location: String, status: HTTPResponse.Status = .found) -> StubConnection {
        StubConnection { request in
            request.head.path == "/start"
                ? Response(status: status, fields: [.location: location]) : Response(status: .ok)
        }
    }

    private func targets(_ stub: StubConnection) -> [String] { stub.requests.compactMap(\.url?.absoluteString) }

    private static let upgrading = RedirectionPolicy.standard.rewriting("to https") { redirection in
        var target = URLComponents(url: redirection.to, resolvingAgainstBaseURL: true)
        target?.scheme = "https"
        return target?.url
    }

    private static func leading(to url: String) -> RedirectionPolicy {
        .standard.rewriting("elsewhere") { _ in URL(string: url) }
    }

    @Test func `The policy of a request replaces that of the stack, in both directions`() async throws {
        let stub = stub("https://b.example/")
        var request = try Request.get("https://a.example/start")
        request.options.redirectionPolicy = .never
        #expect(try await stub.followingRedirects().send(request).status == .found)
        request.options.redirectionPolicy = .standard
        #expect(try await stub.followingRedirects(policy: .sameOrigin).send(request).status == .ok)
        #expect(stub.requests.last?.options.redirectionPolicy?.description == "standard")
    }

    @Test func `A rewritten target is requested, and is in the metadata`() async throws {
        let stub = stub("https://b.example/old?q#part")
        let policy = RedirectionPolicy.standard.rewriting("to a mirror") { redirection in
            #expect(redirection.to.absoluteString == "https://b.example/old?q#part")
            return URL(string: "https://mirror.example/new")
        }
        let response = try await stub.followingRedirects(policy: policy).send(.get("https://a.example/start#top"))
        #expect(targets(stub).last == "https://mirror.example/new#top")
        #expect(response.metadata.redirects.map(\.to.host) == ["mirror.example"])
        #expect(policy.description == "standard, rewriting to a mirror")
    }

    @Test(arguments: [
        ("http://a.example/2", RedirectionRefusal.downgrade), ("ftp://a.example/", .unsupportedScheme),
        ("https://u:p@a.example/", .userinfo), ("https://", .invalidLocation), ("mailto:x", .unsupportedScheme),
    ])
    func `A rewritten target is held to the rules of every target`(url: String, refusal: RedirectionRefusal)
        async throws
    {
        let stub = stub("/2")
        let response = try await stub.followingRedirects(policy: Self.leading(to: url))
            .send(.get("https://a.example/start"))
        #expect(response.metadata.redirectionRefusal == refusal)
        #expect(stub.requests.count == 1)
    }

    @Test func `A target that is rewritten to another origin gets no credentials and no body`() async throws {
        let credentials: HTTPFields = [.authorization: "Bearer s", .cookie: "a=b"]
        let moved = stub("/2")
        let policy = Self.leading(to: "https://b.example/")
        _ = try await moved.followingRedirects(policy: policy)
            .send(.get("https://a.example/start", fields: credentials))
        #expect(moved.requests.last?.head.authority == "b.example")
        #expect(moved.requests.last?.head.headerFields.isEmpty == true)

        let upload = stub("/2", status: .permanentRedirect)
        let response = try await upload.followingRedirects(policy: policy)
            .send(.put("https://a.example/start", body: "secret"))
        #expect(response.metadata.redirectionRefusal == .bodyAcrossOrigins)
        #expect(upload.requests.count == 1)
    }

    @Test func `The rule sees the rewritten target, and rewriting is combined in order`() async throws {
        let first = RedirectionPolicy("b alone") { $0.to.host() == "c.example" }
            .rewriting("to b") { _ in URL(string: "https://b.example/") }
        let second = RedirectionPolicy.standard.rewriting("to c") { redirection in
            #expect(redirection.to.host() == "b.example")
            return URL(string: "https://c.example/")
        }
        let stub = stub("/2")
        let response = try await stub.followingRedirects(policy: first.and(second)).send(
            .get("https://a.example/start"))
        #expect(response.status == .ok)
        #expect(targets(stub).last == "https://c.example/")
    }

    @Test func `Rewriting that returns nil keeps the target, and its error reaches the caller`() async throws {
        let kept = stub("/2")
        let keeping = RedirectionPolicy.standard.rewriting("nothing") { _ in nil }
        _ = try await kept.followingRedirects(policy: keeping).send(.get("https://a.example/start"))
        #expect(targets(kept).last == "https://a.example/2")

        let failing = RedirectionPolicy.standard.rewriting("failing") { _ in throw CocoaError(.featureUnsupported) }
        await #expect(throws: CocoaError.self) {
            try await stub("/2").followingRedirects(policy: failing).send(.get("https://a.example/start"))
        }
    }
}
