#if Signing
import Crypto
public import Decorum
import Foundation
public import HTTPTypes

/// Signs requests by HTTP Message Signatures (RFC 9421).
///
/// ```swift
/// let connection = SystemConnection()
///     .authenticating(with: .signer(MessageSigner(key: .ed25519(key), id: "key-1")), for: api)
/// ```
///
/// By default, a signature covers the method, the URL and, for a request with content, its `Content-Digest` (RFC 9530), which
/// is computed for each attempt, also if the request has one. It has the date of the attempt on the server's clock, as far
/// as earlier responses tell it, and the name of the key.
///
/// A request that has a `Signature` passes unchanged, unless ``MessageSignaturePolicy/joinsOthers`` is true. One that lacks a
/// part that is covered is not sent: ``SigningError`` names the part.
///
/// The place of `authenticating(with:for:)` applies: inside of every layer that changes what is signed. See RFC 9421,
/// section 3.1.
public struct MessageSigner: RequestSigner {
    private let key: SigningKey
    private let id: String?
    private let policy: MessageSignaturePolicy
    private let skew: ClockSkew

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: The key, whose algorithm is the one of the signature.
    ///   - id: The name by which the server knows the key, `keyid`: printable ASCII characters; nil to send none.
    ///   - policy: What is covered, and the parameters.
    ///   - clock: The clock of the dates.
    public init(
        key: SigningKey, id: String?, policy: MessageSignaturePolicy = .standard, clock: any DatedClock = SystemClock()
    ) {
        self.key = key
        self.id = id
        self.policy = policy
        skew = ClockSkew(clock: clock)
    }

    /// `Signature`; empty if the signature joins others of the request.
    public var secretFields: Set<HTTPField.Name> { policy.joinsOthers ? [] : [.signature] }

    /// Adds `Signature-Input` and `Signature`, and `Content-Digest` if it is covered.
    ///
    /// - Throws: ``SigningError``, or the error of a key in another place; nothing is sent.
    public func sign(_ request: Request) async throws -> Request {
        var request = request
        let origin = try Origin(request.head)
        if let asked = policy.asks { request.head.headerFields[.acceptSignature] = try asked.text() }
        let plan = try SignaturePlan(policy, for: request)
        if plan.coversDigest, request.body.replay == .once, !request.body.isEmpty {
            guard policy.streams == .trailers else { throw SigningError.digestOfStream }
            return try await signedInTrailers(request, plan, for: origin)
        }
        if plan.coversDigest {
            let (digest, body) = try await ContentDigest.of(request.body, by: [policy.digest])
            request.body = body
            request.head.headerFields[.contentDigest] = digest.text
        }
        let message = SignedMessage(request: request.head)
        let signature = try await signature(of: message, covering: plan.components, for: origin)
        request.head.headerFields.append(signature, joining: plan.others)
        return request
    }

    /// The request with a signature that follows the content, when its digest is known.
    private func signedInTrailers(
        _ request: Request, _ plan: SignaturePlan, for origin: Origin
    ) async throws -> Request {
        var request = request
        request.head.headerFields.announceTrailers([.contentDigest])
        var components = plan.components
        for index in components.indices where components[index].isContentDigest {
            components[index] = components[index].ofTrailers
        }
        request.head.headerFields.append(
            HTTPField(name: .trailer, value: "\(HTTPField.Name.signatureInput), \(HTTPField.Name.signature)"))
        let head = request.head
        // A part that is missing is found before anything is sent.
        let known = components.filter { !$0.has("tr") }
        _ = try await signature(of: SignedMessage(request: head), covering: known, for: origin) { _ in Data() }
        request.body = request.body.digestedInTrailers(by: [policy.digest]) { [components] digest, trailers in
            var trailers = trailers
            trailers[.contentDigest] = digest.text
            let message = SignedMessage(request: head, trailers: trailers)
            let signature = try await signature(of: message, covering: components, for: origin)
            return [.contentDigest: digest.text, .signatureInput: signature.input, .signature: signature.value]
        }
        return request
    }

    /// Learns the difference between the clock of the server and this one.
    public func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }

    private func signature(
        of message: SignedMessage, covering components: [SignatureComponent], for origin: Origin,
        by sign: ((Data) async throws -> Data)? = nil
    ) async throws -> MessageSignature {
        let base = SignatureBase(components: components, parameters: parameters(for: origin))
        let text: (whole: String, input: String)
        do throws(SignatureBaseError) {
            text = try base.text(for: message)
        } catch {
            throw SigningError(unsigned: error)
        }
        let data = Data(text.whole.utf8)
        let bytes = if let sign { try await sign(data) } else { try await key.signature(of: data) }
        return try MessageSignature(label: policy.label, input: text.input, bytes: bytes)
    }

    private func parameters(for origin: Origin) -> StructuredParameters {
        let date = skew.date(for: origin).timeIntervalSince1970.rounded(.down)
        var parameters = StructuredParameters()
        parameters["created"] = policy.sendsCreated ? .seconds(date) : nil
        parameters["keyid"] = id.map { .string($0) }
        parameters["alg"] = policy.sendsAlgorithm ? .string(key.algorithm.rawValue) : nil
        parameters["expires"] = policy.lifetime.map { .seconds(date + $0 / .seconds(1)) }
        parameters["nonce"] = policy.nonce.map { .string($0()) }
        parameters["tag"] = policy.tag.map { .string($0) }
        return parameters
    }
}

extension MessageSigner: SecretHolder {
    /// The algorithm and the label.
    public var description: String { "signs messages with \(key) as \(policy.label)" }
}

/// What signatures of requests cover, and their parameters (RFC 9421, section 2.3).
///
/// ```swift
/// var policy = MessageSignaturePolicy.standard
/// policy.components = [.authority, .path, .query, .field(.contentType)]
/// policy.lifetime = .seconds(60)
/// policy.tag = "web-bot-auth"
/// ```
public struct MessageSignaturePolicy: Sendable {
    /// The parts that each signature covers, in this order; by default the method and the URL.
    public var components: [SignatureComponent] = [.method, .targetURI]
    /// Whether signatures of requests with content cover its `Content-Digest`, behind the other parts; true by default.
    public var coversContent = true
    /// The algorithm of `Content-Digest`; SHA-256 by default.
    public var digest = DigestAlgorithm.sha256
    /// What happens to a body that can be read once, if its digest is covered; it is refused by default.
    public var streams = StreamedContent.refused
    /// The name of the signature within its fields; `sig1` by default.
    public var label = "sig1"
    /// Whether a request with other signatures is signed too, with a label that they do not have; false by default.
    ///
    /// A part that names them, such as `.field(name).member("sig1")`, covers them.
    public var joinsOthers = false
    /// Whether the date of the signature is sent, as `created`; true by default.
    public var sendsCreated = true
    /// Whether the name of the algorithm is sent, as `alg`; false by default, since the server knows it by the key.
    public var sendsAlgorithm = false
    /// The time after which the signature ends, as `expires`; nil, the default, to send none.
    public var lifetime: Duration?
    /// Makes a value that no other signature has, as `nonce`, such as ``randomNonce()``; nil, the default, to send none.
    public var nonce: (@Sendable () -> String)?
    /// The application that the signature is for, as `tag`; nil, the default, to send none.
    public var tag: String?
    /// The signature to ask of the response, as `Accept-Signature`; nil, the default, to ask for none.
    public var asks: SignatureDemand?

    /// Creates a policy with the defaults of its properties.
    public init() {}

    /// Covers the method, the URL and the content.
    public static let standard = MessageSignaturePolicy()

    /// Makes a nonce of 16 random bytes, in Base64 for URLs.
    public static func randomNonce() -> String {
        unsafe SymmetricKey(size: .bits128).withUnsafeBytes { unsafe Data($0) }.base64URL
    }
}

/// A signature that the answer to a message is asked to have (RFC 9421, section 5).
public struct SignatureDemand: Sendable {
    /// The name of the signature; `sig1` by default.
    public var label: String
    /// The parts to cover; parts of the request need ``SignatureComponent/ofRequest``.
    public var components: [SignatureComponent]
    /// The name of the key to use; nil for any.
    public var keyID: String?
    /// The algorithm to use; nil for any.
    public var algorithm: SignatureAlgorithm?
    /// The application that the signature is for; nil for none.
    public var tag: String?
    /// The nonce to send; nil for none.
    public var nonce: String?
    /// Whether to send the date of the signature; true by default.
    public var wantsCreated = true

    /// Creates a demand.
    ///
    /// - Parameters:
    ///   - components: The parts to cover.
    ///   - label: The name of the signature.
    ///   - keyID: The name of the key to use; nil for any.
    ///   - algorithm: The algorithm to use; nil for any.
    ///   - tag: The application that the signature is for; nil for none.
    public init(
        covering components: [SignatureComponent], label: String = "sig1", keyID: String? = nil,
        algorithm: SignatureAlgorithm? = nil, tag: String? = nil
    ) {
        self.label = label
        self.components = components
        self.keyID = keyID
        self.algorithm = algorithm
        self.tag = tag
    }

    /// The value of `Accept-Signature`.
    func text() throws(SigningError) -> String {
        var parameters = StructuredParameters()
        parameters["created"] = wantsCreated ? true : nil
        parameters["keyid"] = keyID.map { .string($0) }
        parameters["alg"] = algorithm.map { .string($0.rawValue) }
        parameters["nonce"] = nonce.map { .string($0) }
        parameters["tag"] = tag.map { .string($0) }
        let members: StructuredDictionary = [
            label: StructuredMember(components.map(\.item), parameters: parameters)
        ]
        guard let text = try? members.serialized() else { throw .unwritable }
        return text
    }
}

/// What a signature of one request covers.
private struct SignaturePlan {
    let components: [SignatureComponent]
    /// Whether it covers the digest of the content.
    let coversDigest: Bool
    /// The signatures that the request has, as they are written; nil if it has none.
    let others: (input: String, value: String)?

    init(_ policy: MessageSignaturePolicy, for request: Request) throws(SigningError) {
        let namesDigest = policy.components.contains(where: \.isContentDigest)
        let addsDigest = policy.coversContent && !request.body.isEmpty && !namesDigest
        components = policy.components + (addsDigest ? [.field(.contentDigest)] : [])
        coversDigest = namesDigest || addsDigest
        let fields = request.head.headerFields
        guard fields.contains(.signature) || fields.contains(.signatureInput) else {
            others = nil
            return
        }
        guard let inputs = try? StructuredDictionary(.signatureInput, in: fields),
            let values = try? StructuredDictionary(.signature, in: fields), Set(inputs.keys) == Set(values.keys)
        else {
            throw SigningError(
                .invalidConfiguration,
                "The request has Signature and Signature-Input fields that do not belong together. Remove them, or correct "
                    + "the layer that adds them.")
        }
        guard inputs[policy.label] == nil else {
            throw SigningError(
                .invalidConfiguration,
                "The request has a signature with the label \(policy.label) already. Choose another label for this signer."
            )
        }
        others = inputs.isEmpty ? nil : (fields[.signatureInput] ?? "", fields[.signature] ?? "")
    }
}

/// A signature, as members of its two fields.
private struct MessageSignature {
    let input: String
    let value: String

    init(label: String, input: String, bytes: Data) throws(SigningError) {
        let values: StructuredDictionary = [label: StructuredMember(.byteSequence(bytes))]
        guard let value = try? values.serialized() else { throw .unwritable }
        self.input = "\(label)=\(input)"
        self.value = value
    }
}

extension HTTPFields {
    /// Adds a signature, behind others in the same line.
    fileprivate mutating func append(_ signature: MessageSignature, joining others: (input: String, value: String)?) {
        self[.signatureInput] = others.map { "\($0.input), \(signature.input)" } ?? signature.input
        self[.signature] = others.map { "\($0.value), \(signature.value)" } ?? signature.value
    }
}

extension SignatureComponent {
    /// Whether this is the digest of the content of the same message, in any form.
    var isContentDigest: Bool { name == HTTPField.Name.contentDigest.canonicalName && !has("req") }
}

extension StructuredValue {
    /// Seconds since 1970, within the range of integers of structured fields.
    fileprivate static func seconds(_ seconds: Double) -> StructuredValue {
        .integer(Int64(max(0, min(seconds, 999_999_999_999_999))))
    }
}

extension SigningError {
    fileprivate static let unwritable = SigningError(
        .invalidConfiguration,
        "A component, a parameter or the label of the signature has characters that its field cannot have. Use printable ASCII "
            + "characters, and a label of small letters, digits and hyphens.")

    fileprivate init(unsigned error: SignatureBaseError) {
        guard let component = error.component else {
            self = .unwritable
            return
        }
        self.init(
            .missingComponent,
            "The request cannot be signed: \(component) \(error.fault). Set it in a layer further out, or do not cover it."
        )
    }
}
#endif
