#if Signing
import Crypto
public import Decorum
import Foundation
import HTTPTypes

/// An algorithm of `Content-Digest` and `Repr-Digest`: the two that RFC 9530, section 5 recommends.
public enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// SHA-256.
    case sha256 = "sha-256"
    /// SHA-512.
    case sha512 = "sha-512"
}

/// What happens to a request whose body can be read once, so that its digest is known only when it is sent.
public enum StreamedContent: String, Sendable, Hashable {
    /// It is not sent: a ``SigningError`` with the reason ``SigningError/Reason/bodyReadOnce`` is thrown.
    case refused
    /// The digest, and a signature of it, follow the content as trailer fields.
    ///
    /// Only `CurlConnection` sends them, over HTTP/1.1, and some servers ignore them. Other transports leave them out: the
    /// findings of a stack say so, as `trailersNotSent`.
    case trailers
}

extension Connection {
    /// Adds a digest of the content to requests: `Content-Digest` (RFC 9530).
    ///
    /// ```swift
    /// let connection = SystemConnection().digestingContent().compressing().retrying()
    /// ```
    ///
    /// The digest is always computed anew: one that the request has is replaced. Content that can be read again is read before
    /// it is sent. A request without content gets no digest. Only a signature protects the digest itself: ``MessageSigner``
    /// makes both.
    ///
    /// Place it inside of every layer that changes the content, such as `compressing`.
    ///
    /// - Parameters:
    ///   - algorithms: The algorithms, of which the request has a digest each.
    ///   - addsRepresentation: Whether `Repr-Digest` is sent too, which is the same unless the request has a `Content-Range`.
    ///   - streams: What happens to a body that can be read once.
    /// - Returns: A connection that adds digests, and throws ``SigningError``.
    public func digestingContent(
        _ algorithms: Set<DigestAlgorithm> = [.sha256], addsRepresentation: Bool = false,
        streams: StreamedContent = .refused
    ) -> some Connection {
        DigestingConnection(
            base: self, algorithms: algorithms, addsRepresentation: addsRepresentation, streams: streams)
    }

    /// Checks the digests of responses while their content is read: `Content-Digest` and `Repr-Digest` (RFC 9530).
    ///
    /// ```swift
    /// let connection = SystemConnection().verifyingDigests(isRequired: true).decompressing()
    /// ```
    ///
    /// At the end of content that does not have its digest, reading throws a ``SigningError`` with the reason
    /// ``SigningError/Reason/invalidSignature``, so do not use what you have read before. Digests of SHA-256 and of SHA-512
    /// count, in the header or the trailer. `Repr-Digest` counts for whole content alone, not for a part (`206`). Responses
    /// without content, such as to `HEAD`, and `304`, pass.
    ///
    /// Place it just outside of the transport, inside of `decompressing`: the digest is of the coded content. Over a transport
    /// that decodes by itself, reading coded content with a digest throws.
    ///
    /// - Parameter isRequired: Whether a response with content and without a digest is an error. A request with
    ///   `Want-Content-Digest: sha-256=10` asks for one.
    /// - Returns: A connection whose responses have the content of their digests.
    public func verifyingDigests(isRequired: Bool = false) -> some Connection {
        DigestVerifyingConnection(base: self, isRequired: isRequired)
    }
}

struct DigestingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let algorithms: Set<DigestAlgorithm>
    let addsRepresentation: Bool
    let streams: StreamedContent

    var layer: Layer {
        let names = algorithms.map(\.rawValue).sorted().joined(separator: " ")
        return Layer(
            name: "digestingContent", role: .preparation,
            settings: [.init("algorithms", names), .init("streams", streams.rawValue)],
            facts: Set([.changesSignedParts, .digestsContent]).union(streams == .trailers ? [.needsTrailers] : []))
    }

    func send(_ request: consuming Request) async throws -> Response {
        guard !request.body.isEmpty, !algorithms.isEmpty else { return try await base.send(request) }
        let addsBoth = addsRepresentation && !request.head.headerFields.contains(.contentRange)
        let names: [HTTPField.Name] = addsBoth ? [.contentDigest, .reprDigest] : [.contentDigest]
        let digest: ContentDigest?
        if request.body.replay == .once {
            guard streams == .trailers else { throw SigningError.digestOfStream }
            digest = nil
            request.head.headerFields.announceTrailers(names)
            request.body = request.body.digestedInTrailers(by: algorithms) { digest, _ in
                HTTPFields(names.map { HTTPField(name: $0, value: digest.text) })
            }
        } else {
            digest = try await request.body.digest(by: algorithms)
        }
        for name in names { request.head.headerFields[name] = digest?.text }
        return try await base.send(request)
    }
}

struct DigestVerifyingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let isRequired: Bool

    var layer: Layer { Layer(name: "verifyingDigests", settings: [.init("isRequired", isRequired)]) }

    func send(_ request: consuming Request) async throws -> Response {
        let method = request.head.method
        var response = try await base.send(request)
        guard response.mayHaveContent(for: method) else { return response }
        let isEmpty = response.body.isEmpty
        let isRequired = isRequired && !isEmpty
        // `Repr-Digest` is not of a part of a representation, or of a response without content.
        let names: [HTTPField.Name] =
            isEmpty || response.status == .partialContent ? [.contentDigest] : [.contentDigest, .reprDigest]
        let digests = try ContentDigest.all(names, in: response.head.headerFields)
        // Some servers announce other names.
        let announcesTrailers = !isEmpty && response.head.headerFields.contains(.trailer)
        guard !digests.isEmpty || announcesTrailers else {
            guard !isRequired else { throw SigningError.missingDigest }
            return response
        }
        guard response.metadata.decodedContentCodings.isEmpty else { throw SigningError.decodedContent }
        let check = { @Sendable (content: ContentDigest, trailers: HTTPFields?) throws -> HTTPFields? in
            let all = digests + (try ContentDigest.all(names, in: trailers ?? [:]))
            guard !all.isEmpty || !isRequired else { throw SigningError.missingDigest }
            guard all.allSatisfy(content.agrees) else { throw SigningError.wrongDigest }
            return trailers
        }
        let algorithms = announcesTrailers ? DigestAlgorithm.allCases : digests.flatMap(\.values.keys)
        if isEmpty {
            // Nobody may read on to the end of no content.
            _ = try check(ContentHash(Set(algorithms)).digest, nil)
        } else {
            response.body = response.body.hashed(by: Set(algorithms), length: response.body.length, check)
        }
        return response
    }
}

extension Response {
    /// Whether a response to a method may have content (RFC 9110, section 6.4.1).
    func mayHaveContent(for method: HTTPRequest.Method) -> Bool {
        method != .head && ![204, 205, 304].contains(status.code)
    }
}

/// The digests of content by several algorithms, as a field has them.
struct ContentDigest: Sendable, Hashable {
    let values: [DigestAlgorithm: Data]

    /// Reads the digests by known algorithms in fields.
    static func all(_ names: [HTTPField.Name], in fields: HTTPFields) throws(SigningError) -> [ContentDigest] {
        var digests: [ContentDigest] = []
        for name in names where fields.contains(name) {
            guard fields[values: name].reduce(0, { $0 + $1.utf8.count }) <= 8 << 10,
                let members = try? StructuredDictionary(name, in: fields)
            else { throw .wrongDigest }
            var values: [DigestAlgorithm: Data] = [:]
            for algorithm in DigestAlgorithm.allCases {
                guard let member = members[algorithm.rawValue] else { continue }
                guard let bytes = member.item?.value.byteSequence else { throw .wrongDigest }
                values[algorithm] = bytes
            }
            if !values.isEmpty { digests.append(ContentDigest(values: values)) }
        }
        return digests
    }

    /// The value of the field.
    var text: String {
        DigestAlgorithm.allCases.compactMap { algorithm in
            values[algorithm].map { "\(algorithm.rawValue)=:\($0.base64EncodedString()):" }
        }.joined(separator: ", ")
    }

    /// Whether the digests by the algorithms of both are equal; a trailer that was not announced may have others.
    func agrees(with other: ContentDigest) -> Bool {
        other.values.allSatisfy { values[$0.key] ?? $0.value == $0.value }
    }
}

/// Hashes content chunk by chunk.
private struct ContentHash: Sendable {
    private var hashes: [DigestAlgorithm: any HashFunction & Sendable] = [:]

    init(_ algorithms: Set<DigestAlgorithm>) {
        if algorithms.contains(.sha256) { hashes[.sha256] = SHA256() }
        if algorithms.contains(.sha512) { hashes[.sha512] = SHA512() }
    }

    mutating func update(_ chunk: Data) {
        for algorithm in DigestAlgorithm.allCases { hashes[algorithm]?.update(data: chunk) }
    }

    /// The digest of all chunks so far.
    var digest: ContentDigest { ContentDigest(values: hashes.mapValues { $0.digest }) }
}

extension Body {
    /// The value of `Content-Digest` for a body that can be read several times.
    func digestText(by algorithm: DigestAlgorithm) async throws -> String {
        guard algorithm == .sha256 else { return try await digest(by: [algorithm]).text }
        return "sha-256=:\(try await sha256().base64EncodedString()):"
    }

    /// Computes the digest of a body that can be read several times.
    @concurrent func digest(by algorithms: Set<DigestAlgorithm>) async throws -> ContentDigest {
        var hash = ContentHash(algorithms)
        var reader = try await open()
        while let chunk = try await reader.next() {
            try Task.checkCancellation()
            hash.update(chunk)
        }
        return hash.digest
    }

    /// The body with trailer fields that are made of its digest, in place of such fields of its own.
    ///
    /// Its length is not known to the transport, since only chunks have trailer fields behind them.
    func digestedInTrailers(
        by algorithms: Set<DigestAlgorithm>,
        _ fields: @escaping @Sendable (ContentDigest, _ trailers: HTTPFields) async throws -> HTTPFields
    ) -> Body {
        hashed(by: algorithms, length: nil) { digest, trailers in
            var trailers = trailers ?? [:]
            let fields = try await fields(digest, trailers)
            for name in Set(fields.map(\.name)) { trailers[name] = nil }
            return HTTPFields(trailers + fields)
        }
    }

    /// The body, at whose end a closure gets its digest, and gives its trailer fields or the error of reading it.
    func hashed(
        by algorithms: Set<DigestAlgorithm>, length: Int64?,
        _ finish: @escaping @Sendable (ContentDigest, _ trailers: HTTPFields?) async throws -> HTTPFields?
    ) -> Body {
        let folded = folding(ContentHash(algorithms)) {
            $0.update($1)
        } trailers: {
            try await finish($0.digest, $1)
        }
        return Body(length: length, replay: replay == .once ? .once : .fromStart) { _ in try await folded.open() }
    }
}

extension HTTPFields {
    /// Names fields behind the content, which only content in chunks has.
    mutating func announceTrailers(_ names: [HTTPField.Name]) {
        self[.contentLength] = nil
        append(HTTPField(name: .trailer, value: names.map(\.rawName).joined(separator: ", ")))
    }
}

// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    static let contentDigest = HTTPField.Name("Content-Digest")!
    static let reprDigest = HTTPField.Name("Repr-Digest")!
    static let signature = HTTPField.Name("Signature")!
    static let signatureInput = HTTPField.Name("Signature-Input")!
    static let acceptSignature = HTTPField.Name("Accept-Signature")!
}

extension SigningError {
    static let digestOfStream = SigningError(
        .bodyReadOnce,
        "The digest of the body is needed before it is sent, and the body can be read only once. Make it from bytes or a file, "
            + "or send the digest behind it with `streams: .trailers`.")
    static let decodedContent = SigningError(
        .invalidConfiguration,
        "The transport has decoded the content, so that its digest cannot be checked. Use `CurlConnection`, and apply "
            + "`decompressing()` after `verifyingDigests()`.")
    static let missingDigest = SigningError(
        .missingSignature,
        "The response has no digest of its content by SHA-256 or SHA-512. Do not trust its content, or require no digest."
    )
    static let wrongDigest = SigningError(
        .invalidSignature,
        "The content of the response does not have its digest, or the digest cannot be read. Drop what has been read of it."
    )
}
#endif
