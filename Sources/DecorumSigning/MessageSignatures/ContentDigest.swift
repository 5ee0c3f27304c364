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
    /// Only `CurlConnection` sends them, over HTTP/1.1, and some servers ignore them. Other transports leave them out, so that
    /// the request arrives without a digest or a signature.
    case trailers
}

extension Connection {
    /// Adds a digest of the content to requests: `Content-Digest` (RFC 9530).
    ///
    /// ```swift
    /// let connection = SystemConnection().digestingContent().compressing().retrying()
    /// ```
    ///
    /// The digest is always computed anew: one that the request has is replaced. Content in memory and in a file is read
    /// before it is sent, and so is a stream that can be read again, of which up to 1 MiB is kept, so that it is read once.
    /// A request without content gets no digest. Only a signature protects the digest itself: ``MessageSigner`` makes both.
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
        Layer(
            name: "digestingContent", role: .preparation,
            settings: [
                .init("algorithms", algorithms.map(\.rawValue).sorted().joined(separator: " ")),
                .init("streams", streams.rawValue),
            ],
            facts: [.changesSignedParts, .init("digestsContent")],
            memory: .init(bytes: .atMost(ContentDigest.keptLength)))
    }

    func send(_ request: consuming Request) async throws -> Response {
        guard !request.body.isEmpty, !algorithms.isEmpty else { return try await base.send(request) }
        let names = fields(of: request.head.headerFields)
        if request.body.replay == .once {
            guard streams == .trailers else { throw SigningError.digestOfStream }
            request.head.headerFields.announceTrailers(names)
            request.body = request.body.digestedInTrailers(by: algorithms) { digest, _ in
                HTTPFields(names.map { HTTPField(name: $0, value: digest.text) })
            }
        } else {
            let (digest, body) = try await ContentDigest.of(request.body, by: algorithms)
            request.body = body
            for name in names { request.head.headerFields[name] = digest.text }
        }
        return try await base.send(request)
    }

    private func fields(of fields: HTTPFields) -> [HTTPField.Name] {
        addsRepresentation && !fields.contains(.contentRange)
            ? [.contentDigest, .reprDigest] : [.contentDigest]
    }
}

struct DigestVerifyingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let isRequired: Bool

    var layer: Layer {
        Layer(
            name: "verifyingDigests", settings: [.init("isRequired", isRequired)])
    }

    func send(_ request: consuming Request) async throws -> Response {
        let method = request.head.method
        var response = try await base.send(request)
        guard method != .head, ![204, 205, 304].contains(response.status.code) else { return response }
        let isEmpty = response.body.isEmpty
        guard let demand = try DigestDemand(response.head, isEmpty: isEmpty, isRequired: isRequired) else {
            return response
        }
        if isEmpty {
            // Nobody may read on to the end of no content.
            try demand.check(ContentHash(demand.algorithms).digest, trailers: [:])
            return response
        }
        guard response.metadata.decodedContentCodings.isEmpty else { throw SigningError.decodedContent }
        response.body = response.body.hashed(by: demand.algorithms, length: response.body.length) { digest, trailers in
            try demand.check(digest, trailers: trailers ?? [:])
            return trailers
        }
        return response
    }
}

/// The digests that the content of a response must have.
struct DigestDemand: Sendable {
    private let digests: [ContentDigest]
    private let isRequired: Bool
    /// The fields that count: not `Repr-Digest` for a part of a representation, or a response without content.
    private let names: [HTTPField.Name]
    /// The algorithms of the digests; both if there may be digests among trailer fields.
    let algorithms: Set<DigestAlgorithm>

    /// Reads the digests in the head of a response; nil if there is nothing to check.
    init?(_ head: HTTPResponse, isEmpty: Bool, isRequired: Bool) throws {
        names = head.status == .partialContent || isEmpty ? [.contentDigest] : [.contentDigest, .reprDigest]
        digests = try Self.digests(names, in: head.headerFields)
        // Some servers announce other names.
        let announcesTrailers = head.headerFields.contains(.trailer) && !isEmpty
        self.isRequired = isRequired && !isEmpty
        algorithms =
            announcesTrailers
            ? Set(DigestAlgorithm.allCases) : digests.reduce(into: []) { $0.formUnion($1.values.keys) }
        guard digests.isEmpty, !announcesTrailers else { return }
        if self.isRequired { throw SigningError.missingDigest }
        return nil
    }

    /// Checks the digest of the whole content.
    func check(_ content: ContentDigest, trailers: HTTPFields) throws {
        let all = digests + (try Self.digests(names, in: trailers))
        guard !all.isEmpty || !isRequired else { throw SigningError.missingDigest }
        guard all.allSatisfy(content.agrees) else { throw SigningError.wrongDigest }
    }

    private static func digests(_ names: [HTTPField.Name], in fields: HTTPFields) throws -> [ContentDigest] {
        try names.filter(fields.contains).compactMap { name in
            guard let digest = ContentDigest(name, in: fields) else { throw SigningError.wrongDigest }
            return digest.values.isEmpty ? nil : digest
        }
    }
}

/// The digests of content by several algorithms, as a field has them.
struct ContentDigest: Sendable, Hashable {
    let values: [DigestAlgorithm: Data]

    /// The content that is kept, in bytes, so that a stream is not read twice.
    static let keptLength = 1 << 20
    /// The largest field that is read, in bytes.
    private static let fieldLimit = 8 << 10

    init(_ values: [DigestAlgorithm: Data]) {
        self.values = values
    }

    /// Reads the digests by known algorithms; nil if the field cannot be read.
    init?(_ name: HTTPField.Name, in fields: HTTPFields) {
        guard fields[values: name].reduce(0, { $0 + $1.utf8.count }) <= Self.fieldLimit,
            let members = try? StructuredDictionary(name, in: fields)
        else { return nil }
        var values: [DigestAlgorithm: Data] = [:]
        for algorithm in DigestAlgorithm.allCases {
            guard let member = members[algorithm.rawValue] else { continue }
            guard let bytes = member.item?.value.byteSequence else { return nil }
            values[algorithm] = bytes
        }
        self.values = values
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

    /// Computes the digest of a body that can be read several times, and returns a body with the same content, which is not
    /// read twice if it is a short stream.
    @concurrent static func of(
        _ body: Body, by algorithms: Set<DigestAlgorithm>
    ) async throws -> (digest: ContentDigest, body: Body) {
        var hash = ContentHash(algorithms)
        if let bytes = body.bytes {
            hash.update(bytes)
            return (hash.digest, body)
        }
        var reader = try await body.open()
        var kept: Data? = body.file == nil ? Data() : nil
        while let chunk = try await reader.next() {
            try Task.checkCancellation()
            hash.update(chunk)
            if let count = kept?.count, count + chunk.count <= keptLength { kept?.append(chunk) } else { kept = nil }
        }
        guard let kept else { return (hash.digest, body) }
        let length = body.length
        let trailers = reader.trailers
        let copy = Body(length: length, replay: .fromStart) { _ in KeptBodyReader(content: kept, trailers: trailers) }
        return (hash.digest, trailers == nil && length != nil ? Body(kept) : copy)
    }
}

private struct KeptBodyReader: BodyReader {
    var content: Data
    let trailers: HTTPFields?

    mutating func next() async throws -> Data? {
        defer { content = Data() }
        return content.isEmpty ? nil : content
    }
}

/// Hashes content chunk by chunk.
struct ContentHash: Sendable {
    private var sha256: SHA256?
    private var sha512: SHA512?

    init(_ algorithms: Set<DigestAlgorithm>) {
        sha256 = algorithms.contains(.sha256) ? SHA256() : nil
        sha512 = algorithms.contains(.sha512) ? SHA512() : nil
    }

    mutating func update(_ chunk: Data) {
        sha256?.update(data: chunk)
        sha512?.update(data: chunk)
    }

    /// The digest of all chunks so far.
    var digest: ContentDigest {
        var values: [DigestAlgorithm: Data] = [:]
        if let sha256 { values[.sha256] = Data(sha256.finalize()) }
        if let sha512 { values[.sha512] = Data(sha512.finalize()) }
        return ContentDigest(values)
    }
}

extension Body {
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
        Body(length: length, replay: replay == .once ? .once : .fromStart) { _ in
            HashingBodyReader(reader: try await open(), hash: ContentHash(algorithms), finish: finish)
        }
    }
}

private struct HashingBodyReader: BodyReader {
    var reader: any BodyReader
    var hash: ContentHash
    let finish: @Sendable (ContentDigest, HTTPFields?) async throws -> HTTPFields?
    private(set) var trailers: HTTPFields?
    private var isAtEnd = false

    init(
        reader: any BodyReader, hash: ContentHash,
        finish: @escaping @Sendable (ContentDigest, HTTPFields?) async throws -> HTTPFields?
    ) {
        self.reader = reader
        self.hash = hash
        self.finish = finish
    }

    mutating func next() async throws -> Data? {
        guard !isAtEnd else { return nil }
        if let chunk = try await reader.next() {
            hash.update(chunk)
            return chunk
        }
        // After a failure, each further reading fails too.
        trailers = try await finish(hash.digest, reader.trailers)
        isAtEnd = true
        return nil
    }
}

extension HTTPFields {
    /// Takes fields out of the header and names them as trailer fields, which only content in chunks has.
    mutating func announceTrailers(_ names: [HTTPField.Name]) {
        for name in names + [.contentLength] { self[name] = nil }
        append(HTTPField(name: .trailer, value: names.map(\.rawName).joined(separator: ", ")))
    }

    /// Whether `Trailer` names a field.
    func announces(_ name: HTTPField.Name) -> Bool {
        self[values: .trailer].contains { value in
            value.split(separator: ",").contains {
                $0.trimmingCharacters(in: .whitespaces).lowercased() == name.canonicalName
            }
        }
    }
}

extension HTTPField.Name {
    static let contentDigest = name("Content-Digest")
    static let reprDigest = name("Repr-Digest")
    static let signature = name("Signature")
    static let signatureInput = name("Signature-Input")
    static let acceptSignature = name("Accept-Signature")

    // The names are literals.
    private static func name(_ text: String) -> HTTPField.Name { HTTPField.Name(text) ?? .trailer }
}

extension SigningError {
    static let digestOfStream = SigningError(
        .bodyReadOnce,
        "The digest of the body is needed before it is sent, and the body can be read only once. Make it from bytes or a file, "
            + "or send the digest behind it with `streams: .trailers`.")
    fileprivate static let decodedContent = SigningError(
        .invalidConfiguration,
        "The transport has decoded the content, so that its digest cannot be checked. Use `CurlConnection`, and apply "
            + "`decompressing()` after `verifyingDigests()`.")
    fileprivate static let missingDigest = SigningError(
        .missingSignature,
        "The response has no digest of its content by SHA-256 or SHA-512. Do not trust its content, or require no digest."
    )
    fileprivate static let wrongDigest = SigningError(
        .invalidSignature,
        "The content of the response does not have its digest, or the digest cannot be read. Drop what has been read of it."
    )
}
#endif
