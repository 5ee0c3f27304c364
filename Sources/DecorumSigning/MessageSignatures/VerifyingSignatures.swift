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
    /// `Content-Digest`, and is at most five minutes old; it may be of a response to another request, unless the policy demands
    /// parts of the request, as in `[.status, .method.ofRequest, .targetURI.ofRequest]`. The digest itself is checked by
    /// ``verifyingDigests(isRequired:)`` while the content is read.
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
        SignatureVerifyingConnection(base: self, policy: policy, clock: clock, key: key)
    }
}

/// Which signatures of responses count.
public struct SignatureVerificationPolicy: Sendable {
    /// The parts that a signature must cover; by default the status.
    public var components: [SignatureComponent]
    /// Whether a signature of a response with content must cover its `Content-Digest` too; true by default.
    public var coversContent = true
    /// Whether a signature may cover trailer fields, or be one; false by default.
    ///
    /// The response is then given before its signature is checked, at the end of its content: trust neither its status nor its
    /// fields before, and place no layer outside of this one that acts on them, such as one that follows redirections.
    public var allowsTrailers = false
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

    /// Creates a policy with the defaults of its other properties; parts of the request need ``SignatureComponent/ofRequest``.
    public init(covering components: [SignatureComponent] = [.status]) { self.components = components }

    /// Covers the status and the content, and is at most five minutes old.
    public static let standard = SignatureVerificationPolicy()
}

struct SignatureVerifyingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: SignatureVerificationPolicy
    let clock: any DatedClock
    let key: @Sendable (_ id: String?) async throws -> VerifyingKey?

    var layer: Layer {
        let components = policy.components.compactMap(\.identifier).joined(separator: " ")
        let names = [("label", policy.label), ("keyID", policy.keyID), ("tag", policy.tag)]
        let settings = names.compactMap { name, value in value.map { Layer.Setting(name, $0) } }
        return Layer(
            name: "verifyingSignatures", settings: [.init("covering", components)] + settings,
            facts: Layer.facts(of: clock))
    }

    func send(_ request: consuming Request) async throws -> Response {
        let head = request.head
        var response = try await base.send(request)
        var message = SignedMessage(request: head, response: response.head)
        // Without content, nobody may read on to its end.
        if response.body.isEmpty { message.trailers = [:] }
        let coversContent =
            policy.coversContent && response.mayHaveContent(for: head.method) && !response.body.isEmpty
        guard try await !isValid(message, coveringContent: coversContent) else { return response }
        response.body = response.body.hashed(by: [], length: response.body.length) { [message] _, trailers in
            var message = message
            message.trailers = trailers ?? [:]
            _ = try await isValid(message, coveringContent: coversContent)
            return trailers
        }
        return response
    }

    /// Checks that one of the signatures of a response is valid; returns false if only trailer fields can tell, which are not
    /// known yet.
    ///
    /// It throws ``SigningError`` with the fault of the last signature that was tried, or the error of the look-up of a key.
    private func isValid(_ message: SignedMessage, coveringContent: Bool) async throws -> Bool {
        let head = message.response?.headerFields ?? [:]
        guard let early = MessageSignature.all(in: head), let late = MessageSignature.all(in: message.trailers ?? [:])
        else {
            throw SigningError.invalid(
                "has fields that are too long, do not belong together, or are not as RFC 9421 writes them")
        }
        let admitted = (early + late).filter { signature in
            (policy.label ?? signature.label) == signature.label
                && (policy.keyID == nil || signature.parameters["keyid"]?.string == policy.keyID)
                && (policy.tag == nil || signature.parameters["tag"]?.string == policy.tag)
        }
        var needsTrailers = policy.allowsTrailers && message.trailers == nil && head.contains(.trailer)
        var fault: SigningError?
        for signature in admitted.prefix(8) {
            if message.trailers == nil, signature.components.contains(where: { $0.has("tr") }) {
                needsTrailers = policy.allowsTrailers
                fault = .invalid("covers trailer fields, which the policy does not allow")
                continue
            }
            do {
                try await check(signature, of: message, coveringContent: coveringContent)
                return true
            } catch let error as SigningError {
                fault = error
            }
        }
        if needsTrailers { return false }
        throw fault ?? .missing
    }

    private func check(
        _ signature: MessageSignature, of message: SignedMessage, coveringContent: Bool
    ) async throws {
        var signature = signature
        guard signature.components.count <= 100 else { throw SigningError.invalid("covers too many parts") }
        try checkParameters(signature.parameters)
        let covered = Set(signature.components.map(\.identity))
        guard policy.components.allSatisfy({ covered.contains($0.identity) }) else {
            throw SigningError.invalid("does not cover what it must")
        }
        let hasTrailers = message.response?.headerFields.contains(.trailer) ?? true
        let coversContent = signature.components.contains { $0.protectsContent(withTrailers: hasTrailers) }
        guard !coveringContent || coversContent else {
            throw SigningError.invalid("does not cover the digest of the content")
        }
        guard let key = try await key(signature.parameters["keyid"]?.string) else {
            throw SigningError.invalid("names no key that is trusted")
        }
        if let algorithm = signature.parameters["alg"], algorithm.string != key.algorithm.rawValue {
            throw SigningError.invalid("names another algorithm than its key has")
        }
        // The policy knows the types of fields of no standard.
        for index in signature.components.indices where signature.components[index].type == nil {
            let identity = signature.components[index].identity
            signature.components[index].type = policy.components.first { $0.identity == identity }?.type
        }
        let text: [UInt8]
        do throws(ComponentFault) {
            text = try signature.base(of: message).text
        } catch {
            throw SigningError.invalid("covers a part that \(error.words)")
        }
        guard key.isValid(signature.bytes, of: Data(text)) else {
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

extension SigningError {
    fileprivate static let missing = SigningError(
        .missingSignature,
        "The response has no signature, or none with the label, the key and the tag that the policy demands. Do not trust it, "
            + "or apply `verifyingSignatures` only to servers that sign so.")

    /// A fault of a signature, as the predicate of a sentence about it.
    fileprivate static func invalid(_ fault: String) -> SigningError {
        SigningError(.invalidSignature, "The signature of the response \(fault). Do not trust the response.")
    }
}
#endif
