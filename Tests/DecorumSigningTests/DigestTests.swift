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

    private func credentials() throws -> DigestCredentials {
        try DigestCredentials(user: "me", password: "pass", generator: SeededGenerator(seed: 1))
    }

    private func session(
        _ challenge: String, _ user: String, _ password: String, _ clientNonce: String
    ) throws -> DigestSession {
        let challenges = ([.wwwAuthenticate: challenge] as HTTPFields).challenges
        let strongest = try #require(DigestChallenge.strongest(of: challenges, allowingMD5: true))
        var session = DigestSession(strongest, user: user, password: password, clientNonce: clientNonce)
        let use = session.next()
        return try #require(use)
    }

    /// Answers 401 to what `accepts` does not accept, with the challenge.
    private func server(
        _ challenge: String = Self.challenge, fields: HTTPFields = [:],
        accepts: @escaping @Sendable (_ proof: Challenge) -> Bool = { _ in true }
    ) -> StubConnection {
        StubConnection { request in
            guard let proof = request.proof, accepts(proof) else {
                return Response(status: .unauthorized, fields: [.wwwAuthenticate: challenge], body: "out")
            }
            return Response(status: .ok, fields: fields, body: "in")
        }
    }

    // MARK: Vectors

    /// RFC 7616, section 3.9.1, and RFC 2617, section 3.5.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func `The example with SHA-256 and MD5 has its response`(algorithm: String, expected: String) throws {
        let session = try session(
            """
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """, "Mufasa", "Circle of Life", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        #expect(
            session.fieldValue("GET", "/dir/index.html", .request, bodyHash: nil) == """
                Digest username="Mufasa", realm="http-auth@example.org", \
                nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", uri="/dir/index.html", response="\(expected)", \
                algorithm=\(algorithm), qop=auth, nc=00000001, cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", \
                opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
                """)
    }

    /// RFC 7616, section 3.9.2, with the values of its erratum 4897: the text has those of another function.
    @Test func `The example with a hashed user name has its response`() throws {
        let challenge = """
            Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
            nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", \
            charset=UTF-8, userhash=true
            """
        let clientNonce = "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v"
        let value = try session(challenge, "Jäsøn Doe", "Secret, or not?", clientNonce)
            .fieldValue("GET", "/doe.json", .request, bodyHash: nil)
        let user = "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b"
        #expect(value.hasPrefix("Digest username=\"\(user)\", realm=") && value.hasSuffix("userhash=true"))
        #expect(value.contains(#"response="3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5""#))
        let unhashed = challenge.replacing("userhash=true", with: "userhash=false")
        let plain = try session(unhashed, "Jäsøn Doe", "Secret, or not?", clientNonce)
            .fieldValue("GET", "/doe.json", .request, bodyHash: nil)
        #expect(plain.hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, realm="))
    }

    /// Computed with hashlib of Python.
    @Test(arguments: [
        (#"Digest realm="r", nonce="n""#, nil, "c155f87b326ac884071d34256c20a29e"),
        (
            #"Digest realm="r", nonce="n", qop=auth, algorithm=MD5-sess"#, DigestChallenge.Quality.request,
            "a2c9204ed7988a47b0676b32f6f89b86"
        ),
        (
            #"Digest realm="r", nonce="n", qop=auth-int, algorithm=SHA-256-sess"#, .integrity,
            "8b31aec8c545cbc9df4c6333f360df2a89fd960a756022cefcca251704ae1d79"
        ),
    ])
    func `Sessions, bodies and servers of RFC 2069 have their own responses`(
        challenge: String, quality: DigestChallenge.Quality?, expected: String
    ) async throws {
        let session = try session(challenge, "u", "p", "c")
        let hash = try await session.challenge.algorithm.hash.text(ofContentOf: "body")
        let response = session.response("POST", "/x", quality, bodyHash: quality == .integrity ? hash : nil)
        #expect(response == expected)
    }

    // MARK: The exchange

    @Test func `The first 401 is answered once, and later requests bring the proof at once`() async throws {
        let server = server()
        let connection = server.authenticating(with: try credentials(), for: try Origin(Self.url))
        for _ in 0..<3 { #expect(try await connection.send(.get(Self.url)).status == .ok) }
        let proofs = server.requests.map(\.proof)
        #expect(proofs.count == 4 && proofs[0] == nil)
        #expect(proofs.dropFirst().map { $0?["nc"] } == ["00000001", "00000002", "00000003"])
        #expect(proofs.dropFirst().allSatisfy { $0?["uri"] == "/notes?page=1" && $0?["username"] == "me" })
        #expect(server.requests.allSatisfy { $0.options.secretFields.contains(.authorization) })
    }

    @Test func `A stale nonce is replaced, and a refused password is returned as 401`() async throws {
        let digest = try credentials()
        let stale = StubConnection { request in
            switch request.proof?["nonce"] {
            case nil: Response(status: .unauthorized, fields: [.wwwAuthenticate: Self.challenge])
            case "n1" where request.proof?["nc"] == "00000001", "n2": Response(status: .ok)
            default:
                Response(
                    status: .unauthorized,
                    fields: [.wwwAuthenticate: Self.challenge.replacing("n1", with: "n2") + ", stale=true"])
            }
        }
        let connection = stale.authenticating(with: digest, for: try Origin(Self.url))
        for _ in 0..<2 { #expect(try await connection.send(.get(Self.url)).status == .ok) }
        #expect(stale.requests.map { $0.proof?["nonce"] } == [nil, "n1", "n1", "n2"])
        #expect(stale.requests.last?.proof?["nc"] == "00000001")

        let refusing = server { _ in false }
        let response = try await refusing.authenticating(with: try credentials(), for: try Origin(Self.url))
            .send(.get(Self.url))
        #expect(response.status == .unauthorized && refusing.requests.count == 2 && response.metadata.attempts == 2)
        #expect(try await response.body.text(upTo: 10) == "out")
    }

    @Test func `The next nonce of a response is used`() async throws {
        let info: HTTPFields = [.authenticationInfo: #"nextnonce="n9""#]
        let server = server(fields: info)
        let connection = server.authenticating(with: try credentials(), for: try Origin(Self.url))
        for _ in 0..<2 { _ = try await connection.send(.get(Self.url)) }
        #expect(server.requests.last?.proof?["nonce"] == "n9" && server.requests.last?.proof?["nc"] == "00000001")
    }

    @Test(arguments: [true, false])
    func `The proof of the server is checked`(isRight: Bool) async throws {
        let server = StubConnection { request in
            guard let proof = request.proof, let nonce = proof["cnonce"] else {
                return Response(status: .unauthorized, fields: [.wwwAuthenticate: Self.challenge])
            }
            let text = DigestHash.sha256.text(of: "me:door:\(isRight ? "pass" : "guess")")
            let covered = DigestHash.sha256.text(of: ":/notes?page=1")
            let value = DigestHash.sha256.text(of: "\(text):n1:\(proof["nc"] ?? ""):\(nonce):auth:\(covered)")
            return Response(
                status: .ok, fields: [.authenticationInfo: "rspauth=\"\(value)\", qop=auth, cnonce=\"\(nonce)\""])
        }
        let connection = server.authenticating(with: try credentials(), for: try Origin(Self.url))
        if isRight {
            #expect(try await connection.send(.get(Self.url)).status == .ok)
        } else {
            let error = try await #require(throws: SigningError.self) { try await connection.send(.get(Self.url)) }
            #expect(error.reason == .invalidSignature)
        }
    }

    @Test func `A proof of the content is checked at the end of the body`() async throws {
        for content in ["in", "changed"] {
            let server = StubConnection { request in
                guard let proof = request.proof, let nonce = proof["cnonce"] else {
                    return Response(
                        status: .unauthorized,
                        fields: [.wwwAuthenticate: Self.challenge.replacing("auth", with: "auth-int")])
                }
                let hash = DigestHash.sha256
                let covered = hash.text(of: ":/notes?page=1:\(hash.text(of: "in"))")
                let value = hash.text(
                    of: "\(hash.text(of: "me:door:pass")):n1:\(proof["nc"] ?? ""):\(nonce):auth-int:\(covered)")
                return Response(
                    status: .ok, fields: [.authenticationInfo: "rspauth=\"\(value)\", qop=auth-int"],
                    body: Body(content))
            }
            let response = try await server.authenticating(with: try credentials(), for: try Origin(Self.url))
                .send(.get(Self.url))
            if content == "in" {
                #expect(try await response.body.text(upTo: 10) == "in")
            } else {
                await #expect(throws: SigningError.self) { try await response.body.text(upTo: 10) }
            }
        }
    }

    @Test func `A body is covered where it can be read again`() async throws {
        let both = server(Self.challenge.replacing(#"qop="auth""#, with: #"qop="auth,auth-int""#))
        let connection = both.authenticating(with: try credentials(), for: try Origin(Self.url))
        _ = try await connection.send(.post(Self.url, body: "content"))
        #expect(both.requests.last?.proof?["qop"] == "auth-int")
        _ = try await connection.send(.get(Self.url))
        #expect(both.requests.last?.proof?["qop"] == "auth")
        _ = try await connection.send(.post(Self.url, body: .once("content")))
        #expect(both.requests.last?.proof?["qop"] == "auth" && both.requests.count == 4)

        let integrity = server(Self.challenge.replacing("auth", with: "auth-int"))
        let strict = integrity.authenticating(with: try credentials(), for: try Origin(Self.url))
        #expect(try await strict.send(.post(Self.url, body: .once("a"))).status == .unauthorized)
        let error = try await #require(throws: SigningError.self) {
            try await strict.send(.post(Self.url, body: .once("a")))
        }
        #expect(error.reason == .bodyReadOnce && integrity.requests.count == 1)
    }

    @Test func `The strongest of several challenges is answered`() async throws {
        let challenge = """
            Basic realm="b", Digest realm="door", nonce="a", algorithm=MD5, qop=auth, \
            Digest realm="door", nonce="b", algorithm=SHA-512-256, qop="auth", \
            Digest realm="door", nonce="c", algorithm=SHA-999, qop="auth"
            """
        let server = server(challenge)
        let connection = server.authenticating(with: try credentials(), for: try Origin(Self.url))
        #expect(try await connection.send(.get(Self.url)).status == .ok)
        #expect(server.requests.last?.proof?["algorithm"] == "SHA-512-256")
    }

    @Test func `Many requests at once each have a number of their own`() async throws {
        let server = server()
        let connection = server.authenticating(with: try credentials(), for: try Origin(Self.url))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await connection.send(.get(Self.url)) } }
            try await group.waitForAll()
        }
        let counts = server.requests.compactMap { $0.proof?["nc"] }
        #expect(counts.count == 100 && Set(counts).count == 100)
    }

    // MARK: Bad input

    @Test(arguments: [
        "Digest nonce=\"" + String(repeating: "x", count: 1 << 20) + "\", realm=\"r\"",
        "Digest realm=\"r\", nonce=\"" + String(repeating: "x", count: 5_000) + "\"",
        #"Digest realm="r""#, #"Digest realm="r", nonce="", qop=auth"#,
        #"Digest realm="r", nonce="n", algorithm=ROT13"#,
        #"Digest realm="r", nonce="n", qop="auth-conf""#, #"Digest realm="r", nonce="n", nonce="m""#,
        #"Digest realm="r"#,
    ])
    func `A challenge that cannot be answered is refused`(challenge: String) async throws {
        let server = server(challenge)
        let connection = server.authenticating(with: try credentials(), for: try Origin(Self.url))
        let error = try await #require(throws: SigningError.self) { try await connection.send(.get(Self.url)) }
        #expect(error.reason == .unusableChallenge && server.requests.count == 1)
        #expect(error.description.utf8.count < 400)
    }

    @Test func `A 401 without Digest is returned, and MD5 can be refused`() async throws {
        let basic = server(#"Basic realm="r""#)
        let connection = basic.authenticating(with: try credentials(), for: try Origin(Self.url))
        #expect(try await connection.send(.get(Self.url)).status == .unauthorized && basic.requests.count == 1)
        let md5 = server(#"Digest realm="r", nonce="n""#)
        let strict = md5.authenticating(
            with: try DigestCredentials(user: "me", password: "p", allowingMD5: false), for: try Origin(Self.url))
        await #expect(throws: SigningError.self) { try await strict.send(.get(Self.url)) }
    }

    @Test(arguments: [("a:b", "p"), ("a\n", "p"), ("a", "p\u{7F}"), ("\u{0}", "")])
    func `A name with a colon, and control characters, are refused`(user: String, password: String) throws {
        let error = try #require(throws: SigningError.self) {
            _ = try DigestCredentials(user: user, password: password)
        }
        #expect(error.reason == .invalidConfiguration)
    }

    @Test func `Quotation marks and backslashes cannot end a parameter`() async throws {
        let server = server(#"Digest realm="a\"b\\", nonce="n\", response=\"x", qop=auth"#)
        let connection = server.authenticating(
            with: try DigestCredentials(user: #"m", nc="9"#, password: "p"), for: try Origin(Self.url))
        #expect(try await connection.send(.get(Self.url)).status == .ok)
        let proof = try #require(server.requests.last?.proof)
        #expect(proof.realm == #"a"b\"# && proof["nonce"] == #"n", response="x"# && proof["username"] == #"m", nc="9"#)
    }

    @Test(arguments: [
        TimedParser(
            "DigestChallenge", [",", "a=b,", "qop=\"auth,", "auth ", "\\\"", "Digest realm=a,nonce=b,"], from: "Digest "
        ) {
            let challenges = ([.wwwAuthenticate: $0] as HTTPFields).challenges
            _ = DigestChallenge.strongest(of: challenges, allowingMD5: true)
        },
        TimedParser("qop", ["a", ",", "auth,", " "], from: "Digest realm=a, nonce=b, qop=\"", to: "\"") {
            let challenges = ([.wwwAuthenticate: $0] as HTTPFields).challenges
            _ = DigestChallenge.strongest(of: challenges, allowingMD5: true)
        },
    ])
    func `Twice the challenge takes twice the time`(parser: TimedParser) {
        parser.expectLinearTime()
    }

    @Test func `No description shows the password`() throws {
        let digest = try DigestCredentials(user: "me", password: "x7Rq2LmZ9sKd")
        let connection = StubConnection().authenticating(with: digest, for: try Origin(Self.url))
        for text in ["\(digest)", String(reflecting: digest), dumped(digest), "\(connection.layers)"] {
            #expect(!text.contains("x7Rq"))
        }
    }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No exchange has a challenge."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        let digest = try credentials()
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

/// The text that `dump` writes.
func dumped(_ value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
}
#endif
