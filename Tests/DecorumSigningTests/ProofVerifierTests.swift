#if Signing && (os(macOS) || os(Linux))
import Crypto
import CryptoExtras
import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
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

    private func expectSuccess(_ connection: some Connection, _ request: Request) async throws {
        let response = try await connection.send(request)
        let text = try await response.body.text(upTo: 10_000)
        #expect(response.status == .ok, "\(request.head.path ?? "") \(text)")
    }

    /// A text of characters that encodings treat in their own ways.
    private func oddText() -> String {
        let characters = Array("aZ09 ~+&=%/?;:,@'\"*()!$-._|\\^üß€😀")
        return String(
            (0..<Int(generator.next() % 12)).map { _ in characters[Int(generator.next() % UInt64(characters.count))] })
    }

    private func oddRequest(_ url: String) throws -> Request {
        let items = (0..<Int(generator.next() % 5)).map { _ in
            "\(PercentCoding.encode(oddText()))=\(PercentCoding.encode(oddText()))"
        }
        let text = "\(url)/\(PercentCoding.encode("x" + oddText()))?\(items.joined(separator: "&"))"
        switch generator.next() % 4 {
        case 0: return try .get(text)
        case 1: return try .post(text, body: Body(form: [(oddText(), oddText()), ("a", oddText())]))
        case 2: return try .put(text, body: Body(oddText()))
        default: return try .delete(text)
        }
    }

    @Test func `authlib accepts the signatures of OAuth 1_0a`() async throws {
        let server = try await ProofServer("authlib")
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        _ = try await transport.send(.put(server.url + "/key", body: Body(key.publicKey.pemRepresentation)))
        for signer in [
            OAuth1(consumer: "consumer", secret: "se&cret", token: "token", tokenSecret: "tok/en"),
            OAuth1(consumer: "consumer", secret: "se&cret", token: "token", tokenSecret: "tok/en", hash: .sha256),
            OAuth1(consumer: "consumer", key: key, token: "token", realm: "door"),
        ] {
            let connection = transport.authenticating(with: .signer(signer), for: try Origin(server.url))
            for _ in 0..<Self.rounds { try await expectSuccess(connection, oddRequest(server.url + "/oauth1")) }
        }
        let wrong = OAuth1(consumer: "consumer", secret: "other", token: "token", tokenSecret: "tok/en")
        let response = try await transport.authenticating(with: .signer(wrong), for: try Origin(server.url))
            .send(.get(server.url + "/oauth1"))
        #expect(response.status == .unauthorized)
    }

    @Test func `authlib accepts the assertions of a client`() async throws {
        let server = try await ProofServer("authlib")
        // The other algorithms are checked by joserfc, since authlib accepts these two only.
        for key in [SigningKey.p256(.init()), try .rsaV15(.init(keySize: .bits2048))] {
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

    @Test func `joserfc accepts the proofs of DPoP, with a nonce that changes with each request`() async throws {
        let server = try await ProofServer("authlib")
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        for key in [SigningKey.p256(.init()), .p384(.init()), .ed25519(.init()), try .rsaV15(rsa), try .rsaPSS(rsa)] {
            let origin = try Origin(server.url)
            let connection = transport.provingPossession(with: try DPoP(key: key), for: origin)
                .authenticating(with: try .field(.authorization, "DPoP token"), for: origin)
            for _ in 0..<Self.rounds { try await expectSuccess(connection, oddRequest(server.url + "/dpop")) }
        }
    }

    @Test(
        arguments: ["auth", "auth-int"],
        ["MD5", "SHA-256", "SHA-512-256", "MD5-sess", "SHA-256-sess", "SHA-512-256-sess"])
    func `hashlib has the proofs of both sides, whatever is sent`(quality: String, algorithm: String) async throws {
        let server = try await ProofServer("authlib")
        let digest = try DigestCredentials(user: "Jäsøn Doe", password: "päss")
        let connection = transport.authenticating(with: digest, for: try Origin(server.url))
        for _ in 0..<Self.rounds {
            try await expectSuccess(connection, oddRequest("\(server.url)/digest/\(algorithm)/\(quality)"))
        }
    }

    @Test(arguments: ["auth", "auth-int"], ["MD5", "SHA-256"])
    func `httpbin accepts the proofs of Digest`(quality: String, algorithm: String) async throws {
        let server = try await ProofServer("httpbin")
        let digest = try DigestCredentials(user: "me", password: "pass")
        let connection = transport.authenticating(with: digest, for: try Origin(server.url))
        for _ in 0..<Self.rounds {
            // It fails for each URL with a query, and for each path with an escape.
            try await expectSuccess(
                connection, .get("\(server.url)/digest-auth/\(quality)/me/pass/\(algorithm)"))
        }
        let wrong = transport.authenticating(
            with: try DigestCredentials(user: "me", password: "other"), for: try Origin(server.url))
        let response = try await wrong.send(.get("\(server.url)/digest-auth/\(quality)/me/pass/\(algorithm)"))
        #expect(response.status == .unauthorized)
    }
}

/// A server of `proof_server.py` in a process of its own.
///
/// Its virtual environment is made once for a machine, in the directory for temporary files.
private struct ProofServer {
    private static let packages = "authlib==1.9.9 httpbin==0.10.4"
    private static let environment = FileManager.default.temporaryDirectory
        .appending(path: "decorum-proofs-1-\(getuid())")

    let url: String
    private let script: RunningScript

    init(_ name: String) async throws {
        let python = try #require(await Self.python())
        let program = [python, "-u", Fixtures.url("signing/proof_server.py").path, name].map(RunningScript.quoted)
        script = try RunningScript("exec \(program.joined(separator: " ")) 2>/dev/null")
        let line = try await script.waitForOutput(of: "\n")
        url = "http://127.0.0.1:\(try #require(Int(line.filter(\.isNumber))))"
    }

    /// The interpreter with the libraries; nil where they cannot be installed.
    static func python() async -> String? {
        let python = environment.appending(path: "bin/python").path
        let program = RunningScript.quoted(python)
        let works = "\(program) -c 'import authlib.oauth2.rfc7523, httpbin'"
        let install = """
            python3 -m venv \(RunningScript.quoted(environment.path))
            \(program) -m pip install --quiet --retries 1 --timeout 20 \(packages)
            """
        let output = try? await RunningScript.output(of: "\(works) || { \(install)\n\(works); }")
        return output == nil ? nil : python
    }
}
#endif
