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
@Suite(.timeLimit(.minutes(10)), IndependentVerifier.areInstalled) struct ProofVerifierTests {
    private static let rounds = Footprint.isSoak ? 50 : 10
    private let transport = SystemConnection()
    private let generator = SeededGenerator(seed: 7)

    private func oddRequest(_ url: String) throws -> Request {
        func encoded() -> String { PercentCoding.encode(generator.oddText()) }
        let items = (0..<(generator.next() % 5)).map { _ in "\(encoded())=\(encoded())" }
        let text = "\(url)/x\(encoded())?\(items.joined(separator: "&"))"
        switch generator.next() % 4 {
        case 0: return try .get(text)
        case 1: return try .post(text, body: Body(form: [(generator.oddText(), "b"), ("a", generator.oddText())]))
        case 2: return try .put(text, body: Body(generator.oddText()))
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
        let server = try await IndependentVerifier.server("proof_server", "authlib")
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
        let server = try await IndependentVerifier.server("proof_server", "authlib")
        let httpbin = try await IndependentVerifier.server("proof_server", "httpbin")
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

/// RFC 9421 as other authors read it, in both directions, with random messages.
@Suite(.timeLimit(.minutes(10)), IndependentVerifier.areInstalled) struct IndependentSignatureTests {
    private let program = "http_message_signatures_peer"

    @Test(arguments: SignatureAlgorithm.allCases)
    func `Another library accepts what is signed here, and the other way round`(algorithm: SignatureAlgorithm)
        async throws
    {
        let keys = try KeyPair { $0.algorithm == algorithm.rawValue }
        let generator = SeededGenerator(seed: 9421)
        let messages = try (0..<(Footprint.isSoak ? 50 : 10)).map { _ in try RandomMessage(generator) }

        var requests: [PeerTask] = []
        for message in messages {
            var policy = MessageSignaturePolicy()
            (policy.components, policy.lifetime) = (message.components, .seconds(60))
            (policy.sendsAlgorithm, policy.nonce) = (message.sendsAlgorithm, MessageSignaturePolicy.randomNonce)
            (policy.tag, policy.digest) = message.sendsAlgorithm ? ("test", .sha512) : (nil, .sha256)
            var signed = try await MessageSigner(key: keys.signing, id: "key-1", policy: policy).sign(message.request)
            requests.append(try .init(signed, of: message, keys))
            // A server that gets something else refuses it.
            signed.head.headerFields[.spelled("X-Plain")] = "changed"
            requests.append(try .init(signed, of: message, keys))
        }
        let faults = try await IndependentVerifier.answers(of: program, to: requests, as: String.self)
        for (index, fault) in faults.enumerated() {
            #expect(fault.isEmpty == index.isMultiple(of: 2), "\(requests[index].url): \(fault)")
        }

        let responses = try messages.map { try PeerTask($0.request, of: $0, keys, status: 200) }
        let lines = try await IndependentVerifier.answers(of: program, to: responses, as: [[String]].self)
        for (message, lines) in zip(messages, lines) {
            let fields = HTTPFields(lines: lines)
            let content = message.request.body.bytes ?? Data()
            var policy = SignatureVerificationPolicy(covering: message.responseComponents)
            policy.tag = "test"
            let stub = StubConnection { _ in Response(status: .ok, fields: fields, body: Body(content)) }
            let connection = stub.verifyingDigests(isRequired: true)
                .verifyingSignatures(policy) { $0 == "key-1" ? keys.verifying : nil }
            let response = try await connection.send(message.request)
            #expect(try await response.body.data(upTo: 10_000) == content)
        }
    }
}

/// A request and the parts of it and of its response that are covered.
private struct RandomMessage {
    let request: Request
    let components: [SignatureComponent]
    let sendsAlgorithm: Bool
    var responseComponents: [SignatureComponent] {
        [.status, .targetURI.ofRequest] + components.filter { $0.name != "@target-uri" }.map(\.ofRequest)
    }

    init(_ generator: SeededGenerator) throws {
        let choices = try JSONDecoder().decode(
            [String: [String]].self, from: Fixtures.data("signing/random-messages.json"))
        func pick(_ name: String) -> String { generator.pick(choices[name] ?? [""]) }
        let method = generator.pick([HTTPRequest.Method.get, .post, .put, .delete, .patch])
        let length = method == .get ? 0 : generator.pick([0, 1, 1000])
        let content = Data((0..<length).map { _ in UInt8(generator.next() % 256) })
        let names = ["X-Plain", "X-Lines", "X-Lines", "X-Empty", "X-Bytes", "Priority"]
        let query = "?a=\(pick("values"))&b%20c=\(pick("values"))&%C3%A7=\(pick("values"))"
        request = try Request(
            method, "https://\(pick("hosts"))\(pick("paths"))\(query)",
            fields: HTTPFields(lines: names.map { [$0, pick($0)] }), body: Body(content))
        let (plain, all) = (SignatureComponent.field(.spelled("X-Plain")), choices["components", default: []])
        let some = all.filter { _ in generator.pick([true, false]) }.joined(separator: " ")
        let covered = try MessageSignature("s=(\(some))").components
        components = generator.pick([covered + [plain], [plain] + covered.reversed()])
        sendsAlgorithm = generator.pick([true, false])
    }
}

/// A request to check, or a response to sign, by `http-message-signatures` of PyPI.
private struct PeerTask: Encodable {
    let algorithm, method, url, content, publicKey, privateKey: String
    let fields: [[String]]
    let components: [String]
    /// The status of the response to sign; 0 to check the request.
    let status: Int, sendsAlgorithm: Bool

    init(_ request: Request, of message: RandomMessage, _ keys: KeyPair, status: Int = 0) throws {
        (self.status, sendsAlgorithm) = (status, message.sendsAlgorithm)
        (algorithm, method) = (keys.algorithm.rawValue, request.head.method.rawValue)
        (publicKey, privateKey) = (keys.publicText, keys.privateText)
        // A server knows the URL by the field Host, in which clients leave out a default port.
        url = try Origin(request.head).description + (request.head.path ?? "")
        // The library takes fields as text in Latin-1.
        fields = request.head.headerFields.map { [$0.name.rawName, String($0.value.utf8.map { .init(.init($0)) })] }
        content = (request.body.bytes ?? Data()).base64EncodedString()
        let covered = status == 0 ? message.components : message.responseComponents
        components = try covered.map { try $0.item.serialized() }
    }
}

/// Programs in `Fixtures/signing`, which run libraries of other authors.
enum IndependentVerifier {
    /// The interpreter with the libraries, which are installed once for a machine; nil if they cannot be installed.
    private static let python = Task {
        await PythonLibraries.interpreter(
            with: "moto[s3,iam,server]==5.2.5", "boto3==1.44.8", "botocore==1.44.8", "awscrt==0.38.1",
            "authlib==1.9.9", "httpbin==0.10.4", "http-message-signatures==3.0.0",
            importing: "moto.server, boto3, awscrt.auth, authlib.oauth2.rfc7523, httpbin, http_message_signatures")
    }

    static let areInstalled = ConditionTrait.enabled("libraries of PyPI cannot be installed on this machine") {
        await python.value != nil
    }

    /// A server, which runs as long as the value is kept.
    static func server(_ program: String, _ argument: String) async throws -> PythonServer {
        try await PythonServer("signing/\(program)", argument, with: python.value)
    }

    /// What a program answers to each task.
    static func answers<Answer: Decodable>(
        of program: String, to tasks: [some Encodable], as type: Answer.Type
    ) async throws -> [Answer] {
        let output = try await RunningScript.output(
            of: command(program, "check"), files: ["tasks.json": JSONEncoder().encode(tasks)])
        return try JSONDecoder().decode([Answer].self, from: output)
    }

    private static func command(_ program: String, _ argument: String) async throws -> String {
        let words = [try #require(await python.value), "-u", Fixtures.url("signing/\(program).py").path, argument]
        return words.map(RunningScript.quoted).joined(separator: " ") + " 2>/dev/null"
    }
}

extension SeededGenerator {
    func pick<Choice>(_ choices: [Choice]) -> Choice { choices[Int(next() % UInt64(choices.count))] }

    /// A text, which may be empty, of characters that encodings treat in their own ways.
    func oddText(upTo limit: UInt64 = 12) -> String {
        let characters = Array("abcXYZ0189-._~ !\"#$%&'()*+,/:;<=>?@[\\]^`{|}äß€漢字🙂😀")
        return String((0..<(next() % limit)).map { _ in pick(characters) })
    }
}
#endif
