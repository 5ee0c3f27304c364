#if Signing && (os(macOS) || os(Linux))
import Crypto
import CryptoExtras
import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumSigning

/// Proofs over a socket, checked by libraries of other authors.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled("authlib and httpbin of PyPI cannot be installed on this machine") { await ProofServer.python() != nil })
struct ProofVerifierTests {
    private static let rounds = Footprint.isSoak ? 50 : 10
    private let transport = SystemConnection()
    private let generator = SeededGenerator(seed: 7)

    private func number(below limit: UInt64) -> Int { Int(generator.next() % limit) }

    /// A text of characters that encodings treat in their own ways.
    private func oddText() -> String {
        let characters = Array("aZ09 ~+&=%/?;:,@'\"*()!$-._|\\^üß€😀")
        return String((0..<number(below: 12)).map { _ in characters[number(below: UInt64(characters.count))] })
    }

    private func oddRequest(_ url: String) throws -> Request {
        let items = (0..<number(below: 5)).map { _ in
            "\(PercentCoding.encode(oddText()))=\(PercentCoding.encode(oddText()))"
        }
        let text = "\(url)/\(PercentCoding.encode("x" + oddText()))?\(items.joined(separator: "&"))"
        switch number(below: 4) {
        case 0: return try .get(text)
        case 1: return try .post(text, body: Body(form: [(oddText(), oddText()), ("a", oddText())]))
        case 2: return try .put(text, body: Body(oddText()))
        default: return try .delete(text)
        }
    }

    private func expectSuccess(_ connection: some Connection, _ request: () throws -> Request) async throws {
        for _ in 0..<Self.rounds {
            let request = try request()
            let response = try await connection.send(request)
            let text = try await response.body.text(upTo: 10_000)
            #expect(response.status == .ok, "\(request.head.path ?? "") \(text)")
        }
    }

    @Test func `authlib accepts signatures of OAuth 1_0a and assertions, and joserfc proofs of DPoP`() async throws {
        let server = try await ProofServer("authlib")
        let origin = try Origin(server.url)
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        _ = try await transport.send(.put(server.url + "/key", body: Body(rsa.publicKey.pemRepresentation)))
        for signer in [
            OAuth1(consumer: "consumer", secret: "se&cret", token: "token", tokenSecret: "tok/en"),
            OAuth1(consumer: "consumer", secret: "se&cret", token: "token", tokenSecret: "tok/en", hash: .sha256),
            OAuth1(consumer: "consumer", key: rsa, token: "token", realm: "door"),
        ] {
            let connection = transport.authenticating(with: .signer(signer), for: origin)
            try await expectSuccess(connection) { try oddRequest(server.url + "/oauth1") }
        }
        let wrong = OAuth1(consumer: "consumer", secret: "other", token: "token", tokenSecret: "tok/en")
        let refusal = try await transport.authenticating(with: .signer(wrong), for: origin)
            .send(.get(server.url + "/oauth1"))
        #expect(refusal.status == .unauthorized)

        for key in [SigningKey.p256(.init()), .p384(.init()), .ed25519(.init()), try .rsaPSS(rsa), try .rsaV15(rsa)] {
            // The nonce changes with each request.
            let connection = transport.provingPossession(with: try DPoP(key: key), for: origin)
                .authenticating(with: try .field(.authorization, "DPoP token"), for: origin)
            try await expectSuccess(connection) { try oddRequest(server.url + "/dpop") }
            // authlib accepts assertions of these two algorithms only.
            guard [.ecdsaP256, .rsaV15].contains(key.algorithm) else { continue }
            let members = try JSONEncoder().encode(try #require(key.publicKey))
            _ = try await transport.send(.put(server.url + "/key", body: Body(members)))
            let client = OAuthClient(
                "app", of: try AuthorizationServer(token: server.url + "/token"),
                authentication: try .privateKeyJWT(key), over: transport)
            for _ in 0..<Self.rounds {
                #expect(try await client.clientCredentials().token(replacing: nil).accessToken == "t")
            }
        }
    }

    @Test func `hashlib has the proofs of both sides of Digest, and httpbin accepts them`() async throws {
        let (server, httpbin) = (try await ProofServer("authlib"), try await ProofServer("httpbin"))
        for quality in ["auth", "auth-int"] {
            for algorithm in ["MD5", "SHA-256", "SHA-512-256"].flatMap({ [$0, "\($0)-sess"] }) {
                let digest = try DigestCredentials(user: "Jäsøn Doe", password: "päss")
                let connection = transport.authenticating(with: digest, for: try Origin(server.url))
                try await expectSuccess(connection) { try oddRequest("\(server.url)/digest/\(algorithm)/\(quality)") }
            }
            for algorithm in ["MD5", "SHA-256"] {
                // It fails for each URL with a query, and for each path with an escape.
                let url = "\(httpbin.url)/digest-auth/\(quality)/me/pass/\(algorithm)"
                let digest = try DigestCredentials(user: "me", password: "pass")
                let connection = transport.authenticating(with: digest, for: try Origin(url))
                try await expectSuccess(connection) { try .get(url) }
                let wrong = try DigestCredentials(user: "me", password: "other")
                let refusal = try await transport.authenticating(with: wrong, for: try Origin(url)).send(.get(url))
                #expect(refusal.status == .unauthorized)
            }
        }
    }
}

/// A server of `proof_server.py` in a process of its own, with a virtual environment that is made once for a machine.
private struct ProofServer {
    let url: String
    private let script: RunningScript

    init(_ name: String) async throws {
        let python = try #require(await Self.python())
        let program = [python, "-u", Fixtures.url("signing/proof_server.py").path, name].map(RunningScript.quoted)
        script = try RunningScript("exec \(program.joined(separator: " ")) 2>/dev/null")
        let line = try await script.waitForOutput(of: "\n")
        url = "http://127.0.0.1:\(try #require(Int(line.filter(\.isNumber))))"
    }

    /// The interpreter with the libraries; nil if they cannot be installed.
    static func python() async -> String? {
        let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-proofs-1-\(getuid())").path
        let program = RunningScript.quoted(folder + "/bin/python")
        let works = "\(program) -c 'import authlib.oauth2.rfc7523, httpbin'"
        let install = "\(program) -m pip install --quiet --retries 1 --timeout 20 authlib==1.9.9 httpbin==0.10.4"
        let making = "python3 -m venv \(RunningScript.quoted(folder))\n\(install)\n\(works)"
        let output = try? await RunningScript.output(of: "\(works) || { \(making); }")
        return output == nil ? nil : folder + "/bin/python"
    }
}
#endif
