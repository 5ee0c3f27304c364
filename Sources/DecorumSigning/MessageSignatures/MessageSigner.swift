#if Signing
import Crypto
public import Decorum
import DecorumAuthentication
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
    /// The parameters that are the same in each signature, before and behind others; nil if one, or the label, cannot be written.
    private let fixed: (start: String, end: String)?
    private let contentComponents: [SignatureComponent]
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
        (self.key, self.policy) = (key, policy)
        skew = ClockSkew(clock: clock)
        contentComponents = policy.coversContent ? policy.components.coveringContent : policy.components
        var (start, end) = (StructuredParameters(), StructuredParameters())
        start["keyid"] = id.map { .string($0) }
        start["alg"] = policy.sendsAlgorithm ? .string(key.algorithm.rawValue) : nil
        end["tag"] = policy.tag.map { .string($0) }
        let label: StructuredParameters = [policy.label: true]
        fixed = (try? label.serialized()) == nil ? nil : try? (start.serialized(), end.serialized())
    }

    /// `Signature`; empty if the signature joins others of the request.
    public var secretFields: Set<HTTPField.Name> { policy.joinsOthers ? [] : [.signature] }

    /// Adds `Signature-Input` and `Signature`, and `Content-Digest` if it is covered.
    ///
    /// - Throws: ``SigningError``, or the error of a key in another place; nothing is sent.
    public func sign(_ request: Request) async throws -> Request {
        var request = request
        if let asked = policy.asks { request.head.headerFields[.acceptSignature] = try asked.demand() }
        let others = try signatures(of: request.head.headerFields)
        let origin = try Origin(request.head)
        let components = request.body.isEmpty ? policy.components : contentComponents
        var signature = MessageSignature(label: policy.label, components: components)
        if signature.components.contains(where: \.isContentDigest) {
            guard request.body.replay > .once || request.body.isEmpty else {
                guard policy.streams == .trailers else { throw SigningError.digestOfStream }
                return try signedInTrailers(request, signature, for: origin)
            }
            request.head.headerFields[.contentDigest] = try await request.body.digestText(by: policy.digest)
        }
        // Hashing takes time, and the signature may end soon.
        signature.parameterText = parameterText(for: origin)
        let (input, value) = try await signed(signature, SignedMessage(request: request.head))
        request.head.headerFields[.signatureInput] = others.map { "\($0.input), \(input)" } ?? input
        request.head.headerFields[.signature] = others.map { "\($0.value), \(value)" } ?? value
        return request
    }

    /// The request with a signature that follows the content, when its digest is known.
    private func signedInTrailers(
        _ request: Request, _ signature: MessageSignature, for origin: Origin
    ) throws -> Request {
        var request = request
        var signature = signature
        request.head.headerFields[.contentDigest] = nil
        request.head.headerFields.announceTrailers([.contentDigest, .signatureInput, .signature])
        // A part that is missing is found before anything is sent.
        var early = signature
        early.components.removeAll { $0.isContentDigest || $0.has("tr") }
        early.parameterText = parameterText(for: origin)
        let head = request.head
        _ = try text(of: early, SignedMessage(request: head))
        signature.components = signature.components.map { $0.isContentDigest ? $0.ofTrailers : $0 }
        request.body = request.body.digestedInTrailers(by: [policy.digest]) { [signature] digest, trailers in
            var (signature, trailers) = (signature, trailers)
            signature.parameterText = parameterText(for: origin)
            trailers[.contentDigest] = digest.text
            let (input, value) = try await signed(signature, SignedMessage(request: head, trailers: trailers))
            return [.contentDigest: digest.text, .signatureInput: input, .signature: value]
        }
        return request
    }

    /// Learns the difference between the clock of the server and this one.
    public func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }

    /// The values of the two fields of a signature.
    private func signed(
        _ signature: MessageSignature, _ message: SignedMessage
    ) async throws -> (input: String, value: String) {
        let (text, input) = try text(of: signature, message)
        let bytes = try await key.signature(of: Data(text))
        return (input, "\(signature.label)=:\(bytes.base64EncodedString()):")
    }

    private func text(
        of signature: MessageSignature, _ message: SignedMessage
    ) throws(SigningError) -> (text: [UInt8], input: String) {
        do throws(ComponentFault) {
            return try signature.base(of: message)
        } catch {
            guard let component = error.component else { throw .unwritable }
            throw SigningError(
                .missingComponent,
                "The request cannot be signed: \(component) \(error.words). Set it in a layer further out, or do not cover it."
            )
        }
    }

    /// The fields of the signatures that the request has; nil if it has none.
    private func signatures(of fields: HTTPFields) throws(SigningError) -> (input: String, value: String)? {
        guard fields.contains(.signatureInput) || fields.contains(.signature) else { return nil }
        guard let others = MessageSignature.all(in: fields), !others.contains(where: { $0.label == policy.label })
        else {
            throw SigningError(
                .invalidConfiguration,
                "The request has a signature with the label \(policy.label), or Signature and Signature-Input fields that do "
                    + "not belong together. Choose another label for this signer, or correct the layer that adds them.")
        }
        return others.isEmpty ? nil : (fields[.signatureInput] ?? "", fields[.signature] ?? "")
    }

    /// The parameters of a signature that is made now; nil if they, or the label, cannot be written.
    private func parameterText(for origin: Origin) -> String? {
        guard let fixed else { return nil }
        let date = skew.date(for: origin).timeIntervalSince1970.rounded(.down)
        // An integer of structured fields has at most 15 digits.
        func seconds(_ date: Double) -> String { String(Int64(max(0, min(date, 999_999_999_999_999)))) }
        var text = policy.sendsCreated ? ";created=" + seconds(date) : ""
        text += fixed.start
        if let lifetime = policy.lifetime { text += ";expires=" + seconds(date + lifetime / .seconds(1)) }
        if let nonce = policy.nonce {
            guard let value = try? StructuredItem(.string(nonce())).serialized() else { return nil }
            text += ";nonce=" + value
        }
        return text + fixed.end
    }
}

extension MessageSigner {
    /// A signature behind the content needs a transport that sends trailer fields.
    public var facts: Set<Layer.Fact> { policy.streams == .trailers ? [.needsTrailers] : [] }
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
    /// The signature that the response is asked to have, as `Accept-Signature` (section 5); nil, the default, to ask for none.
    public var asks: SignatureVerificationPolicy?

    /// Creates a policy with the defaults of its properties.
    public init() {}

    /// Covers the method, the URL and the content.
    public static let standard = MessageSignaturePolicy()

    /// Makes a nonce of 16 random bytes, in Base64 for URLs.
    public static func randomNonce() -> String {
        unsafe SymmetricKey(size: .bits128).withUnsafeBytes { unsafe Data($0) }.base64URL
    }
}

extension SignatureVerificationPolicy {
    /// The value of `Accept-Signature` that asks for what the policy demands.
    fileprivate func demand() throws(SigningError) -> String {
        let components = coversContent ? components.coveringContent : components
        var parameters = StructuredParameters()
        parameters["created"] = maximumAge == nil ? nil : true
        parameters["keyid"] = keyID.map { .string($0) }
        parameters["tag"] = tag.map { .string($0) }
        let member = StructuredMember(components.map(\.item), parameters: parameters)
        let value: StructuredDictionary = [label ?? "sig1": member]
        guard let text = try? value.serialized() else { throw .unwritable }
        return text
    }
}

extension [SignatureComponent] {
    /// The parts, and behind them the digest of the content if it is not one of them.
    fileprivate var coveringContent: [SignatureComponent] {
        contains(where: \.isContentDigest) ? self : self + [.contentDigest]
    }
}

extension SigningError {
    fileprivate static let unwritable = SigningError(
        .invalidConfiguration,
        "A component, a parameter or the label of the signature has characters that its field cannot have. Use printable ASCII "
            + "characters, and a label of small letters, digits and hyphens.")
}
#endif
