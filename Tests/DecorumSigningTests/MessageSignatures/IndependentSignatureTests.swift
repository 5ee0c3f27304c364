#if Signing && (os(macOS) || os(Linux))
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
    .enabled("http-message-signatures of PyPI cannot be installed on this machine") { await PeerTask.python() != nil })
struct IndependentSignatureTests {
    @Test(arguments: SignatureAlgorithm.allCases)
    func `Another library accepts what is signed here, and the other way round`(algorithm: SignatureAlgorithm)
        async throws
    {
        let keys = try KeyPair.first { $0.algorithm == algorithm.rawValue }
        let generator = SeededGenerator(seed: 9421)
        let messages = try (0..<(Footprint.isSoak ? 50 : 10)).map { _ in try RandomMessage(generator) }

        var requests: [PeerTask] = []
        for message in messages {
            var policy = MessageSignaturePolicy()
            (policy.components, policy.lifetime) = (message.components, .seconds(60))
            (policy.sendsAlgorithm, policy.nonce) = (message.sendsAlgorithm, MessageSignaturePolicy.randomNonce)
            (policy.tag, policy.digest) = message.sendsAlgorithm ? ("test", .sha512) : (nil, .sha256)
            var signed = try await MessageSigner(key: keys.signing, id: "key-1", policy: policy).sign(message.request)
            requests.append(try .init(signed, covering: message.components, keys))
            // A server that gets something else refuses it.
            signed.head.headerFields[.spelled("X-Plain")] = "changed"
            requests.append(try .init(signed, covering: message.components, keys))
        }
        let faults = try await PeerTask.perform(requests, as: String.self)
        for (index, fault) in faults.enumerated() {
            #expect(fault.isEmpty == index.isMultiple(of: 2), "\(requests[index].url): \(fault)")
        }

        let responses = try messages.map { message in
            var task = try PeerTask(message.request, covering: message.responseComponents, keys)
            (task.status, task.sendsAlgorithm) = (200, message.sendsAlgorithm)
            return task
        }
        let lines = try await PeerTask.perform(responses, as: [[String]].self)
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
        func pick<Choice>(_ choices: [Choice]) -> Choice { choices[Int(generator.next() % UInt64(choices.count))] }
        let host = pick(["a.example", "A.Example:443", "a.example:8443", "127.0.0.1:80", "[::1]:8080"])
        let path = pick(["/", "/a/b%2Fc", "/%E4%BD%A0", "/a;b=c/..", "/~x*('!)"])
        let values = (0..<3).map { _ in pick(["", "1", "a+b", "%7E~*", "%C3%A9%20x", "%22%26%3D", "a/?:@", "-._"]) }
        let query = "?a=\(values[0])&b%20c=\(values[1])&%C3%A7=\(values[2])"
        let method = pick([HTTPRequest.Method.get, .post, .put, .delete, .patch])
        let length = method == .get ? 0 : pick([0, 1, 1000])
        let fields: HTTPFields = [
            .spelled("X-Plain"): pick(["a", "a, b", "\"q\\\"\"", "a\tb"]), .spelled("X-Lines"): " one",
            .spelled("X-Lines"): "two, 2", .spelled("X-Empty"): "", .spelled("X-Bytes"): pick(["é", "日本", "a"]),
            .priority: pick(["u=1,i", "i;a=\"b\", u=7", "u=2.50,   x=(1 \"2\" :AAE=:)"]),
        ]
        let content = Data((0..<length).map { _ in UInt8(generator.next() % 256) })
        request = try Request(method, "https://\(host)\(path)\(query)", fields: fields, body: Body(content))
        let names = ["X-Plain", "X-Lines", "X-Empty", "X-Bytes"].map { SignatureComponent.field(.spelled($0)) }
        let all: [SignatureComponent] = [
            .method, .targetURI, .authority, .scheme, .requestTarget, .path, .query, .queryParameter("a"),
            .queryParameter("b c"), .queryParameter("ç"), .field(.priority), .field(.priority).asStructuredField(),
            .field(.priority).member("u"), names[1], names[1].asBytes, names[2], names[3].asBytes, names[0].asBytes,
        ]
        let covered = all.filter { _ in pick([true, false]) }
        components = pick([covered + [names[0]], [names[0]] + covered.reversed()])
        sendsAlgorithm = pick([true, false])
    }
}

/// A request to check, or a response to sign, by `http-message-signatures` of PyPI, which is installed once for a machine.
private struct PeerTask: Encodable {
    let algorithm, method, url, content, publicKey, privateKey: String
    let fields: [[String]]
    let components: [String]
    /// The status of the response to sign; 0 to check the request.
    var status = 0
    var sendsAlgorithm = false

    init(_ request: Request, covering components: [SignatureComponent], _ keys: KeyPair) throws {
        (algorithm, method) = (keys.algorithm.rawValue, request.head.method.rawValue)
        (publicKey, privateKey) = (keys.publicText, keys.privateText)
        // A server knows the URL by the field Host, in which clients leave out a default port.
        url = try Origin(request.head).description + (request.head.path ?? "")
        // The library takes fields as text in Latin-1.
        fields = request.head.headerFields.map { [$0.name.rawName, String($0.value.utf8.map { .init(.init($0)) })] }
        content = (request.body.bytes ?? Data()).base64EncodedString()
        self.components = try components.map { try $0.item.serialized() }
    }

    static func python() async -> String? {
        await PythonLibraries.interpreter(with: "http-message-signatures==3.0.0", importing: "http_message_signatures")
    }

    static func perform<Outcome: Decodable>(_ tasks: [PeerTask], as type: Outcome.Type) async throws -> [Outcome] {
        let script = Fixtures.url("signing/http_message_signatures_peer.py").path
        let program = [try #require(await python()), script].map(RunningScript.quoted).joined(separator: " ")
        let output = try await RunningScript.output(of: program, files: ["tasks.json": JSONEncoder().encode(tasks)])
        return try JSONDecoder().decode([Outcome].self, from: output)
    }
}
#endif
