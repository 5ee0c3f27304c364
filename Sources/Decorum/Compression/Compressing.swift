import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Compresses the content of requests.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .compressing(CompressionPolicy(coding: .gzip, minimumLength: 4096))
    ///     .retrying()
    /// ```
    ///
    /// Apply it only to servers that are known to accept the coding, because HTTP has no way to ask before. A compressed
    /// request has a `Content-Encoding`. Its `Content-Length` is that of the compressed content where that is in memory,
    /// and else it has none and is sent in chunks.
    ///
    /// A request passes unchanged when:
    /// - it has no content, or less than ``CompressionPolicy/minimumLength``;
    /// - it has a `Content-Encoding`, a `Content-Range` or a digest of its content;
    /// - its media type is compressed as such, as in `image/jpeg` and `application/zip`;
    /// - its body can be read only once and has no known length, unless ``CompressionPolicy/compressesStreams``;
    /// - its content is in memory, has at most 1 MiB, and would not become smaller;
    /// - the coding is not available on this system.
    ///
    /// The body can be read as often as before, so redirects and retries work. Where a server answers `415` with an
    /// `Accept-Encoding` that lacks the coding, the request is sent again as it is, if its body can be read again; later
    /// requests to that origin are not compressed. This layer remembers up to 100 such origins.
    ///
    /// Place it inside of caching and retries, and outside of signing and of layers that compute digests. The response to a
    /// `QUERY` whose content it compresses is stored and shared only with a principal, since the content that was sent is
    /// not the one that was asked with. See RFC 9110, sections 8.4, 12.5.3 and 15.5.16.
    ///
    /// - Parameters:
    ///   - policy: The coding, and which requests to compress.
    ///   - clock: The clock that bounds the reading of a refusal's body.
    /// - Returns: A connection that compresses requests.
    public func compressing(
        _ policy: CompressionPolicy = .standard, clock: any DatedClock = SystemClock()
    ) -> some Connection {
        CompressingConnection(base: self, policy: policy, clock: clock)
    }
}

/// The coding of requests, and the requests to compress.
public struct CompressionPolicy: Sendable, Hashable {
    /// The coding; gzip by default, since most servers that accept a coding accept gzip.
    public var coding: ContentCoding
    /// How much time to spend for a smaller result, in the coding's own scale.
    ///
    /// It is 1 to 9 for gzip and deflate, 0 to 11 for Brotli, and 1 to 19 for Zstandard. Nil, the default, means 6, 5 and 3.
    public var level: Int?
    /// The length in bytes from which content is compressed; 1024 by default.
    public var minimumLength: Int64
    /// Whether a body that can be read only once and has no known length is compressed; false by default.
    ///
    /// Each of its chunks is then compressed so that the server can decode it at once, which costs a few bytes for each.
    public var compressesStreams: Bool

    /// Creates a policy with the defaults of its properties.
    public init(
        coding: ContentCoding = .gzip, level: Int? = nil, minimumLength: Int64 = 1024, compressesStreams: Bool = false
    ) {
        (self.coding, self.level, self.minimumLength) = (coding, level, minimumLength)
        self.compressesStreams = compressesStreams
    }

    /// Compresses with gzip from 1024 bytes on.
    public static let standard = CompressionPolicy()
}

struct CompressingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: CompressionPolicy
    let clock: any DatedClock
    private let isAvailable: Bool
    private let refusing = RefusingOrigins()

    init(base: Base, policy: CompressionPolicy, clock: any DatedClock) {
        (self.base, self.policy, self.clock, isAvailable) = (base, policy, clock, policy.coding.isEncodable)
    }

    var layer: Layer {
        Layer(
            name: "compressing", role: .preparation,
            settings: [.init("coding", policy.coding), .init("minimumLength", policy.minimumLength)],
            facts: [.changesSignedParts, .changesContent], sending: .init(1...2),
            time: .init(reading: .atMost(Body.discardTime)),
            memory: .init(bytes: .atMost(CompressionDecision.wholeLimit)))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard !request.body.isEmpty, isAvailable else { return try await base.send(request) }
        return try await sendCompressed(request)
    }

    private func sendCompressed(_ request: consuming Request) async throws -> Response {
        let decision = CompressionDecision.of(request, policy: policy)
        let origin = try? Origin(request.head)
        guard decision != .pass, !isRefused(by: origin, request),
            let compressed = try await compressed(copy request, decision)
        else { return try await base.send(request) }
        var response = try await base.send(compressed)
        guard CompressionDecision.isRefused(policy.coding, by: response.head) else { return response }
        refusing.origins.withLock { origins in
            if let origin, origins.count < 100 { origins.insert(origin) }
        }
        guard request.body.replay > .once, request.options.timeLeft(at: clock.now) != .zero else { return response }
        let attempts = response.metadata.attempts
        try await (consume response).body.discard(until: request.options.lastDeadline, on: clock)
        try Task.checkCancellation()
        request.options.callContext?.note(
            CallDecision(
                .resends, by: "compressing",
                "without \(policy.coding), because of \(HTTPResponse.Status.unsupportedMediaType.code)",
                after: "\(HTTPResponse.Status.unsupportedMediaType.code)"))
        request.options = request.options.travelling(.attempts)
        response = try await base.send(request)
        response.metadata.attempts += attempts
        return response
    }

    private func isRefused(by origin: Origin?, _ request: borrowing Request) -> Bool {
        guard let origin, refusing.origins.withLock({ $0.contains(origin) }) else { return false }
        request.options.callContext?.note(
            CallDecision(.skips, by: "compressing", "the origin has refused \(policy.coding)"))
        return true
    }

    /// A request with compressed content; nil if its content does not become smaller.
    private func compressed(_ request: consuming Request, _ decision: CompressionDecision) async throws -> Request? {
        let body = request.body
        var length: String?
        if decision == .whole, let bytes = body.bytes {
            guard let coded = try await Self.encode(bytes, policy), coded.count < bytes.count else { return nil }
            request.body = Body(coded)
            length = String(coded.count)
        } else {
            request.body = body.encoded(by: policy)
        }
        request.head.headerFields.append(HTTPField(name: .contentEncoding, value: policy.coding.name))
        if request.head.headerFields.contains(.contentLength) { request.head.headerFields[.contentLength] = length }
        return request
    }

    @concurrent private static func encode(_ bytes: Data, _ policy: CompressionPolicy) async throws -> Data? {
        try Task.checkCancellation()
        return try ContentEncoder(policy.coding, level: policy.level)?.encode(bytes, flush: .end)
    }
}

extension Body {
    fileprivate func encoded(by policy: CompressionPolicy) -> Body {
        let isStream = length == nil
        return Body(replay: replay == .once ? .once : .fromStart) { _ in
            guard let encoder = ContentEncoder(policy.coding, level: policy.level) else {
                throw ContentCodingError(.outOfMemory, policy.coding)
            }
            return EncodingBodyReader(try await open(), encoder, flushesChunks: isStream)
        }
    }
}

/// The origins that have refused a coding.
private final class RefusingOrigins: Sendable {
    let origins = Mutex<Set<Origin>>([])
}

/// Decides by values alone whether and how the content of a request is compressed.
enum CompressionDecision: Hashable {
    /// The request is sent as it is.
    case pass
    /// The content is compressed before the request is sent, so that its length is known.
    case whole
    /// The content is compressed while it is sent.
    case streamed

    /// The longest content in memory that is compressed before it is sent: 1 MiB.
    static let wholeLimit = 1 << 20

    static func of(_ request: borrowing Request, policy: CompressionPolicy) -> Self {
        let fields = request.head.headerFields
        guard !request.body.isEmpty, !fields.contains(where: { describingFields.contains($0.name) }),
            !isCoded(mediaType: fields[.contentType])
        else { return .pass }
        guard let length = request.body.length else {
            return request.body.replay > .once || policy.compressesStreams ? .streamed : .pass
        }
        guard length >= policy.minimumLength else { return .pass }
        return request.body.bytes != nil && length <= wholeLimit ? .whole : .streamed
    }

    /// Fields that say how the bytes are to be read, or what they are, as the caller has them.
    private static let describingFields = Set(
        ["Content-Encoding", "Content-Range", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5"].compactMap {
            HTTPField.Name($0)
        })

    /// Whether content of a media type is compressed as such.
    static func isCoded(mediaType: String?) -> Bool {
        guard let essence = mediaType?.mediaTypeEssence else { return false }
        if essence.hasPrefix("audio/") || essence.hasPrefix("video/") || essence.hasPrefix("font/woff") { return true }
        if essence.hasPrefix("image/") { return !["image/svg+xml", "image/bmp"].contains(essence) }
        return essence.hasSuffix("+zip") || essence.hasPrefix("application/vnd.openxmlformats")
            || codedTypes.contains(essence)
    }

    private static let codedTypes: Set<String> = [
        "application/brotli", "application/gzip", "application/java-archive", "application/pdf",
        "application/vnd.rar", "application/x-7z-compressed", "application/x-bzip2", "application/x-gzip",
        "application/x-rar-compressed", "application/x-xz", "application/zip", "application/zlib", "application/zstd",
    ]

    /// Whether a response refuses a request because of its coding (RFC 9110, sections 12.5.3 and 15.5.16).
    ///
    /// A `415` without `Accept-Encoding` refuses the media type.
    static func isRefused(_ coding: ContentCoding, by response: borrowing HTTPResponse) -> Bool {
        guard response.status == .unsupportedMediaType, response.headerFields.contains(.acceptEncoding),
            let value = response.headerFields[.acceptEncoding]
        else { return false }
        var isAccepted = false
        for member in ListMembers(value) {
            let parts = member.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            guard let name = parts.first, name == "*" || ContentCoding(name).isSame(as: coding) else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            // A coding that is named counts before the asterisk.
            if name != "*" { return weight == 0 }
            isAccepted = weight > 0
        }
        return !isAccepted
    }
}

/// Reads a body and applies a coding.
struct EncodingBodyReader: BodyReader {
    private var reader: any BodyReader
    private let encoder: ContentEncoder
    private let flushesChunks: Bool
    private var uncoded = Data()
    private var isAtEnd = false

    /// The bytes that are encoded at a time, so that each step is short: 64 KiB.
    static let pieceSize = 64 << 10

    init(_ reader: any BodyReader, _ encoder: ContentEncoder, flushesChunks: Bool) {
        (self.reader, self.encoder, self.flushesChunks) = (reader, encoder, flushesChunks)
    }

    mutating func next() async throws -> Data? {
        while !isAtEnd {
            if uncoded.isEmpty {
                guard let chunk = try await reader.next() else {
                    isAtEnd = true
                    let rest = try await Self.encode(Data(), with: encoder, flush: .end)
                    return rest.isEmpty ? nil : rest
                }
                uncoded = chunk
            }
            try Task.checkCancellation()
            let piece = uncoded.prefix(Self.pieceSize)
            uncoded = uncoded.dropFirst(Self.pieceSize)
            let flush: ContentEncoder.Flush = flushesChunks && uncoded.isEmpty ? .all : .none
            let coded = try await Self.encode(piece, with: encoder, flush: flush)
            if !coded.isEmpty { return coded }
        }
        return nil
    }

    @concurrent private static func encode(
        _ piece: Data, with encoder: ContentEncoder, flush: ContentEncoder.Flush
    ) async throws -> Data {
        try encoder.encode(piece, flush: flush)
    }

    var trailers: HTTPFields? { reader.trailers }
}
