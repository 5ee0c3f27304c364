#if Signing
import Crypto
import CryptoExtras
import Decorum
import DecorumTestSupport
import Foundation
import Testing

@testable import DecorumSigning

/// RFC 9421, sections 2 to 4 and appendix B.
@Suite(.timeLimit(.minutes(3))) struct SignatureBaseTests {
    @Test func `The text and the signature of each example are those of the RFC`() async throws {
        let examples = try Fixtures.rows("signing/message-signatures.json", of: SignatureExample.self)
        #expect(examples.count == 35)
        for example in examples {
            let signature = try example.received()
            let text = String(decoding: try signature.base(of: try example.message()).text, as: UTF8.self)
            #expect(text == example.text, "\(example.section)")
            guard let name = example.key else { continue }
            let (key, isValid) = (try KeyPair { $0.name == name }, example.isValid ?? true)
            #expect(key.verifying.isValid(signature.bytes, of: Data(text.utf8)) == isValid, "\(example.section)")
            #expect(!key.verifying.isValid(signature.bytes, of: Data((text + "x").utf8)))
            let own = try await key.signing.signature(of: Data(text.utf8))
            #expect(key.verifying.isValid(own, of: Data(text.utf8)))
            let isRandom = [.rsaPSS, .ecdsaP256].contains(key.algorithm)
            #expect(isRandom || !isValid || own == signature.bytes)
        }
    }

    @Test func `A part that has no certain value has no text`() throws {
        struct Fault: Decodable { let components, words: String }
        let fields: HTTPFields = [
            .date: "today", .spelled("dict"): "a=1", .priority: "=", .setCookie: "a=1", .setCookie: "b=2",
            .spelled("x-bytes"): "é",
        ]
        let request = try Request.get("https://a.example/?a=1&a=2", fields: fields).head
        for fault in try Fixtures.rows("signing/component-faults.json", of: Fault.self) {
            let error = try #require(throws: ComponentFault.self) {
                try MessageSignature("s=(\(fault.components))").base(of: SignedMessage(request: request))
            }
            #expect(error.words.contains(fault.words), "\(fault.components)")
        }
    }

    /// A megabyte is refused before it is parsed; up to the limit, parsing takes time in proportion to the length.
    private static let parsers =
        [("", ""), ("sig1=(", ""), ("sig1=(", ")"), ("sig1=\"", "\"")].map { start, end in
            let parts = [
                "a", "\"a\" ", "\"@query-param\";name=\"a\" ", "\"a\";key=\"b\" ", ";a", "a=(),", ",", "\\\"", "(", " ",
            ]
            return TimedParser("Signature-Input from \(start)", parts, from: start, to: end) { text in
                let head = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/?a=1")
                let signatures = MessageSignature.all(in: [.signatureInput: text, .signature: "sig1=:AA==:"]) ?? []
                for signature in signatures { _ = try? signature.base(of: SignedMessage(request: head)) }
            }
        } + [
            TimedParser("Content-Digest", ["sha-256=:AA==:,", "a", ",", "sha-512=\"", ":"]) { text in
                _ = try? ContentDigest.all([.contentDigest], in: [.contentDigest: text])
            }
        ]

    @Test(arguments: parsers) func `Twice the input takes twice the time`(parser: TimedParser) {
        parser.expectLinearTime()
    }
}

/// A message, what is covered, the text that is signed, and perhaps a signature.
private struct SignatureExample: Decodable {
    struct Request: Decodable { let method, scheme, authority, path: String, fields: [[String]] }
    struct Response: Decodable { let status: Int, fields: [[String]] }

    let section, input: String
    let request: Request
    let response: Response?
    let trailers: [[String]]?
    let base: [String]
    let key, signature: String?
    let isValid: Bool?

    var text: String { (base + ["\"@signature-params\": " + input.drop { $0 != "(" }]).joined(separator: "\n") }

    func received() throws -> MessageSignature {
        let bytes = Data(base64Encoded: signature ?? "") ?? Data()
        var received = try MessageSignature(input.hasPrefix("(") ? "sig1=" + input : input, bytes)
        for index in received.components.indices where received.components[index].name == "example-dict" {
            received.components[index].type = .dictionary
        }
        return received
    }

    func message() throws -> SignedMessage {
        let head = HTTPRequest(
            method: try #require(.init(request.method)), scheme: request.scheme, authority: request.authority,
            path: request.path, headerFields: .init(lines: request.fields))
        let answer = response.map {
            HTTPResponse(status: .init(code: $0.status), headerFields: .init(lines: $0.fields))
        }
        return SignedMessage(request: head, response: answer, trailers: trailers.map(HTTPFields.init(lines:)))
    }
}

/// A key and its other half, also as the texts that other libraries read.
struct KeyPair: Sendable {
    struct Row: Decodable { let name, algorithm: String, `private`, `public`: [String] }

    let algorithm: SignatureAlgorithm
    let signing: SigningKey
    let verifying: VerifyingKey
    let privateText, publicText: String

    init(where isWanted: (Row) -> Bool) throws {
        let row = try #require(try Fixtures.rows("signing/message-keys.json", of: Row.self).first(where: isWanted))
        algorithm = try #require(.init(rawValue: row.algorithm))
        privateText = row.private.joined(separator: "\n")
        publicText = row.public.joined(separator: "\n")
        switch algorithm {
        case .hmacSHA256:
            let key = SymmetricKey(data: try #require(Data(base64Encoded: privateText)))
            (signing, verifying) = (.hmac(key), .hmac(key))
        case .ed25519:
            let key = try Curve25519.Signing.PrivateKey(
                rawRepresentation: #require(Data(base64Encoded: row.private[1])).suffix(32))
            (signing, verifying) = (.ed25519(key), .ed25519(key.publicKey))
        case .ecdsaP256:
            let key = try P256.Signing.PrivateKey(pemRepresentation: privateText)
            (signing, verifying) = (.p256(key), .p256(key.publicKey))
        case .ecdsaP384:
            let key = try P384.Signing.PrivateKey(pemRepresentation: privateText)
            (signing, verifying) = (.p384(key), .p384(key.publicKey))
        case .rsaPSS, .rsaV15:
            let key = try _RSA.Signing.PrivateKey(pemRepresentation: privateText)
            signing = try algorithm == .rsaPSS ? .rsaPSS(key) : .rsaV15(key)
            verifying = algorithm == .rsaPSS ? .rsaPSS(key.publicKey) : .rsaV15(key.publicKey)
        }
    }
}

extension MessageSignature {
    /// The signature whose member of `Signature-Input` is a text.
    init(_ input: String, _ bytes: Data = Data()) throws {
        var fields = HTTPFields()
        fields.addSignature(input, bytes)
        self = try #require(MessageSignature.all(in: fields)?.first)
    }
}

extension HTTPFields {
    init(lines: [[String]]) {
        self.init(lines.map { HTTPField(name: .spelled($0[0]), lenientValue: Array($0[1].utf8)) })
    }

    /// Adds a signature, as it is, whose member of `Signature-Input` is a text.
    mutating func addSignature(_ input: String, _ bytes: Data = Data(count: 64)) {
        append(HTTPField(name: .signatureInput, value: input))
        let value = "\(input.prefix { $0 != "=" })=:\(bytes.base64EncodedString()):"
        append(HTTPField(name: .signature, value: value))
    }
}

extension HTTPField.Name {
    static let proof = spelled("DPoP")

    static func spelled(_ text: String) -> HTTPField.Name { HTTPField.Name(text) ?? .accept }
}

extension Body {
    /// Content that can be read once, in pieces, with trailer fields behind it.
    static func once(_ pieces: [Data], trailers: HTTPFields? = nil) -> Body {
        let chunks = AsyncStream<Data> { continuation in
            for piece in pieces { continuation.yield(piece) }
            continuation.finish()
        }
        let body = Body(chunks: chunks, length: pieces.reduce(0) { $0 + Int64($1.count) })
        return trailers == nil ? body : body.folding(0, { _, _ in }, trailers: { _, _ in trailers })
    }
}
#endif
