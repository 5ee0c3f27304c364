#if Signing
import Crypto
import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// The examples of the RFCs, in `Fixtures/signing/proofs.json`.
struct ProofVectorTests {
    private let vectors: [String: [[String: String]]]

    init() throws {
        vectors = try JSONDecoder().decode(
            [String: [[String: String]]].self, from: Fixtures.data("signing/proofs.json"))
    }

    /// The signatures of the RFC belong to its key, and our claims are those of the RFC.
    @Test func `A proof of possession has the claims of RFC 9449`() async throws {
        let key = P256.Signing.PrivateKey()
        for row in try #require(vectors["possession"]) {
            let example = try JWT(row["proof"])
            let point = try JWT.data(row["x"]) + JWT.data(row["y"])
            #expect(example.isSigned(by: .p256(try .init(rawRepresentation: point))))
            let date = Date(timeIntervalSince1970: Double(try #require(example.claims["iat"] as? Int)))
            let (clock, url) = (VirtualClock(date: date), try #require(row["url"]))
            let dpop = try DPoP(key: .p256(key), clock: clock)
            let stub = StubConnection { _ in Response(status: .ok, body: #"{"access_token":"t","token_type":"DPoP"}"#) }
            if let token = row["token"] {
                let origin = try Origin(url)
                _ = try await stub.provingPossession(with: dpop, for: origin)
                    .authenticating(with: .field(.authorization, "DPoP \(token)"), for: origin)
                    .send(.get(url + "?page=1"))
            } else {
                _ = try await OAuthClient("app", of: AuthorizationServer(token: url), over: stub, clock: clock)
                    .provingPossession(with: dpop).clientCredentials().token(replacing: nil)
            }
            let own = try JWT(stub.requests.first?.head.headerFields[.proof])
            #expect(
                own.isSigned(by: .p256(key.publicKey)) && own.claims["iat"] as? Int == example.claims["iat"] as? Int)
            for name in ["htm", "htu", "ath", "nonce"] { #expect(own[name] == example[name], "\(name)") }
            for name in ["typ", "alg"] { #expect(own.header[name] as? String == example.header[name] as? String) }
            #expect(stub.requests.first?.options.secretFields.contains(.proof) == true)
        }
    }

    @Test func `The fields of RFC 7616, and of sessions, bodies and servers of RFC 2069, are reproduced`() throws {
        for row in try #require(vectors["digest"]) {
            func part(_ name: String) throws -> String { try #require(row[name]) }
            let challenge = try #require(([.wwwAuthenticate: part("challenge")] as HTTPFields).challenges.first)
            var session = try #require(
                DigestSession(challenge, part("user"), part("password"), clientNonce: part("clientNonce")))
            let next = session.next()
            let use = try #require(next)
            let content = row["content"].map { session.hash.digest(of: $0).hexText }
            let value = try use.fieldValue(part("method"), part("target"), row["quality"], content: content)
            #expect(value == row["field"], "\(row)")
        }
    }

    @Test func `The base strings and the signatures of RFC 5849 are reproduced`() async throws {
        for row in try #require(vectors["oauth1"]) {
            var request = try Request.post(#require(row["url"]), body: Body(row["form"] ?? ""))
            request.head.method = try #require(.init(row["method"] ?? ""))
            if row["form"] != nil { request.head.headerFields[.contentType] = "application/x-www-form-urlencoded" }
            let items = QueryItem.items(of: row["items"] ?? "", plusIsBlank: true)
            let base = OAuth1.signatureBase(
                of: request.head, origin: try Origin(request.head),
                items: (try await request.formItems() ?? []) + items)
            if let expected = row["base"] { #expect(base == expected) }
            guard let key = row["key"] else { continue }
            let code = HashAlgorithm.sha1.code(for: base, by: SymmetricKey(data: Data(key.utf8)))
            #expect(code.base64EncodedString() == row["signature"])
        }
    }

    @Test func `The web signature of RFC 7515, and the codes of each hash function, are reproduced`() async throws {
        for row in try #require(vectors["webSignature"]) {
            let key = SigningKey.hmac(SymmetricKey(data: try JWT.data(row["key"])))
            let (header, payload) = (Data((row["header"] ?? "").utf8), Data((row["payload"] ?? "").utf8))
            #expect(try await key.webSignature(header: header, payload: payload) == row["text"])
        }
        for row in try #require(vectors["hmac"]) {
            let hash = try #require(HashAlgorithm(rawValue: row["hash"] ?? ""))
            let key = SymmetricKey(data: Data("Jefe".utf8))
            #expect(hash.code(for: "what do ya want for nothing?", by: key).hexText == row["code"])
        }
    }
}

/// A token that is read without the code that wrote it.
struct JWT {
    let header: [String: Any]
    let claims: [String: Any]
    private let signature: Data
    private let input: Data

    init(_ text: String?) throws {
        let parts = try #require(text).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        header = try #require(JSONSerialization.jsonObject(with: Self.data(parts[0])) as? [String: Any])
        claims = try #require(JSONSerialization.jsonObject(with: Self.data(parts[1])) as? [String: Any])
        (signature, input) = (try Self.data(parts[2]), Data("\(parts[0]).\(parts[1])".utf8))
    }

    subscript(_ name: String) -> String? { claims[name] as? String }

    func isSigned(by key: VerifyingKey) -> Bool { key.isValid(signature, of: input) }

    static func data(_ base64URL: String?) throws -> Data {
        let text = try #require(base64URL).replacing("-", with: "+").replacing("_", with: "/")
        return try #require(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)))
    }
}

extension HTTPField.Name {
    // Safe: the literal is a valid field name.
    // swift-format-ignore: NeverForceUnwrap
    static let proof = HTTPField.Name("DPoP")!
}

extension Body {
    /// A body that can be read once.
    static func once(_ text: String) -> Body {
        Body(
            chunks: AsyncStream { continuation in
                continuation.yield(Data(text.utf8))
                continuation.finish()
            })
    }
}
#endif
