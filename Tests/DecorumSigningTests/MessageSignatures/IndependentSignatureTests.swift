#if Signing && (os(macOS) || os(Linux))
import Crypto
import CryptoExtras
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// RFC 9421 as other authors read it, in both directions, with random messages.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled("http-message-signatures of PyPI cannot be installed on this machine") {
        await SignaturePeer.python() != nil
    })
struct IndependentSignatureTests {
    private static let rounds = Footprint.isSoak ? 50 : 10

    @Test(arguments: SignatureAlgorithm.allCases)
    func `Another library accepts what is signed here, and the other way round`(algorithm: SignatureAlgorithm)
        async throws
    {
        let keys = try PeerKeys(algorithm)
        var generator = SeededChoice(seed: 9421)
        let messages = try (0..<Self.rounds).map { _ in try RandomMessage(using: &generator) }

        var requests: [SignaturePeer.Task] = []
        for message in messages {
            var policy = MessageSignaturePolicy()
            policy.components = message.components
            policy.sendsAlgorithm = message.sendsAlgorithm
            policy.lifetime = .seconds(60)
            policy.nonce = MessageSignaturePolicy.randomNonce
            policy.tag = message.sendsAlgorithm ? "test" : nil
            policy.digest = message.sendsAlgorithm ? .sha512 : .sha256
            let signed = try await MessageSigner(key: keys.signing, id: "key-1", policy: policy).sign(message.request)
            requests.append(try .init(checking: signed, covering: message.components, keys))
            // A server that gets something else refuses it.
            var changed = signed
            changed.head.headerFields[.spelled("X-Plain")] = "changed"
            requests.append(try .init(checking: changed, covering: message.components, keys))
        }
        let faults = try await SignaturePeer.perform(requests, as: String.self)
        for (index, fault) in faults.enumerated() {
            #expect(fault.isEmpty == index.isMultiple(of: 2), "\(requests[index].url): \(fault)")
        }

        let responses = try messages.map { try SignaturePeer.Task(signing: $0, keys) }
        let lines = try await SignaturePeer.perform(responses, as: [[String]].self)
        for (message, lines) in zip(messages, lines) {
            let fields = HTTPFields(lines.map { HTTPField(name: .spelled($0[0]), value: $0[1]) })
            var policy = SignatureVerificationPolicy(covering: message.responseComponents)
            policy.tag = "test"
            let stub = StubConnection { _ in
                Response(status: .ok, fields: fields, body: Body(message.content))
            }
            let connection = stub.verifyingDigests(isRequired: !message.content.isEmpty)
                .verifyingSignatures(policy) { $0 == "key-1" ? keys.verifying : nil }
            let response = try await connection.send(message.request)
            #expect(try await response.body.data(upTo: 10_000) == message.content)
            var other = message.request
            other.head.path = (other.head.path ?? "") + "&z=1"
            let error = await #expect(throws: SigningError.self) { try await connection.send(other) }
            #expect(error?.reason == .invalidSignature)
        }
    }
}

/// A request and the parts of it and of its response that are covered.
private struct RandomMessage {
    let request: Request
    let components: [SignatureComponent]
    let responseComponents: [SignatureComponent]
    let content: Data
    let sendsAlgorithm: Bool

    init(using generator: inout SeededChoice) throws {
        func pick<Choice>(_ choices: [Choice]) -> Choice {
            choices[Int.random(in: 0..<choices.count, using: &generator)]
        }
        let host = pick(["a.example", "A.Example:443", "a.example:8443", "127.0.0.1:80", "[::1]:8080"])
        let path = pick(["/", "/a/b%2Fc", "/%E4%BD%A0", "/a;b=c/..", "/~x*('!)"])
        let values = (0..<3).map { _ in pick(["", "1", "a+b", "%7E~*", "%C3%A9%20x", "%22%26%3D", "a/?:@", "-._"]) }
        let query = "?a=\(values[0])&b%20c=\(values[1])&%C3%A7=\(values[2])"
        let method = pick([HTTPRequest.Method.get, .post, .put, .delete, .patch])
        content = method == .get ? Data() : Data((0..<pick([0, 1, 1000])).map { _ in UInt8(pick(Array(0...255))) })
        let fields: HTTPFields = [
            .spelled("X-Plain"): pick(["a", "a, b", "\"q\\\"\"", "a\tb"]), .spelled("X-Lines"): " one",
            .spelled("X-Lines"): "two, 2",
            .spelled("Priority"): pick(["u=1,i", "i;a=\"b\", u=7", "u=2.50,   x=(1 \"2\" :AAE=:)"]),
            .spelled("X-Empty"): "", .spelled("X-Bytes"): pick(["é", "日本", "a"]),
        ]
        request = try Request(method, "https://\(host)\(path)\(query)", fields: fields, body: Body(content))
        let plain = SignatureComponent.field(.spelled("X-Plain"))
        let lines = SignatureComponent.field(.spelled("X-Lines"))
        let priority = SignatureComponent.field(.spelled("Priority"))
        let all: [SignatureComponent] = [
            .method, .targetURI, .authority, .scheme, .requestTarget, .path, .query, .queryParameter("a"),
            .queryParameter("b c"), .queryParameter("ç"), lines, lines.asBytes, priority, priority.asStructuredField(),
            priority.member("u"), .field(.spelled("X-Empty")), .field(.spelled("X-Bytes")).asBytes, plain.asBytes,
        ]
        let covered = all.shuffled(using: &generator).prefix(Int.random(in: 0...all.count, using: &generator))
        components = ([plain] + covered).shuffled(using: &generator)
        // The value of a field that the other library decodes as Latin-1 needs its bytes.
        responseComponents = [.status, .targetURI.ofRequest] + components.filter { $0 != .targetURI }.map(\.ofRequest)
        sendsAlgorithm = Bool.random(using: &generator)
    }
}

/// The generator of the standard library's functions.
private struct SeededChoice: RandomNumberGenerator {
    private let generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { generator.next() }
}

/// A new pair of keys, for this library and for the other one.
private struct PeerKeys {
    let algorithm: SignatureAlgorithm
    let signing: SigningKey
    let verifying: VerifyingKey
    let privateText: String
    let publicText: String

    init(_ algorithm: SignatureAlgorithm) throws {
        self.algorithm = algorithm
        switch algorithm {
        case .hmacSHA256:
            let key = SymmetricKey(size: .bits256)
            (signing, verifying) = (.hmac(key), .hmac(key))
            privateText = unsafe key.withUnsafeBytes { unsafe Data($0) }.base64EncodedString()
            publicText = privateText
        case .ed25519:
            let key = Curve25519.Signing.PrivateKey()
            (signing, verifying) = (.ed25519(key), .ed25519(key.publicKey))
            // The beginnings of RFC 8410, sections 4 and 7.
            privateText = Self.pem("PRIVATE KEY", "MC4CAQAwBQYDK2VwBCIEIA==", key.rawRepresentation)
            publicText = Self.pem("PUBLIC KEY", "MCowBQYDK2VwAyEA", key.publicKey.rawRepresentation)
        case .ecdsaP256:
            let key = P256.Signing.PrivateKey()
            (signing, verifying) = (.p256(key), .p256(key.publicKey))
            (privateText, publicText) = (key.pemRepresentation, key.publicKey.pemRepresentation)
        case .ecdsaP384:
            let key = P384.Signing.PrivateKey()
            (signing, verifying) = (.p384(key), .p384(key.publicKey))
            (privateText, publicText) = (key.pemRepresentation, key.publicKey.pemRepresentation)
        case .rsaPSS, .rsaV15:
            let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            signing = try algorithm == .rsaPSS ? .rsaPSS(key) : .rsaV15(key)
            verifying = algorithm == .rsaPSS ? .rsaPSS(key.publicKey) : .rsaV15(key.publicKey)
            (privateText, publicText) = (key.pemRepresentation, key.publicKey.pemRepresentation)
        }
    }

    private static func pem(_ name: String, _ start: String, _ key: Data) -> String {
        let content = ((Data(base64Encoded: start) ?? Data()) + key).base64EncodedString()
        return "-----BEGIN \(name)-----\n\(content)\n-----END \(name)-----\n"
    }
}

/// The library `http-message-signatures` of PyPI, in a virtual environment that is made once for a machine.
private enum SignaturePeer {
    /// A request to check, or a response to sign.
    struct Task: Encodable {
        let algorithm: String
        let method: String
        let url: String
        let fields: [[String]]
        let content: String
        let components: [String]
        let publicKey: String
        let privateKey: String
        /// The status of the response to sign; 0 to check the request.
        var status = 0
        var responseFields: [[String]] = []
        var sendsAlgorithm = false

        init(checking request: Request, covering components: [SignatureComponent], _ keys: PeerKeys) throws {
            algorithm = keys.algorithm.rawValue
            method = request.head.method.rawValue
            // A server knows the URL by the field Host, in which clients leave out a default port.
            url = try Origin(request.head).description + (request.head.path ?? "")
            // The library takes fields as text in Latin-1.
            fields = request.head.headerFields.map {
                [$0.name.rawName, String($0.value.utf8.map { Character(.init($0)) })]
            }
            content = (request.body.bytes ?? Data()).base64EncodedString()
            self.components = try components.map { try $0.item.serialized() }
            publicKey = keys.publicText
            privateKey = keys.privateText
        }

        init(signing message: RandomMessage, _ keys: PeerKeys) throws {
            try self.init(checking: message.request, covering: message.responseComponents, keys)
            status = 200
            responseFields = [["Content-Type", "text/plain"]]
            sendsAlgorithm = message.sendsAlgorithm
        }
    }

    private static let version = "3.0.0"
    private static let environment = FileManager.default.temporaryDirectory
        .appending(path: "decorum-http-message-signatures-\(version)-\(getuid())")

    /// The interpreter with the library; nil where the library cannot be installed.
    static func python() async -> String? {
        let python = environment.appending(path: "bin/python").path
        let program = RunningScript.quoted(python)
        let works = "\(program) -c 'import http_message_signatures'"
        let install = """
            python3 -m venv \(RunningScript.quoted(environment.path))
            \(program) -m pip install --quiet --retries 1 --timeout 20 http-message-signatures==\(version)
            """
        let output = try? await RunningScript.output(of: "\(works) || { \(install)\n\(works); }")
        return output == nil ? nil : python
    }

    static func perform<Outcome: Decodable>(_ tasks: [Task], as type: Outcome.Type) async throws -> [Outcome] {
        let python = RunningScript.quoted(try #require(await python()))
        let script = RunningScript.quoted(Fixtures.url("signing/http_message_signatures_peer.py").path)
        let output = try await RunningScript.output(
            of: "\(python) \(script)", files: ["tasks.json": JSONEncoder().encode(tasks)])
        return try JSONDecoder().decode([Outcome].self, from: output)
    }
}
#endif
