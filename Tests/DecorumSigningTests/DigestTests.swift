#if Signing
import DecorumAuthentication
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct DigestTests {
    private static let url = "https://api.example.com/notes?page=1"
    private static let challenge = #"Digest realm="door", nonce="n1", qop="auth", algorithm=SHA-256"#

    private func connection(over stub: StubConnection, allowingMD5: Bool = true) throws -> any Connection {
        let digest = try DigestCredentials(user: #"m", nc="9"#, password: "pass", allowingMD5: allowingMD5)
        return stub.authenticating(with: digest, for: try Origin(Self.url))
    }

    /// Answers a request without a proof with a 401, and one with a proof.
    private func server(
        _ challenge: String = Self.challenge,
        _ answer: @escaping @Sendable (Challenge) -> Response = { _ in Response(status: .ok, body: "in") }
    ) -> StubConnection {
        StubConnection { request in
            request.proof.map(answer) ?? Response(status: .unauthorized, fields: [.wwwAuthenticate: challenge])
        }
    }

    @Test(arguments: [
        // The first 401 is answered once, and later requests bring the proof at once; a body that can be read once is not sent
        // again.
        (["401 n1", "200", "200"], 2, false, ["", "n1 00000001", "n1 00000002"]),
        (["401 n1", "200"], 2, true, ["", "n1 00000001"]),
        // A stale nonce and a next one are replaced.
        (["401 n1", "200", "401 n2, stale=true", "200"], 2, false, ["", "n1 00000001", "n1 00000002", "n2 00000001"]),
        (["401 n1", "200 n9", "200"], 2, false, ["", "n1 00000001", "n9 00000001"]),
        // A refused password is returned as 401, and the next request begins anew.
        (["401 n1", "401 n1", "200"], 2, false, ["", "n1 00000001", ""]),
        (["401 n1", "401 n2", "200"], 2, false, ["", "n1 00000001", ""]),
    ])
    func `Challenges are answered`(answers: [String], requests: Int, isOnce: Bool, proofs: [String]) async throws {
        let stub = StubConnection()
        for answer in answers {
            stub.enqueue { _ in
                let parts = answer.split(separator: " ", maxSplits: 1).map(String.init)
                guard parts[0] == "401" else {
                    return Response(status: .ok, fields: [.authenticationInfo: "nextnonce=\(parts.dropFirst().first ?? "")"])
                }
                return Response(
                    status: .unauthorized, fields: [.wwwAuthenticate: "Digest realm=a, qop=auth, nonce=\(parts[1])"])
            }
        }
        let connection = try connection(over: stub)
        for _ in 0..<requests {
            let before = stub.requests.count
            let response = try await connection.send(.post(Self.url, body: isOnce ? .once("a") : "a"))
            #expect(response.metadata.attempts == stub.requests.count - before)
        }
        #expect(stub.requests.map { $0.proof.map { "\($0["nonce"] ?? "") \($0["nc"] ?? "")" } ?? "" } == proofs)
        #expect(stub.requests.allSatisfy { $0.options.secretFields.contains(.authorization) })
    }

    @Test(arguments: ["auth", "auth-int"], ["in", "changed"])
    func `The proof of the server is checked, for the content at its end`(quality: String, content: String) async throws
    {
        let challenge = Self.challenge.replacing("auth", with: quality)
        let server = server(challenge) { proof in
            func hash(_ text: String) -> String { HashAlgorithm.sha256.digest(of: text).hexText }
            let secret = hash("m\", nc=\"9:door:\(quality == "auth" && content == "changed" ? "guess" : "pass")")
            let covered = hash(":/notes?page=1" + (quality == "auth" ? "" : ":\(hash("in"))"))
            let text = "\(secret):n1:\(proof["nc"] ?? ""):\(proof["cnonce"] ?? ""):\(quality):\(covered)"
            return Response(
                status: .ok, fields: [.authenticationInfo: "rspauth=\"\(hash(text))\""], body: Body(content))
        }
        let connection = try connection(over: server)
        func read() async throws -> String { try await connection.send(.get(Self.url)).body.text(upTo: 10) }
        if content == "in" {
            #expect(try await read() == "in")
        } else {
            #expect(try await #require(throws: SigningError.self) { try await read() }.reason == .invalidSignature)
        }
    }

    @Test func `A body is covered if it can be read again`() async throws {
        let both = server(Self.challenge.replacing(#""auth""#, with: #""auth,auth-int""#))
        let connection = try connection(over: both)
        for (body, quality) in [("content" as Body, "auth-int"), (.empty, "auth"), (.once("content"), "auth")] {
            _ = try await connection.send(.post(Self.url, body: body))
            #expect(both.requests.last?.proof?["qop"] == quality)
        }
        let strict = server(Self.challenge.replacing("auth", with: "auth-int"))
        let demanding = try self.connection(over: strict)
        #expect(try await demanding.send(.post(Self.url, body: .once("a"))).status == .unauthorized)
        let error = try await #require(throws: SigningError.self) {
            try await demanding.send(.post(Self.url, body: .once("a")))
        }
        #expect(error.reason == .bodyReadOnce && strict.requests.count == 1)
    }

    @Test func `The strongest of several challenges is answered, and no text ends its parameter`() async throws {
        let server = server(
            #"""
            Basic realm="b", Digest realm="door", nonce="a", algorithm=MD5, qop=auth, \#
            Digest realm="a\"b\\", nonce="n\", response=\"x", algorithm=SHA-512-256, qop="auth", \#
            Digest realm="door", nonce="c", algorithm=SHA-999, qop="auth"
            """#)
        #expect(try await connection(over: server).send(.get(Self.url)).status == .ok)
        let proof = try #require(server.requests.last?.proof)
        #expect(proof["algorithm"] == "SHA-512-256" && proof["uri"] == "/notes?page=1")
        #expect(proof.realm == #"a"b\"# && proof["nonce"] == #"n", response="x"# && proof["username"] == #"m", nc="9"#)
    }

    @Test func `Many requests at once each have a number of their own`() async throws {
        let server = server()
        let connection = try connection(over: server)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await connection.send(.get(Self.url)) } }
            try await group.waitForAll()
        }
        let counts = server.requests.compactMap { $0.proof?["nc"] }
        #expect(counts.count == 100 && Set(counts).count == 100)
    }

    @Test(arguments: [
        "Digest nonce=\"" + String(repeating: "x", count: 1 << 20) + "\", realm=\"r\"",
        "Digest realm=\"r\", nonce=\"" + String(repeating: "x", count: 5_000) + "\"",
        #"Digest realm="r""#, #"Digest realm="r", nonce="", qop=auth"#,
        #"Digest realm="r", nonce="n", algorithm=ROT13"#,
        #"Digest realm="r", nonce="n", qop="auth-conf""#, #"Digest realm="r", nonce="n", nonce="m""#,
        #"Digest realm="r", nonce="n", algorithm=SHA-512"#, #"Digest realm="r", nonce="n""#,
    ])
    func `A challenge that cannot be answered is refused, and so is MD5 on demand`(challenge: String) async throws {
        let server = server(challenge)
        let connection = try connection(over: server, allowingMD5: false)
        let error = try await #require(throws: SigningError.self) { try await connection.send(.get(Self.url)) }
        #expect(error.reason == .unusableChallenge && server.requests.count == 1)
        #expect(error.description.utf8.count < 400)
    }

    @Test(arguments: [("a:b", "p"), ("a\n", "p"), ("a", "p\u{7F}"), ("\u{0}", "")])
    func `A name with a colon, and control characters, are refused`(user: String, password: String) async throws {
        let error = try #require(throws: SigningError.self) { try DigestCredentials(user: user, password: password) }
        #expect(error.reason == .invalidConfiguration)
        let basic = server("Basic realm=r")
        #expect(try await connection(over: basic).send(.get(Self.url)).status == .unauthorized)
    }

    @Test(arguments: [
        TimedParser(
            "challenges", [",", "a=b,", "qop=\"auth,", "auth ", "\\\"", "Digest realm=a,nonce=b,"], from: "Digest ",
            parse),
        TimedParser("qop", ["a", ",", "auth,", " "], from: "Digest realm=a, nonce=b, qop=\"", to: "\"", parse),
    ])
    func `Twice the challenge takes twice the time`(parser: TimedParser) { parser.expectLinearTime() }

    private static let parse: @Sendable (String) -> Void = {
        let digest = try? DigestCredentials(user: "u", password: "p")
        guard let origin = try? Origin(Self.url) else { return }
        _ = try? digest?.session(answering: [.wwwAuthenticate: $0], from: origin)
    }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No exchange has a challenge."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        let digest = try DigestCredentials(user: "me", password: "pass")
        try await law.check(adding: [.authorization]) { base in
            base.authenticating(with: digest, for: try Origin(DecoratorLaw.origin))
        }
    }
}

extension Request {
    /// The parameters of the `Authorization` field.
    fileprivate var proof: Challenge? {
        head.headerFields[.authorization].flatMap { ([.wwwAuthenticate: $0] as HTTPFields).challenges.first }
    }
}
#endif
