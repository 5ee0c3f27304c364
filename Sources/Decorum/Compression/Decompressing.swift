import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Asks for compressed content and decodes it while it is read.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .caching(in: MemoryResponseStore())
    ///     .decompressing()
    /// let response = try await connection.send(.get("https://api.example.com/items"))
    /// print(response.metadata.decodedContentCodings)  // ["gzip"]
    /// let items = try await response.body.decode([Item].self, upTo: 1 << 20)
    /// ```
    ///
    /// A request without `Accept-Encoding` gets one with the codings of the policy that this system can undo; a request with
    /// `Range` asks for `identity`, because a part of coded content cannot be decoded. A response is decoded, also if the
    /// caller asked for its codings. If one of its `Content-Encoding` fields names a coding that is not available here, the
    /// head passes unchanged, and reading the content throws ``ContentCodingError``, which names that coding. An answer to
    /// `HEAD`, a `204`, a `206` and a `304` pass unchanged.
    ///
    /// A decoded response has no `Content-Encoding`, `Content-Length` or digest of the coded content, and its body
    /// has no known length; ``ResponseMetadata/decodedContentCodings`` has the codings. `ETag` and `Last-Modified` stay as
    /// they are, since conditional requests need them, and name the coded content: do not resume a decoded body with
    /// `Range`, and set ``RequestOptions/keepsContentCoding`` for a download that may be resumed, or to get the bytes of a coding
    /// that is not available. Trailer fields pass, except digests of the coded content.
    ///
    /// Reading throws ``ContentCodingError`` when the content is damaged, incomplete, followed by other bytes, or beyond
    /// ``DecompressionPolicy/limits``. The transfer ends then. Chunks of at most 64 KiB are decoded as they are read, so a
    /// slow reader slows down the server and the memory needed is constant.
    ///
    /// Place it outside of caching, coalescing and retries, so that they keep and compare the bytes that came, and
    /// inside of redirects. `URLSessionConnection` decodes by itself, so over it this layer offers gzip alone. On
    /// Linux, its bytes wait decoded in its `Backlog`, and no limit of the policy applies to them.
    ///
    /// Do not apply it over a client of AsyncHTTPClient that decompresses, which leaves `Content-Encoding` in the head. A policy
    /// may have codings of the app's own (``ContentCoding/init(_:encoder:decoder:)``). See RFC 9110, sections 8.4 and 12.5.3.
    ///
    /// - Parameter policy: The codings to offer, and the limits of decoding.
    /// - Returns: A connection whose responses are decoded.
    public func decompressing(_ policy: DecompressionPolicy = .standard) -> some Connection {
        DecompressingConnection(base: self, policy: policy)
    }
}

/// The codings that a connection asks for, and the limits of decoding them.
public struct DecompressionPolicy: Sendable, Hashable {
    /// The codings to offer in `Accept-Encoding`, all with the same weight, if they are available on this system.
    ///
    /// `deflate` is decoded but not offered by default, since servers do not agree on its format. A coding of the app's own
    /// is decoded if it stands here.
    public var codings: [ContentCoding]
    /// The bounds of decoding, for all codings, offered or not.
    public var limits: ContentDecodingLimits

    /// Creates a policy, by default of gzip, Brotli and Zstandard under the default limits.
    public init(codings: [ContentCoding] = [.gzip, .brotli, .zstd], limits: ContentDecodingLimits = .standard) {
        self.codings = codings
        self.limits = limits
    }

    /// Offers gzip, Brotli and Zstandard, under the default limits.
    public static let standard = DecompressionPolicy()
}

extension RequestOptions {
    /// Whether the response keeps its content codings, as a download that is stored in its coded form does; false by default.
    ///
    /// ``Connection/decompressing(_:)`` then neither asks for a coding nor undoes one. A transport that decodes by itself,
    /// such as ``URLSessionConnection``, still decodes.
    public var keepsContentCoding: Bool {
        get { self[KeepsContentCodingKey.self] }
        set { self[KeepsContentCodingKey.self] = newValue }
    }
}

private enum KeepsContentCodingKey: RequestOptionKey {
    static let travels: OptionTravel = [.all, .comparedWhenShared]
    static let defaultValue = false
}

struct DecompressingConnection<Base: Connection>: ComposedConnection, RequestPreparing {
    let base: Base
    let layer: Layer
    private let limits: ContentDecodingLimits
    let prepare: @Sendable (inout Request) -> Void
    /// The codings of the app's own.
    private let own: [ContentCoding]

    init(base: Base, policy: DecompressionPolicy) {
        self.base = base
        limits = policy.limits
        own = policy.codings.filter { $0.own != nil }
        // A platform that decodes by itself knows gzip, and on Linux it fails at a coding that it does not know.
        let decodesItself = base.layers.contains { $0.facts.contains(.decodesContent) }
        let codings = DecompressionDecision.offer(policy.codings) { coding in
            guard decodesItself else { return coding.isDecodable }
            return coding == .gzip || !URLSessionPlatform.isBuiltOnLibcurl && coding.own != nil && coding.isDecodable
        }
        let offer = HTTPField(name: .acceptEncoding, value: codings)
        prepare = { request in
            guard !request.options.keepsContentCoding,
                let field = DecompressionDecision.acceptEncoding(for: request.head, offering: offer)
            else { return }
            request.head.headerFields.add(field)
        }
        layer = Layer(
            name: "decompressing", role: .preparation,
            settings: [.init("codings", codings), .init("maximumRatio", limits.maximumRatio)],
            facts: [.changesSignedParts, .decodesContent, .changesResponse],
            memory: .init(
                bytes: own.isEmpty
                    ? .atMost(Self.stateSize * min(max(1, limits.maximumCodings), 1 << 10)) : .unbounded))
    }

    /// The largest window of a coding, that of Brotli, and the buffers around it.
    private static var stateSize: Int { 17 << 20 }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard !request.options.keepsContentCoding else { return try await base.send(request) }
        let method = request.head.method
        prepare(&request)
        let response = try await base.send(request)
        var codings = DecompressionDecision.codings(of: response.head, to: method)
        if !own.isEmpty { codings = codings.map { coding in own.first { $0 == coding } ?? coding } }
        return codings.isEmpty || response.body.isEmpty ? response : response.decoded(from: codings, limits: limits)
    }
}

extension Response {
    fileprivate consuming func decoded(from codings: [ContentCoding], limits: ContentDecodingLimits) -> Response {
        if let unknown = codings.first(where: { !$0.isDecodable }) {
            // Coded bytes would be taken for the content.
            body = Body(replay: .fromStart) { _ in throw ContentCodingError(.unavailable, unknown) }
            return self
        }
        head.headerFields = DecompressionDecision.withoutCodedFields(head.headerFields)
        metadata.decodedContentCodings += codings.reversed().map(\.name)
        let lengths = ContentLengths(coded: body.length)
        metadata.contentLengths = lengths
        let coded = body
        // The offsets of the coded bytes differ from the decoded ones.
        body = Body(replay: coded.replay == .once ? .once : .fromStart) { _ in
            DecodingBodyReader(
                try await coded.open(), try ContentDecoder(codings, limits: limits), counting: lengths)
        }
        return self
    }
}

/// Decides about content codings by values alone.
enum DecompressionDecision {
    /// The `Accept-Encoding` to add to a request; nil if the caller has set one.
    ///
    /// A range counts the bytes of the coded content, of which a part cannot be decoded (RFC 9110, section 14).
    static func acceptEncoding(for request: borrowing HTTPRequest, offering codings: HTTPField) -> HTTPField? {
        guard !request.headerFields.has(.acceptEncoding) else { return nil }
        return request.headerFields.has(.range) ? HTTPField(name: .acceptEncoding, value: "identity") : codings
    }

    /// The value that offers codings, as far as this system can undo them.
    static func offer(_ codings: [ContentCoding], where isAvailable: (ContentCoding) -> Bool) -> String {
        let names = codings.filter(isAvailable).map(\.name)
        return names.isEmpty ? "identity" : names.joined(separator: ", ")
    }

    /// The codings of a response to undo, in the order in which they were applied; empty if it passes unchanged.
    ///
    /// It passes without content (RFC 9110, section 6.4.1), and where the content is a part of the coded whole.
    static func codings(of response: borrowing HTTPResponse, to method: HTTPRequest.Method) -> [ContentCoding] {
        // Most responses have no coding, which is found sooner than their status is read.
        guard response.headerFields.has(.contentEncoding), method != .head,
            ![204, 206, 304].contains(response.code)
        else { return [] }
        return ContentCoding.applied(to: response.headerFields)
    }

    /// Header or trailer fields, without the fields that describe the coded bytes, which the reader no longer gets.
    ///
    /// The digests belong to the coded bytes (RFC 9530, sections 2 and 3). Validators stay: they name the response that the
    /// server has, which conditional requests ask about.
    static func withoutCodedFields(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        for name in codedFields where fields.contains(name) { fields[fields: name] = [] }
        return fields
    }

    private static let codedFields =
        [.contentEncoding, .contentLength]
        + ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"].compactMap { HTTPField.Name($0) }
}

/// Reads a body and undoes its codings.
struct DecodingBodyReader: BodyReader {
    /// The reader of the coded body; nil after content that cannot be decoded, so that its transfer ends.
    private var reader: (any BodyReader)?
    private let decoder: ContentDecoder
    private let lengths: ContentLengths
    private var unfed = Data()
    private var isLarge = false
    private var isAtEnd = false

    /// The bytes that are fed at a time, so that each step of decoding is short: 64 KiB.
    private static let pieceSize = 64 << 10
    /// The bytes whose decoding costs less than leaving the caller's actor.
    private static let inlineSize = 4 << 10

    init(_ reader: any BodyReader, _ decoder: ContentDecoder, counting lengths: ContentLengths) {
        (self.reader, self.decoder, self.lengths) = (reader, decoder, lengths)
    }

    mutating func next() async throws -> Data? {
        guard !isAtEnd else { return nil }
        while true {
            try Task.checkCancellation()
            if let part = try await decoded() { return part }
            if unfed.isEmpty {
                guard let chunk = try await reader?.next() else { return try end() }
                unfed = chunk
            }
            let piece = unfed.prefix(Self.pieceSize)
            unfed = unfed.dropFirst(Self.pieceSize)
            isLarge = piece.count > Self.inlineSize
            decoder.feed(piece)
        }
    }

    private mutating func decoded() async throws -> Data? {
        do {
            let part = try await isLarge ? Self.decodeElsewhere(decoder) : decoder.next()
            // A few coded bytes may be many decoded ones.
            if part?.count == CodingBuffers.size { isLarge = true }
            return part
        } catch {
            reader = nil
            throw error
        }
    }

    private mutating func end() throws -> Data? {
        do {
            try decoder.finish()
        } catch {
            reader = nil
            throw error
        }
        isAtEnd = true
        lengths.end(decoder.lengths)
        return nil
    }

    @concurrent private static func decodeElsewhere(_ decoder: ContentDecoder) async throws -> Data? {
        try decoder.next()
    }

    var trailers: HTTPFields? {
        reader?.trailers.map { DecompressionDecision.withoutCodedFields($0) }
    }
}

extension ResponseMetadata {
    /// The lengths of the content with its codings and without; nil unless codings were undone.
    var contentLengths: ContentLengths? {
        get { self[ContentLengthsKey.self] }
        set { self[ContentLengthsKey.self] = newValue }
    }
}

private enum ContentLengthsKey: ResponseMetadataKey { static let defaultValue: ContentLengths? = nil }

/// The lengths of content that is decoded while it is read, which all copies of its metadata share.
final class ContentLengths: Sendable {
    private let state: Locked<(coded: Int64?, decoded: Int64?)>

    init(coded: Int64?) {
        state = Locked((coded, nil))
    }

    var coded: Int64? { state.withLock { $0.coded } }
    var decoded: Int64? { state.withLock { $0.decoded } }

    /// Records the lengths of content that was decoded to its end.
    func end(_ lengths: (coded: Int64, decoded: Int64)) {
        state.withLock { $0 = lengths }
    }
}
