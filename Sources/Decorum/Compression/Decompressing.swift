import HTTPTypes

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
    /// caller asked for its codings. Where one of its `Content-Encoding` fields names a coding that is not available here, the
    /// head passes unchanged, and reading the content throws ``ContentCodingError``, which names that coding. An answer to
    /// `HEAD`, a `204`, a `206` and a `304` pass unchanged.
    ///
    /// A decoded response has no `Content-Encoding`, `Content-Length` and digest of the coded content any more, and its body
    /// has no known length; ``ResponseMetadata/decodedContentCodings`` has the codings. `ETag` and `Last-Modified` stay as
    /// they are, since conditional requests need them, and name the coded content: do not resume a decoded body with
    /// `Range`, and set ``RequestOptions/keepsContentCoding`` for a download that may be resumed, or to get the bytes of a coding
    /// that is not available. Trailer fields pass, except
    /// digests of the coded content.
    ///
    /// Reading throws ``ContentCodingError`` when the content is damaged, incomplete, followed by other bytes, or beyond
    /// ``DecompressionPolicy/limits``. The transfer ends then. Chunks of at most 64 KiB are decoded as they are read, so a
    /// slow reader slows down the server and the memory needed is constant.
    ///
    /// Place it outside of caching, coalescing and retries, so that they keep and compare the bytes that came, and
    /// inside of redirects. `URLSessionConnection` decodes by itself, so over it this layer offers gzip alone. On
    /// Linux, its bytes wait decoded in its `Backlog`, and no limit of the policy applies to them.
    ///
    /// A client of AsyncHTTPClient that is set to decompress leaves `Content-Encoding` in the head; do not apply this modifier
    /// over one.
    ///
    /// See RFC 9110, sections 8.4 and 12.5.3.
    ///
    /// - Parameter policy: The codings to offer, and the limits of decoding.
    /// - Returns: A connection whose responses are decoded.
    public func decompressing(_ policy: DecompressionPolicy = .standard) -> some Connection {
        DecompressingConnection(base: self, policy: policy)
    }
}

/// The codings that a connection asks for, and the limits of decoding them.
public struct DecompressionPolicy: Sendable, Hashable {
    /// The codings to offer in `Accept-Encoding`; those that are not available on this system are left out.
    public var codings: [ContentCoding]
    /// The bounds of decoding, for all codings, offered or not.
    public var limits: ContentDecodingLimits

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - codings: The codings to offer, all with the same weight. `deflate` is decoded but not offered by default, since
    ///     servers do not agree on its format.
    ///   - limits: The bounds of decoding.
    public init(
        codings: [ContentCoding] = [.gzip, .brotli, .zstd], limits: ContentDecodingLimits = .standard
    ) {
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

struct DecompressingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let layer: Layer
    private let limits: ContentDecodingLimits
    private let offer: HTTPField

    init(base: Base, policy: DecompressionPolicy) {
        self.base = base
        limits = policy.limits
        // A platform that decodes by itself fails at a coding that it does not know, and every one knows gzip.
        let decodesItself = base.layers.contains { $0.facts.contains(.decodesContent) }
        let codings = DecompressionDecision.offer(policy.codings) { decodesItself ? $0 == .gzip : $0.isDecodable }
        offer = HTTPField(name: .acceptEncoding, value: codings)
        layer = Layer(
            name: "decompressing", role: .preparation,
            settings: [.init("codings", codings), .init("maximumRatio", limits.maximumRatio)],
            facts: [.changesSignedParts, .decodesContent, .changesResponse],
            bytesHeld: .atMost(Self.stateSize * min(max(1, limits.maximumCodings), 1 << 10)))
    }

    /// The largest window of a coding, that of Brotli, and the buffers around it.
    private static var stateSize: Int { 17 << 20 }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard !request.options.keepsContentCoding else { return try await base.send(request) }
        let method = request.head.method
        if let field = DecompressionDecision.acceptEncoding(for: request.head, offering: offer) {
            request.head.headerFields.add(field)
        }
        let response = try await base.send(request)
        let codings = DecompressionDecision.codings(of: response.head, to: method)
        return codings.isEmpty || response.body.isEmpty ? response : response.decoded(from: codings, limits: limits)
    }
}

extension Response {
    fileprivate consuming func decoded(from codings: [ContentCoding], limits: ContentDecodingLimits) -> Response {
        if let unknown = codings.first(where: { !$0.isDecodable }) {
            // Coded bytes would be taken for the content.
            body = Body(replay: .fromStart) { _ in throw ContentCodingError.unavailable(unknown) }
            return self
        }
        DecompressionDecision.removeCodedFields(from: &head)
        metadata.decodedContentCodings += codings.reversed().map(\.name)
        let coded = body
        // The offsets of the coded bytes are not those of the decoded ones.
        body = Body(replay: coded.replay == .once ? .once : .fromStart) { _ in
            DecodingBodyReader(try await coded.open(), try ContentDecoder(codings, limits: limits))
        }
        return self
    }
}
