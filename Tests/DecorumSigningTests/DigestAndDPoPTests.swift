#if Signing
import Crypto
import DecorumAuthentication
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct DigestAndDPoPTests {
    /// What a server answers, and which proofs it gets.
    private struct Exchange: Decodable {
        let name, scheme: String
        /// A status and fields each; `{5000}` stands for so many bytes.
        let answers: [[String]]
        /// The body of each request; `once` can be read once.
        let bodies: [String]
        /// The parameters of each proof to compare.
        let shows: String
        let proofs: [String]
        let error: String?
        let allowsMD5: Bool?
    }

    private static let api = "https://api.example.com/notes?page=1"
    private static let tokenURL = "https://id.example.com/token"
    private let clock = VirtualClock()
    private let key = P256.Signing.PrivateKey()

    private func proving(_ key: SigningKey?, _ token: String, over stub: StubConnection) throws -> any Connection {
        let origin = try Origin(Self.api)
        return stub.provingPossession(with: try DPoP(key: key, clock: clock), for: origin)
            .authenticating(with: try .field(.authorization, token), for: origin)
    }

    private static func response(_ lines: [String]) throws -> Response {
        var response = Response(status: .init(code: try #require(Int(lines[0]))), body: "in")
        for line in lines.dropFirst() {
            let parts = line.replacing("{MiB}", with: String(repeating: "x", count: 1 << 20))
                .replacing("{5000}", with: String(repeating: "x", count: 5000)).split(separator: ": ", maxSplits: 1)
            let value = parts.count > 1 ? String(parts[1]) : ""
            response.head.headerFields[try #require(.init(String(parts[0])))] = value
            if parts[0] == "X-Decoded" { response.metadata.decodedContentCodings = [value] }
        }
        return response
    }

    @Test func `Servers get the proofs that they demand`() async throws {
        for row in try Fixtures.rows("signing/exchanges.json", of: Exchange.self) {
            let stub = StubConnection()
            for answer in row.answers { stub.enqueue { _ in try Self.response(answer) } }
            let digest = try DigestCredentials(
                user: #"m", nc="9"#, password: "pass", allowingMD5: row.allowsMD5 ?? true)
            var connection = try proving(.p256(key), "DPoP t", over: stub)
            if row.scheme == "digest" { connection = stub.authenticating(with: digest, for: try Origin(Self.api)) }
            var reason: String?
            for body in row.bodies {
                let before = stub.requests.count
                do {
                    let response = try await connection.send(
                        .post(Self.api, body: body == "once" ? .once([Data("a".utf8)]) : Body(body)))
                    #expect(response.metadata.attempts == stub.requests.count - before, "\(row.name)")
                    #expect(try await response.body.text(upTo: 10) == "in")
                } catch let error as SigningError {
                    reason = error.reason.name
                    #expect(error.description.utf8.count < 400)
                }
            }
            let proofs = try stub.requests.map { request in
                let fields = request.head.headerFields
                let challenges = ([.wwwAuthenticate: fields[.authorization] ?? ""] as HTTPFields).challenges
                let jwt = try fields[.proof].map { try JWT($0) }
                #expect(request.options.secretFields.contains(jwt == nil ? .authorization : .proof))
                return row.shows.split(separator: " ").compactMap {
                    jwt == nil ? challenges.first?[String($0)] : jwt?[String($0)]
                }.joined(separator: " ")
            }
            #expect(proofs == row.proofs && reason == row.error, "\(row.name)")
        }
    }

    @Test func `Many requests at once each have a number of their own`() async throws {
        let stub = StubConnection { request in
            let challenge = ["401", "WWW-Authenticate: Digest realm=r, nonce=n, qop=auth"]
            return try Self.response(request.head.headerFields[.authorization] == nil ? challenge : ["200"])
        }
        let digest = try DigestCredentials(user: "me", password: "pass")
        let connection = stub.authenticating(with: digest, for: try Origin(Self.api))
        await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await connection.send(.get(Self.api)) } }
        }
        let numbers = stub.requests.compactMap {
            $0.head.headerFields[.authorization]?.firstMatch(of: /nc=(\w+)/)?.output.1
        }
        #expect(numbers.count == 100 && Set(numbers).count == 100)
    }

    @Test(arguments: [("a:b", "p"), ("a\n", "p"), ("a", "p\u{7F}"), ("\u{0}", "")])
    func `A name with a colon, and control characters, are refused`(user: String, password: String) throws {
        let error = try #require(throws: SigningError.self) { try DigestCredentials(user: user, password: password) }
        #expect(error.reason == .invalidConfiguration)
    }

    @Test func `The key of a session is kept with its token, and used after a restart`() async throws {
        let keys = Mutex<[String?]>([])
        // It demands a nonce once, and binds tokens to the key of the proof.
        let server = StubConnection { request in
            let proof = try JWT(request.head.headerFields[.proof])
            #expect(proof["htu"] == Self.tokenURL && proof["htm"] == "POST" && proof["ath"] == nil)
            let (isKnown, isOver) = (proof["nonce"] != nil, keys.withLock { $0.count == 3 })
            var response = try Self.response(["400", "DPoP-Nonce: id-\(isOver ? 2 : 1)"])
            response.body = isOver ? #"{"error":"invalid_grant"}"# : #"{"error":"use_dpop_nonce"}"#
            guard isKnown, !isOver else { return response }
            keys.withLock { $0.append(proof.key?["x"]) }
            return Response(
                status: .ok, body: #"{"access_token":"t","token_type":"DPoP","expires_in":60,"refresh_token":"r"}"#)
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
        for _ in 0..<2 {
            #expect(try await connection.send(.get(Self.api)).status == .ok)
            clock.advance(by: .seconds(120))
        }
        let own = try P256.Signing.PrivateKey(rawRepresentation: #require(first.proofKey)).publicKey
        for request in api.requests { #expect(try JWT(request.head.headerFields[.proof]).isSigned(by: .p256(own))) }
        let used = keys.withLock { $0 }
        #expect(used.count == 3 && used[0] == used[2] && used[0] != used[1])

        // The client reads the error that was looked at, and a key of one's own is not stored.
        let owning = try client(DPoP(key: .p256(key), clock: clock)).clientCredentials()
        let error = try await #require(throws: OAuthError.self) { try await owning.token(replacing: nil) }
        keys.withLock { $0 = [] }
        let token = try await owning.token(replacing: nil)
        #expect(error.code == .invalidGrant && token.type == "DPoP" && token.proofKey == nil)
    }

    @Test func `Without a key nothing is sent, a bearer token needs no proof, and no private member is sent`()
        async throws
    {
        let stub = StubConnection { _ in Response(status: .ok) }
        let unknown = try proving(nil, "DPoP t", over: stub)
        let error = try await #require(throws: SigningError.self) { try await unknown.send(.get(Self.api)) }
        #expect(error.reason == .noCredentials && stub.requests.isEmpty)
        for key in [SigningKey.hmac(SymmetricKey(size: .bits256)), SigningKey(.ecdsaP256) { $0 }] {
            #expect(try #require(throws: SigningError.self) { try DPoP(key: key) }.reason == .wrongKey)
        }
        _ = try await proving(.p256(key), "Bearer t", over: stub).send(.get(Self.api))
        #expect(stub.requests.last?.head.headerFields[.proof] == nil)
        let members = ["kty": "EC", "crv": "P-256", "x": "a", "y": "b"]
        let given = SigningKey(.ecdsaP256, publicKey: members.merging(["d": "x7Rq"]) { $1 }) { $0 }
        _ = try await proving(given, "DPoP t", over: stub).send(.get(Self.api))
        #expect(try JWT(stub.requests.last?.head.headerFields[.proof]).key == members)
    }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No exchange has a challenge or a token."))
    func `The layers keep the laws`(law: DecoratorLaw) async throws {
        let digest = try DigestCredentials(user: "me", password: "pass")
        try await law.check(adding: [.authorization]) { base in
            base.authenticating(with: digest, for: try Origin(DecoratorLaw.origin))
        }
        try await law.check(adding: [.proof]) { base in
            base.provingPossession(with: try DPoP(key: .p256(key)), for: try Origin(DecoratorLaw.origin))
        }
    }
}
#endif
