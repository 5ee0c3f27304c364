#if Signing
import Crypto
import CryptoExtras
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

    private func dpop(_ key: SigningKey? = nil) throws -> DPoP {
        try DPoP(key: key, clock: clock, generator: SeededGenerator(seed: 1))
    }

    /// A connection whose requests have a token, which is bound to the key of the test.
    private func connection(over stub: StubConnection, _ dpop: DPoP? = nil) throws -> any Connection {
        let origin = try Origin(Self.api)
        let own = try dpop ?? self.dpop(.p256(key))
        return stub.provingPossession(with: own, for: origin)
            .authenticating(
                with: try .field(.authorization, "DPoP Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"), for: origin)
    }

    private static func demand(_ nonce: String?, status: HTTPResponse.Status = .unauthorized) -> Response {
        var response = Response(
            status: status, fields: [.wwwAuthenticate: #"DPoP error="use_dpop_nonce", algs="ES256""#],
            body: #"{"error":"use_dpop_nonce"}"#)
        if let nonce { response.head.headerFields[.nonce] = nonce }
        return response
    }

    // MARK: Vectors

    /// RFC 9449, sections 4.1, 5 and 7.1: the signatures of the RFC belong to its key, and our claims are those of the RFC.
    @Test(arguments: [
        (
            """
            eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQy\
            VVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiIt\
            QndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2f\
            Q.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg
            """, "POST https://server.example.com/token", nil as String?
        ),
        (
            """
            eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQy\
            VVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJl\
            MWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhd\
            CI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOp\
            txRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA
            """, "GET https://resource.example.org/protectedresource", "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
        ),
    ])
    func `The examples of the RFC have our claims`(text: String, request: String, token: String?) async throws {
        let example = try JWT(text)
        let point =
            try JWT.data("l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs")
            + JWT.data("9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA")
        #expect(example.isSigned(by: .p256(try .init(rawRepresentation: point))))
        let (identifier, date) = (try #require(example["jti"]), try #require(example.numbers["iat"]))
        let parts = request.split(separator: " ")
        let proof = DPoPProof(
            method: String(parts[0]), url: String(parts[1]), token: token, nonce: nil,
            date: Date(timeIntervalSince1970: Double(date)), identifier: identifier)
        let own = try JWT(await proof.text(by: .p256(key)))
        #expect(own.isSigned(by: .p256(key.publicKey)) && own.header == example.header)
        #expect(own.numbers == example.numbers)
        for name in ["jti", "htm", "htu", "ath", "nonce"] { #expect(own[name] == example[name], "\(name)") }
    }

    @Test func `A proof has the URL without its query, and the public key alone`() async throws {
        let stub = StubConnection(Response(status: .ok))
        _ = try await connection(over: stub).send(.get(Self.api))
        let text = try #require(stub.requests.first?.head.headerFields[.proof])
        let jwt = try JWT(text)
        #expect(jwt["htu"] == "https://api.example.com/notes" && jwt["htm"] == "GET")
        #expect(jwt["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo" && jwt["nonce"] == nil)
        #expect(jwt.numbers == ["iat": 1_700_000_000] && jwt.header["typ"] == "dpop+jwt")
        let header = try JSONSerialization.jsonObject(with: JWT.data(String(text.prefix { $0 != "." })))
        let members = (header as? [String: Any])?["jwk"] as? [String: String]
        #expect(members.map { Set($0.keys) } == ["kty", "crv", "x", "y"])
        #expect(stub.requests.first?.options.secretFields.contains(.proof) == true)
    }

    // MARK: Nonces

    @Test func `A nonce is learnt from each response, and used once it is known`() async throws {
        let seen = Seen()
        let stub = StubConnection { _ in
            let count = seen.add()
            var response = Response(status: .ok)
            if count < 3 { response.head.headerFields[.nonce] = "n\(count)" }
            return response
        }
        let connection = try connection(over: stub)
        for _ in 0..<4 { _ = try await connection.send(.get(Self.api)) }
        let proofs = try stub.requests.map { try JWT(#require($0.head.headerFields[.proof])) }
        #expect(proofs.map { $0["nonce"] } == [nil, "n1", "n2", "n2"])
        #expect(Set(proofs.compactMap { $0["jti"] }).count == 4)
    }

    @Test func `A request is sent once more with the nonce that its server demands`() async throws {
        let stub = StubConnection { request in
            let proof = try JWT(try #require(request.head.headerFields[.proof]))
            return proof["nonce"] == "n1" ? Response(status: .ok) : Self.demand("n1")
        }
        let connection = try connection(over: stub)
        let response = try await connection.send(.post(Self.api, body: "a"))
        #expect(response.status == .ok && stub.requests.count == 2 && response.metadata.attempts == 2)
        #expect(try await connection.send(.get(Self.api)).status == .ok && stub.requests.count == 3)
    }

    @Test func `A request is not sent again for ever, nor with a nonce that was refused`() async throws {
        let seen = Seen()
        let changing = StubConnection { _ in Self.demand("n\(seen.add())") }
        let response = try await connection(over: changing).send(.get(Self.api))
        #expect(response.status == .unauthorized && changing.requests.count == 2)

        let same = StubConnection { _ in Self.demand("n") }
        let connection = try connection(over: same)
        for _ in 0..<2 { #expect(try await connection.send(.get(Self.api)).status == .unauthorized) }
        #expect(same.requests.count == 3)

        let other = StubConnection { _ in
            Response(
                status: .unauthorized, fields: [.wwwAuthenticate: #"DPoP error="invalid_token""#, .nonce: "n"])
        }
        #expect(try await self.connection(over: other).send(.get(Self.api)).status == .unauthorized)
        #expect(other.requests.count == 1)
    }

    @Test func `A body that can be read once is not sent again, but its nonce is kept`() async throws {
        let stub = StubConnection { _ in Self.demand("n1") }
        let connection = try connection(over: stub)
        let response = try await connection.send(.post(Self.api, body: .once("a")))
        #expect(response.status == .unauthorized && stub.requests.count == 1)
        _ = try await connection.send(.post(Self.api, body: .once("a")))
        let proof = try JWT(#require(stub.requests.last?.head.headerFields[.proof]))
        #expect(proof["nonce"] == "n1")
    }

    @Test(arguments: [String(repeating: "x", count: 1 << 20), "a b", "a\"b", "", "a\\b", "ü"])
    func `A nonce that no server may give is refused`(nonce: String) async throws {
        let stub = StubConnection { _ in Self.demand(nonce) }
        let connection = try connection(over: stub)
        let error = try await #require(throws: SigningError.self) { _ = try await connection.send(.get(Self.api)) }
        #expect(error.reason == .unusableChallenge && stub.requests.count == 1 && error.description.utf8.count < 300)
    }

    // MARK: Tokens

    /// A token endpoint that demands a nonce once, and binds tokens to the key of the proof.
    private func tokenServer(_ keys: Seen) -> StubConnection {
        StubConnection { request in
            let text = try #require(request.head.headerFields[.proof])
            let proof = try JWT(text)
            #expect(proof["htu"] == Self.tokenURL && proof["htm"] == "POST" && proof["ath"] == nil)
            guard proof["nonce"] == "id-1" else { return Self.demand("id-1", status: .badRequest) }
            keys.add(String(text.prefix { $0 != "." }))
            return Response(
                status: .ok, fields: [.contentType: "application/json", .nonce: "id-1"],
                body: #"{"access_token":"t","token_type":"DPoP","expires_in":60,"refresh_token":"r"}"#)
        }
    }

    @Test func `The key of a session is kept with its token, and used after a restart`() async throws {
        let keys = Seen()
        let server = tokenServer(keys)
        let client = try OAuthClient("app", of: AuthorizationServer(token: Self.tokenURL), over: server, clock: clock)
            .provingPossession(with: dpop())
        let first = try await client.clientCredentials().token(replacing: nil)
        #expect(first.type == "DPoP" && first.proofKey?.count == 32 && server.requests.count == 2)
        let other = try await client.clientCredentials().token(replacing: nil)
        #expect(other.proofKey != first.proofKey)

        // A new process has the stored form alone.
        let stored = try Token(storedForm: first.storedForm)
        #expect(stored == first)
        let dpop = try dpop()
        let again = try OAuthClient("app", of: AuthorizationServer(token: Self.tokenURL), over: server, clock: clock)
            .provingPossession(with: dpop)
        let api = StubConnection { _ in Response(status: .ok) }
        let tokens = Tokens(in: MemoryTokenStore(stored), from: again.refreshing(), clock: clock)
        let origin = try Origin(Self.api)
        let connection = api.provingPossession(with: dpop, for: origin).authenticating(with: tokens, for: origin)
        #expect(try await connection.send(.get(Self.api)).status == .ok)
        clock.advance(by: .seconds(120))
        #expect(try await connection.send(.get(Self.api)).status == .ok)
        let own = VerifyingKey.p256(
            try P256.Signing.PrivateKey(rawRepresentation: try #require(first.proofKey)).publicKey)
        for request in api.requests {
            #expect(request.head.headerFields[.authorization] == "DPoP t")
            #expect(try JWT(#require(request.head.headerFields[.proof])).isSigned(by: own))
        }
        let used = keys.all
        #expect(used.count == 3 && used[0] == used[2] && used[0] != used[1] && api.requests.count == 2)
    }

    @Test func `A client with a key of its own stores none, and bearer tokens pass without a proof`() async throws {
        let server = tokenServer(Seen())
        let client = try OAuthClient("app", of: AuthorizationServer(token: Self.tokenURL), over: server, clock: clock)
            .provingPossession(with: dpop(.p256(key)))
        let token = try await client.clientCredentials().token(replacing: nil)
        #expect(token.type == "DPoP" && token.proofKey == nil)

        let api = StubConnection(Response(status: .ok))
        let origin = try Origin(Self.api)
        let bearer = api.provingPossession(with: try dpop(.p256(key)), for: origin)
            .authenticating(with: try .bearer("t"), for: origin)
        _ = try await bearer.send(.get(Self.api))
        #expect(api.requests.first?.head.headerFields[.proof] == nil)
    }

    @Test func `The 400 of a token endpoint is read again by the client`() async throws {
        let stub = StubConnection { _ in
            Response(status: .badRequest, fields: [.nonce: "n"], body: #"{"error":"invalid_grant"}"#)
        }
        let client = try OAuthClient("app", of: AuthorizationServer(token: Self.tokenURL), over: stub, clock: clock)
            .provingPossession(with: dpop())
        let error = try await #require(throws: OAuthError.self) {
            _ = try await client.clientCredentials().token(replacing: nil)
        }
        #expect(error.code == .invalidGrant && stub.requests.count == 1)
    }

    // MARK: Bad input

    @Test func `A token whose key is not known, and keys of the wrong kind, send nothing`() async throws {
        let stub = StubConnection(Response(status: .ok))
        let connection = try connection(over: stub, dpop())
        let error = try await #require(throws: SigningError.self) { _ = try await connection.send(.get(Self.api)) }
        #expect(error.reason == .noCredentials && stub.requests.isEmpty)
        for key in [SigningKey.hmac(SymmetricKey(size: .bits256)), SigningKey(.ecdsaP256) { $0 }] {
            let error = try #require(throws: SigningError.self) { _ = try DPoP(key: key) }
            #expect(error.reason == .wrongKey)
        }
    }

    @Test func `A private member of a given key is not sent`() async throws {
        let given = SigningKey(.ecdsaP256, publicKey: ["kty": "EC", "crv": "P-256", "x": "a", "y": "b", "d": "x7Rq"]) {
            $0
        }
        let stub = StubConnection(Response(status: .ok))
        _ = try await connection(over: stub, dpop(given)).send(.get(Self.api))
        let text = try #require(stub.requests.first?.head.headerFields[.proof])
        #expect(!String(decoding: try JWT.data(String(text.prefix { $0 != "." })), as: UTF8.self).contains("x7Rq"))
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

/// What a server has seen.
private final class Seen: Sendable {
    private let state = Mutex<[String]>([])

    var all: [String] { state.withLock { $0 } }

    /// Adds a text.
    ///
    /// - Returns: The number of texts.
    @discardableResult func add(_ text: String = "") -> Int {
        state.withLock {
            $0.append(text)
            return $0.count
        }
    }
}

extension HTTPField.Name {
    // Safe: the literals are valid field names.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let proof = HTTPField.Name("DPoP")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let nonce = HTTPField.Name("DPoP-Nonce")!
}
#endif
