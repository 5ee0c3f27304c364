#if Signing
public import Decorum
import Foundation
import HTTPTypes

extension Connection {
    /// Throws for each response without a valid signature (RFC 9421, section 3.2).
    ///
    /// ```swift
    /// let keys = ["server-1": VerifyingKey.ed25519(serverKey)]
    /// let connection = SystemConnection()
    ///     .verifyingDigests(isRequired: true)
    ///     .verifyingSignatures { id in id.flatMap { keys[$0] } }
    /// ```
    ///
    /// One of the signatures that the policy admits must be valid. By default, it covers the status and, for content, the
    /// `Content-Digest`, and is at most five minutes old. The digest itself is checked by ``verifyingDigests(isRequired:)``
    /// while the content is read. A signature that covers trailer fields, or is one, is checked at the end of the content,
    /// where reading throws; until then, do not use what you have read.
    ///
    /// The key decides about the algorithm; a signature that names another is invalid. Fields of more than 64 KiB are refused,
    /// and of several signatures, eight are tried at most.
    ///
    /// Place it just outside of the transport, inside of caches and of the signer, so that it sees what was sent and what came.
    /// Apply it before `authenticating`, unless a response covers parts of the signature of its request: then after it.
    ///
    /// - Parameters:
    ///   - policy: Which signatures count.
    ///   - clock: The clock of the dates.
    ///   - key: Finds the key of a name, `keyid`, which the server chooses and may leave out; returns nil for a key that is not
    ///     trusted. The caller gets its errors unchanged, and no deadline ends its wait.
    /// - Returns: A connection whose responses are signed, and that throws ``SigningError``.
    public func verifyingSignatures(
        _ policy: SignatureVerificationPolicy = .standard, clock: any DatedClock = SystemClock(),
        key: @escaping @Sendable (_ id: String?) async throws -> VerifyingKey?
    ) -> some Connection {
        SignatureVerifyingConnection(
            base: self, verification: SignatureVerification(policy: policy, clock: clock, key: key))
    }
}

/// Which signatures of responses count.
public struct SignatureVerificationPolicy: Sendable {
    /// The parts that a signature must cover; by default the status.
    public var components: [SignatureComponent]
    /// Whether a signature of a response with content must cover its `Content-Digest` too; true by default.
    public var coversContent = true
    /// The label of the signature, which is not signed itself, unlike a key and a tag; nil, the default, for any.
    public var label: String?
    /// The name of the key, `keyid`; nil, the default, for any that the closure knows.
    public var keyID: String?
    /// The application, `tag`; nil, the default, for any.
    public var tag: String?
    /// The longest time since the signature was made, which must have its date then; five minutes by default, and nil for any.
    public var maximumAge: Duration? = .seconds(300)
    /// The largest difference between the clocks of the server and of this machine; five seconds by default.
    public var tolerance = Duration.seconds(5)
    /// The types of structured fields that no standard defines, for signatures that cover them as such (`sf`).
    public var fieldTypes: [HTTPField.Name: StructuredFieldType] = [:]

    /// Creates a policy with the defaults of its other properties.
    ///
    /// - Parameter components: The parts that a signature must cover; parts of the request need
    ///   ``SignatureComponent/ofRequest``.
    public init(covering components: [SignatureComponent] = [.status]) {
        self.components = components
    }

    /// Covers the status and the content, and is at most five minutes old.
    public static let standard = SignatureVerificationPolicy()
}

struct SignatureVerifyingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let verification: SignatureVerification

    var layer: Layer {
        let policy = verification.policy
        let components = policy.components.compactMap { try? $0.item.serialized() }.joined(separator: " ")
        let names = [("label", policy.label), ("keyID", policy.keyID), ("tag", policy.tag)]
        return Layer(
            name: "verifyingSignatures",
            settings: [.init("covering", components)]
                + names.compactMap { name, value in value.map { .init(name, $0) } },
            facts: Layer.facts(of: verification.clock))
    }

    func send(_ request: consuming Request) async throws -> Response {
        let head = request.head
        var response = try await base.send(request)
        var message = SignedMessage(request: head, response: response.head)
        // Without content, nobody may read on to its end.
        if response.body.isEmpty { message.trailers = [:] }
        let mustCover = verification.mustCoverContent(of: response, to: head.method)
        let outcome = try await verification.check(message, coveringContent: mustCover)
        guard outcome == .needsTrailers else { return response }
        response.body = response.body.hashed(by: [], length: response.body.length) {
            [verification, message] _, trailers in
            var message = message
            message.trailers = trailers ?? [:]
            try await verification.check(message, coveringContent: mustCover)
            return trailers
        }
        return response
    }
}

/// Checks the signatures of messages by a policy.
struct SignatureVerification: Sendable {
    let policy: SignatureVerificationPolicy
    let clock: any DatedClock
    let key: @Sendable (_ id: String?) async throws -> VerifyingKey?

    /// What a check needs.
    enum Outcome {
        /// A signature is valid.
        case valid
        /// The trailer fields are not known yet, and a signature is among them or covers them.
        case needsTrailers
    }

    /// The number of signatures that are tried.
    private static let signatureLimit = 8
    /// The number of components of one signature.
    private static let componentLimit = 100

    func mustCoverContent(of response: Response, to method: HTTPRequest.Method) -> Bool {
        policy.coversContent && method != .head && ![204, 205, 304].contains(response.status.code)
            && !response.body.isEmpty
    }

    /// Checks that one of the signatures of a message is valid.
    ///
    /// - Throws: ``SigningError`` with the fault of the last signature that was tried, or the error of the look-up of a key.
    @discardableResult func check(_ message: SignedMessage, coveringContent: Bool) async throws -> Outcome {
        let head = message.response?.headerFields ?? message.request.headerFields
        var signatures = try ReceivedSignature.all(in: head)
        if let trailers = message.trailers { signatures += try ReceivedSignature.all(in: trailers) }
        let admitted = signatures.filter(admits)
        var needsTrailers = message.trailers == nil && head.announces(.signature)
        var fault: SigningError?
        for signature in admitted.prefix(Self.signatureLimit) {
            if message.trailers == nil, signature.base.components.contains(where: { $0.has("tr") }) {
                needsTrailers = true
                continue
            }
            do {
                try await check(signature, of: message, coveringContent: coveringContent)
                return .valid
            } catch let error as SigningError {
                fault = error
            }
        }
        if needsTrailers { return .needsTrailers }
        throw fault ?? (signatures.isEmpty ? .missing : .notAdmitted)
    }

    private func admits(_ signature: ReceivedSignature) -> Bool {
        let parameters = signature.base.parameters
        return (policy.label ?? signature.label) == signature.label
            && (policy.keyID == nil || parameters["keyid"]?.string == policy.keyID)
            && (policy.tag == nil || parameters["tag"]?.string == policy.tag)
    }

    private func check(
        _ signature: ReceivedSignature, of message: SignedMessage, coveringContent: Bool
    ) async throws {
        var base = signature.base
        guard base.components.count <= Self.componentLimit else { throw SigningError.invalid("covers too many parts") }
        try checkParameters(base.parameters)
        guard policy.components.allSatisfy(Set(base.components).contains) else {
            throw SigningError.invalid("does not cover what it must")
        }
        let hasTrailers = message.response?.headerFields.contains(.trailer) ?? true
        let coversContent = base.components.contains { $0.protectsContent(withTrailers: hasTrailers) }
        guard !coveringContent || coversContent else {
            throw SigningError.invalid("does not cover the digest of the content")
        }
        guard let key = try await key(base.parameters["keyid"]?.string) else {
            throw SigningError.invalid("names no key that is trusted")
        }
        if let algorithm = base.parameters["alg"], algorithm.string != key.algorithm.rawValue {
            throw SigningError.invalid("names another algorithm than its key has")
        }
        base.types = Dictionary(policy.fieldTypes.map { ($0.key.canonicalName, $0.value) }) { first, _ in first }
        let text: String
        do throws(SignatureBaseError) {
            text = try base.text(for: message).whole
        } catch {
            throw SigningError.invalid("covers a part that \(error.fault)")
        }
        guard key.isValid(signature.bytes, of: Data(text.utf8)) else {
            throw SigningError.invalid("does not belong to what came")
        }
    }

    /// Checks the types of the parameters, and the dates (RFC 9421, section 3.2).
    private func checkParameters(_ parameters: StructuredParameters) throws(SigningError) {
        let hasTypes = parameters.allSatisfy { name, value in
            switch name {
            case "created", "expires": value.integer != nil
            case "keyid", "alg", "nonce", "tag": value.string != nil
            default: true
            }
        }
        guard hasTypes else { throw .invalid("has a parameter of the wrong type") }
        let now = clock.date.timeIntervalSince1970
        let tolerance = policy.tolerance / .seconds(1)
        let created = parameters["created"]?.integer.map(Double.init)
        if let created, created > now + tolerance { throw .invalid("is from the future: compare the clocks") }
        if let expires = parameters["expires"]?.integer, Double(expires) < now - tolerance {
            throw .invalid("has expired")
        }
        guard let maximumAge = policy.maximumAge else { return }
        guard let created else { throw .invalid("has no date, which its greatest age demands") }
        guard created + maximumAge / .seconds(1) >= now - tolerance else { throw .invalid("is too old") }
    }
}

extension SignatureComponent {
    /// Whether the content cannot differ if this part and its digest are right.
    ///
    /// A member of an unknown algorithm, and a trailer field that nothing announces, are not compared with the content.
    fileprivate func protectsContent(withTrailers hasTrailers: Bool) -> Bool {
        let algorithm = item.parameters["key"]?.string
        return isContentDigest && (algorithm == nil || algorithm.flatMap(DigestAlgorithm.init) != nil)
            && (hasTrailers || !has("tr"))
    }
}

/// A signature, as a message has it.
struct ReceivedSignature: Sendable {
    let label: String
    let base: SignatureBase
    let bytes: Data

    /// The largest length of the fields of signatures, in bytes.
    private static let lengthLimit = 64 << 10

    /// Reads all signatures (RFC 9421, section 4).
    ///
    /// - Throws: ``SigningError`` for fields that are too long or not as the RFC demands, and for a label that occurs twice.
    static func all(in fields: HTTPFields) throws(SigningError) -> [ReceivedSignature] {
        let inputs = try members(of: .signatureInput, in: fields)
        let values = try members(of: .signature, in: fields)
        guard Set(inputs.keys) == Set(values.keys) else {
            throw .invalid("has fields that do not belong together")
        }
        var signatures: [ReceivedSignature] = []
        for (label, input) in inputs {
            guard case .innerList(let items, let parameters) = input,
                let bytes = values[label]?.item?.value.byteSequence
            else { throw .invalid("is not as RFC 9421 writes it") }
            let base = SignatureBase(components: items.map(SignatureComponent.init), parameters: parameters)
            signatures.append(ReceivedSignature(label: label, base: base, bytes: bytes))
        }
        return signatures
    }

    private static func members(
        of name: HTTPField.Name, in fields: HTTPFields
    ) throws(SigningError) -> StructuredDictionary {
        let lines = fields[values: name]
        guard lines.reduce(0, { $0 + $1.utf8.count }) <= lengthLimit else { throw .invalid("is too long") }
        guard let members = try? StructuredDictionary(name, in: fields) else {
            throw .invalid("is not as RFC 9421 writes it")
        }
        // The parser takes the last of several equal labels, and another reader may take the first.
        let count = lines.reduce(0) { $0 + $1.memberCount }
        guard count == members.count else { throw .invalid("has a label that occurs twice") }
        return members
    }
}

extension String {
    /// The number of members of a dictionary (RFC 9651, section 3.2), in which only strings hold other commas.
    fileprivate var memberCount: Int {
        var (count, isString, isEscaped) = (0, false, false)
        var isMember = false
        for byte in utf8 {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isString.toggle()
            } else if isString {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: ",") {
                isMember = false
            } else if !isMember, byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t") {
                isMember = true
                count += 1
            }
        }
        return count
    }
}

extension SigningError {
    fileprivate static let missing = SigningError(
        .missingSignature,
        "The response has no signature. Do not trust it, or apply `verifyingSignatures` only to servers that sign.")
    fileprivate static let notAdmitted = SigningError(
        .missingSignature,
        "No signature of the response has the label, the key or the tag that the policy demands. Do not trust it, or compare "
            + "the policy with what the server signs.")

    /// A fault of a signature, as the predicate of a sentence about it.
    fileprivate static func invalid(_ fault: String) -> SigningError {
        SigningError(.invalidSignature, "The signature of the response \(fault). Do not trust the response.")
    }
}
#endif
