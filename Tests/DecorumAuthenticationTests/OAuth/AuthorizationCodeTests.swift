import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumAuthentication

/// RFC 6749, section 4.1, RFC 7636, RFC 9126 and RFC 9207.
@Suite struct AuthorizationCodeTests {
    private let redirectURI = "com.example.app:/signed-in"
    private let answer = Response(
        status: .ok, fields: [.contentType: "application/json"],
        body: #"{"access_token":"t","token_type":"Bearer","refresh_token":"r"}"#)

    private var key: ProofKey {
        get throws { try ProofKey(generator: SeededGenerator(seed: 1), sha256: { SHA256.hash(data: $0) }) }
    }

    private func client(over stub: StubConnection, namesIssuer: Bool = false) throws -> OAuthClient {
        let server = try AuthorizationServer(
            issuer: "https://id.example.com", authorization: "https://id.example.com/authorize?tenant=1",
            token: "https://id.example.com/token", pushedRequests: "https://id.example.com/par",
            namesIssuerInAnswers: namesIssuer)
        return OAuthClient("app", of: server, over: stub)
    }

    private func request(_ client: OAuthClient) throws -> AuthorizationRequest {
        try client.authorizationRequest(
            redirectURI: redirectURI, scope: "a b", resources: ["https://api.example.com"],
            proofKey: key, generator: SeededGenerator(seed: 2))
    }

    @Test func `The key of RFC 7636, appendix B, has its challenge`() throws {
        let given = try ProofKey(
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", sha256: { SHA256.hash(data: $0) })
        #expect(given.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `A verifier is random, long enough, and not shown`() throws {
        let keys = try (0..<10).map { _ in try ProofKey(sha256: { SHA256.hash(data: $0) }) }
        #expect(Set(keys.map(\.verifier)).count == 10)
        #expect(keys.allSatisfy { $0.verifier.utf8.count == 43 && $0.challenge.utf8.count == 43 })
        #expect(!"\(keys[0])".contains(keys[0].verifier))
        #expect(throws: AuthorizationError.self) { try ProofKey(sha256: { _ in [1] }) }
    }

    @Test func `The URL has all parameters, and the code is exchanged with the verifier`() async throws {
        let stub = StubConnection(answer)
        let client = try client(over: stub)
        let request = try request(client)
        #expect(
            request.url.absoluteString
                == "https://id.example.com/authorize?tenant=1&response_type=code&client_id=app"
                + "&redirect_uri=com.example.app%3A%2Fsigned-in&state=\(request.state)"
                + "&code_challenge=\(try key.challenge)"
                + "&code_challenge_method=S256&scope=a+b&resource=https%3A%2F%2Fapi.example.com")
        let callback = try #require(URL(string: "\(redirectURI)?code=c%2B1&state=\(request.state)&extra=1#_=_"))
        #expect(try await client.token(from: callback, for: request) == (try Token("t", refreshToken: "r")))
        let form = stub.requests.first?.body.bytes.map { String(decoding: $0, as: UTF8.self) }
        #expect(
            form
                == "grant_type=authorization_code&resource=https%3A%2F%2Fapi.example.com&code=c%2B1"
                + "&redirect_uri=com.example.app%3A%2Fsigned-in"
                + "&code_verifier=\(try key.verifier)&client_id=app")
    }

    @Test(arguments: [
        ("other.app:/signed-in?code=c&state=STATE", AuthorizationError.Reason.otherRedirectURI),
        ("com.example.app:/signed-in/x?code=c&state=STATE", .otherRedirectURI),
        ("com.example.app:/signed-in?code=c", .otherState), ("com.example.app:/signed-in?code=c&state=", .otherState),
        ("com.example.app:/signed-in?code=c&state=forged", .otherState),
        ("com.example.app:/signed-in?error=access_denied&state=forged", .otherState),
        ("com.example.app:/signed-in?code=c&state=STATE&code=d", .malformed),
        ("com.example.app:/signed-in?code=c&state=STATE&state=STATE", .malformed),
        ("com.example.app:/signed-in?state=STATE", .malformed),
        ("com.example.app:/signed-in?code=&state=STATE", .malformed),
        ("com.example.app:/signed-in?code=%FF&state=STATE", .malformed),
        ("com.example.app:/signed-in?code=c&state=STATE&iss=https://evil.example", .otherIssuer),
        ("com.example.app:/signed-in#code=c&state=STATE", .otherState),
    ])
    func `A forged answer sends nothing`(text: String, reason: AuthorizationError.Reason) async throws {
        let stub = StubConnection(answer)
        let client = try client(over: stub)
        let request = try request(client)
        let callback = try #require(URL(string: text.replacing("STATE", with: request.state)))
        let error = try await #require(throws: AuthorizationError.self) {
            try await client.token(from: callback, for: request)
        }
        #expect(error.reason == reason && stub.requests.isEmpty)
        #expect(!error.description.contains(request.state))
    }

    @Test func `A server that names its issuer has to`() async throws {
        let stub = StubConnection(answer)
        let client = try client(over: stub, namesIssuer: true)
        let request = try request(client)
        let start = "\(redirectURI)?code=c&state=\(request.state)"
        let without = try #require(URL(string: start))
        await #expect(throws: AuthorizationError.self) { try await client.token(from: without, for: request) }
        let with = try #require(URL(string: start + "&iss=https%3A%2F%2Fid.example.com"))
        #expect(try await client.token(from: with, for: request).accessToken == "t")
    }

    @Test func `A refusal of the user is typed`() async throws {
        let client = try client(over: StubConnection())
        let request = try request(client)
        let callback = try #require(URL(string: "\(redirectURI)?error=access_denied&state=\(request.state)"))
        let error = try await #require(throws: OAuthError.self) { try await client.token(from: callback, for: request) }
        #expect(error.code == .accessDenied && error.status == nil)
    }

    @Test func `A pushed request shows the browser only a reference`() async throws {
        let stub = StubConnection(
            Response(
                status: .created, fields: [.contentType: "application/json"],
                body: #"{"request_uri":"urn:ietf:params:oauth:request_uri:6esc","expires_in":60}"#), answer)
        let client = try client(over: stub)
        let request = try request(client)
        let pushed = try await client.push(request)
        #expect(
            pushed.url.absoluteString
                == "https://id.example.com/authorize?tenant=1&client_id=app"
                + "&request_uri=urn%3Aietf%3Aparams%3Aoauth%3Arequest_uri%3A6esc")
        let form = stub.requests.first?.body.bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
        #expect(form.contains("code_challenge_method=S256") && form.hasSuffix("&client_id=app"))
        let callback = try #require(URL(string: "\(redirectURI)?code=c&state=\(request.state)"))
        #expect(try await client.token(from: callback, for: pushed).accessToken == "t")
    }
}
