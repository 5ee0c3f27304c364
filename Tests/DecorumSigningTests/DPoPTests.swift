#if Signing
import Crypto
import DecorumAuthentication
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct DPoPTests {
    private static let api = "https://api.example.com/notes?page=1"
    private static let tokenURL = "https://id.example.com/token"
    private let clock = VirtualClock()
    private let key = P256.Signing.PrivateKey()

    /// A connection whose requests have a token.
    private func connection(over stub: StubConnection, _ key: SigningKey?) throws -> any Connection {
        let origin = try Origin(Self.api)
        return stub.provingPossession(with: try DPoP(key: key, clock: clock), for: origin)
            .authenticating(with: try .field(.authorization, "DPoP token"), for: origin)
    }

    /// The answer of a server: an error or `ok`, and perhaps a nonce.
    private static func response(_ text: String, status: HTTPResponse.Status = .unauthorized) throws -> Response {
        let parts = text.split(separator: " ", maxSplits: 1)
        var response = Response(
            status: parts[0] == "ok" ? .ok : status, fields: [.wwwAuthenticate: "DPoP error=\"\(parts[0])\""],
            body: Body("{\"error\":\"\(parts[0])\"}"))
        if parts.count > 1 { response.head.headerFields[try #require(.init("DPoP-Nonce"))] = String(parts[1]) }
        return response
    }

    @Test(arguments: [
        // A nonce is learnt from each response, and used once it is known.
        (["ok n1", "ok n2", "ok", "ok"], 4, false, ["", "n1", "n2", "n2"]),
        // A request is sent once more with the nonce that its server demands, but not for ever, not with one that was refused,
        // not for another error, and not if its body can be read once.
        (["use_dpop_nonce n1", "ok", "ok"], 2, false, ["", "n1", "n1"]),
        (["use_dpop_nonce n1", "use_dpop_nonce n2"], 1, false, ["", "n1"]),
        (["use_dpop_nonce n", "use_dpop_nonce n", "use_dpop_nonce n"], 2, false, ["", "n", "n"]),
        (["invalid_token n"], 1, false, [""]), (["use_dpop_nonce n1", "use_dpop_nonce n1"], 2, true, ["", "n1"]),
    ])
    func `A nonce is learnt from each response, and a request repeated once`(
        answers: [String], requests: Int, isOnce: Bool, nonces: [String]
    ) async throws {
        let stub = StubConnection()
        for answer in answers { stub.enqueue { _ in try Self.response(answer) } }
        let connection = try connection(over: stub, .p256(key))
        for _ in 0..<requests {
            let before = stub.requests.count
            let response = try await connection.send(.post(Self.api, body: isOnce ? .once("a") : "a"))
            #expect(response.metadata.attempts == stub.requests.count - before)
        }
        let proofs = try stub.requests.map { try JWT($0.head.headerFields[.proof]) }
        #expect(proofs.map { $0["nonce"] ?? "" } == nonces && Set(proofs.map { $0["jti"] }).count == nonces.count)
    }

    @Test(arguments: [String(repeating: "x", count: 1 << 20), "a b", "a\"b", "", "a\\b", "ü"])
    func `A nonce that no server may give is refused`(nonce: String) async throws {
        let stub = StubConnection { _ in try Self.response("use_dpop_nonce \(nonce)") }
        let connection = try connection(over: stub, .p256(key))
        let error = try await #require(throws: SigningError.self) { try await connection.send(.get(Self.api)) }
        #expect(error.reason == .unusableChallenge && stub.requests.count == 1 && error.description.utf8.count < 300)
    }

    @Test func `The key of a session is kept with its token, and used after a restart`() async throws {
        let keys = Mutex<[String?]>([])
        // It demands a nonce once, and binds tokens to the key of the proof.
        let server = StubConnection { request in
            let proof = try JWT(request.head.headerFields[.proof])
            #expect(proof["htu"] == Self.tokenURL && proof["htm"] == "POST" && proof["ath"] == nil)
            guard proof["nonce"] == "id-1" else {
                return try Self.response("use_dpop_nonce id-1", status: .badRequest)
            }
            guard keys.withLock({ $0.count < 3 }) else {
                return try Self.response("invalid_grant n", status: .badRequest)
            }
            keys.withLock { $0.append((proof.header["jwk"] as? [String: String])?["x"]) }
            return Response(
                status: .ok, fields: [.contentType: "application/json"],
                body: #"{"access_token":"t","token_type":"DPoP","expires_in":60,"refresh_token":"r"}"#)
        }
        func client(_ dpop: DPoP) throws -> OAuthClient {
            try OAuthClient("app", of: AuthorizationServer(token: Self.tokenURL), over: server, clock: clock)
                .provingPossession(with: dpop)
        }
        let source = try client(DPoP(clock: clock)).clientCredentials()
        let first = try await source.token(replacing: nil)
        #expect(first.type == "DPoP" && first.proofKey?.count == 32 && server.requests.count == 2)
        #expect(try await source.token(replacing: nil).proofKey != first.proofKey)

        // A new process has the stored form alone.
        let (stored, dpop) = (try Token(storedForm: first.storedForm), try DPoP(clock: clock))
        let api = StubConnection { _ in Response(status: .ok) }
        let tokens = Tokens(in: MemoryTokenStore(stored), from: try client(dpop).refreshing(), clock: clock)
        let origin = try Origin(Self.api)
        let connection = api.provingPossession(with: dpop, for: origin).authenticating(with: tokens, for: origin)
        #expect(try await connection.send(.get(Self.api)).status == .ok)
        clock.advance(by: .seconds(120))
        #expect(try await connection.send(.get(Self.api)).status == .ok && api.requests.count == 2)
        let own = try P256.Signing.PrivateKey(rawRepresentation: #require(first.proofKey)).publicKey
        for request in api.requests { #expect(try JWT(request.head.headerFields[.proof]).isSigned(by: .p256(own))) }
        let used = keys.withLock { $0 }
        #expect(used.count == 3 && used[0] == used[2] && used[0] != used[1])

        // A key of one's own is not stored, and the client reads the error that was looked at.
        keys.withLock { $0 = [] }
        let owning = try client(DPoP(key: .p256(key), clock: clock)).clientCredentials()
        for _ in 0..<3 { #expect(try await owning.token(replacing: nil).proofKey == nil) }
        let error = try await #require(throws: OAuthError.self) { try await owning.token(replacing: nil) }
        #expect(error.code == .invalidGrant)
    }

    @Test func `What has no key sends nothing, a bearer token needs no proof, and no private member is sent`()
        async throws
    {
        let stub = StubConnection { _ in Response(status: .ok) }
        let unknown = try connection(over: stub, nil)
        let error = try await #require(throws: SigningError.self) { try await unknown.send(.get(Self.api)) }
        #expect(error.reason == .noCredentials && stub.requests.isEmpty)
        for key in [SigningKey.hmac(SymmetricKey(size: .bits256)), SigningKey(.ecdsaP256) { $0 }] {
            #expect(try #require(throws: SigningError.self) { try DPoP(key: key) }.reason == .wrongKey)
        }
        let origin = try Origin(Self.api)
        let bearer = stub.provingPossession(with: try DPoP(key: .p256(key)), for: origin)
            .authenticating(with: try .bearer("t"), for: origin)
        _ = try await bearer.send(.get(Self.api))
        #expect(stub.requests.last?.head.headerFields[.proof] == nil)
        let members = ["kty": "EC", "crv": "P-256", "x": "a", "y": "b"]
        let given = SigningKey(.ecdsaP256, publicKey: members.merging(["d": "x7Rq"]) { $1 }) { $0 }
        _ = try await connection(over: stub, given).send(.get(Self.api))
        let jwt = try JWT(stub.requests.last?.head.headerFields[.proof])
        #expect(jwt.header["jwk"] as? [String: String] == members)
    }

    @Test(
        arguments: DecoratorLaw.all.excluding(
            .shownDeclarations, because: "No exchange has a token that is bound to a key."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check(adding: [.proof]) { base in
            base.provingPossession(with: try DPoP(key: .p256(key)), for: try Origin(DecoratorLaw.origin))
        }
    }
}
#endif
