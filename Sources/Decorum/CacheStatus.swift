public import HTTPTypes

/// The handling of a request by one cache: a member of the field `Cache-Status`.
///
/// ```swift
/// for status in CacheStatus.list(in: response.head.headerFields) where status.isHit {
///     print("\(status.cache) had it")
/// }
/// ```
///
/// See RFC 9211.
public struct CacheStatus: Sendable, Hashable {
    /// The name of the cache: a product, a service, a host.
    public var cache: String
    /// Whether the cache answered without forwarding the request; there is then no reason for forwarding.
    public var isHit = false
    /// The reason why the request was forwarded; nil if it was not forwarded.
    public var forwardReason: ForwardReason?
    /// The status of the next server's response, if the request was forwarded and the cache changed the status.
    package var forwardStatus: HTTPResponse.Status?
    /// The remaining time for which the response is fresh, in whole seconds; negative for a stale response.
    public var timeToLive: Duration?
    /// Whether the next server's response was stored; nil if it is not known.
    public var isStored: Bool?
    /// Whether the response to another request was used; false when this was tried without success.
    public var isCollapsed: Bool?
    /// The key of the stored response, which may contain a URL.
    public var key: String?
    /// Further details, in the words of the cache.
    ///
    /// The cache of this client says here why it did not use or store a response, as in
    /// `not stored: the response has no-store (RFC 9111, 5.2.2.5)`. A log has it too.
    public var detail: String?
    /// Whether this cache has used a response at the end of its lifetime, which the whole seconds do not tell.
    var isPastLifetime = false
    /// The parameters that RFC 9211 does not define, in their order.
    package var otherParameters: StructuredParameters = [:]
}

extension CacheStatus {
    /// Creates a status without parameters.
    ///
    /// - Parameter cache: The name of the cache.
    public init(cache: String) {
        self.cache = cache
    }

    /// The reason why a cache forwarded a request.
    public struct ForwardReason: Sendable, Hashable, CustomStringConvertible {
        /// The reason as in the field.
        public let description: String

        package init(_ description: String) {
            self.description = description
        }

        /// The cache does not handle such requests.
        package static let bypass = ForwardReason("bypass")
        /// The method has to reach the origin server.
        package static let method = ForwardReason("method")
        /// No response is stored for the URI.
        package static let uriMiss = ForwardReason("uri-miss")
        /// Responses are stored for the URI, but none for the request's fields.
        package static let varyMiss = ForwardReason("vary-miss")
        /// No matching response is stored, for one of these two reasons.
        package static let miss = ForwardReason("miss")
        /// A fresh response is stored, but the request does not allow its use.
        package static let request = ForwardReason("request")
        /// The response that is stored is stale.
        package static let stale = ForwardReason("stale")
        /// Only a part of the requested response is stored.
        package static let partial = ForwardReason("partial")
    }

    /// Reads the statuses of all caches that a response passed; the cache nearest to the origin server comes first.
    ///
    /// A field that is not a list counts as absent. A member without a name is left out, and so is a parameter whose
    /// type is not the one in RFC 9211.
    ///
    /// - Parameter fields: The fields of a response.
    /// - Returns: A status for each cache; empty when absent.
    public static func list(in fields: HTTPFields) -> [CacheStatus] {
        guard let list = try? StructuredList(.cacheStatus, in: fields) else { return [] }
        return list.members.compactMap { $0.item.flatMap(CacheStatus.init) }
    }

    /// Creates the status from a member of the field; nil if its value is neither a token nor a string.
    private init?(_ item: StructuredItem) {
        guard let cache = item.value.text else { return nil }
        self.cache = cache
        for (key, value) in item.parameters { read(key, value) }
    }

    /// The status as a member of the field, which can always be serialized: characters that are not printable ASCII are
    /// percent-encoded, and parameters that a field cannot hold are left out.
    package var item: StructuredItem {
        var parameters: StructuredParameters = [:]
        if isHit { parameters["hit"] = true }
        if let reason = forwardReason?.description, reason.isStructuredToken { parameters["fwd"] = .token(reason) }
        parameters["fwd-status"] = forwardStatus.map { .integer(Int64($0.code)) }
        parameters["ttl"] = timeToLive.map { .integer($0.wholeSeconds) }
        parameters["stored"] = isStored.map { .boolean($0) }
        parameters["collapsed"] = isCollapsed.map { .boolean($0) }
        parameters["key"] = key.map { .string($0.inPrintableASCII) }
        parameters["detail"] = detail.map { .tokenOrString($0) }
        for (key, value) in otherParameters where parameters[key] == nil {
            let isWritable = (try? ([key: value] as StructuredParameters).serialized()) != nil
            if isWritable { parameters[key] = value }
        }
        return StructuredItem(.tokenOrString(cache), parameters: parameters)
    }

    private mutating func read(_ key: String, _ value: StructuredValue) {
        switch key {
        case "hit": isHit = value.boolean ?? false
        case "fwd": forwardReason = value.token.map { ForwardReason($0) }
        case "fwd-status":
            forwardStatus = value.integer.flatMap { (100...999).contains($0) ? .init(code: Int($0)) : nil }
        case "ttl": timeToLive = value.integer.map { .seconds($0) }
        case "stored": isStored = value.boolean
        case "collapsed": isCollapsed = value.boolean
        case "key": self.key = value.string
        case "detail": detail = value.text
        default: otherParameters[key] = value
        }
    }
}

extension CacheStatus: CustomStringConvertible {
    /// The status as in the field, for example `Decorum;hit;ttl=376`.
    public var description: String { (try? item.serialized()) ?? "" }
}

extension ResponseMetadata {
    /// The handling of the request by the cache of this client; nil without a cache.
    ///
    /// For caches between the client and the origin server, see ``CacheStatus/list(in:)``.
    public var cacheStatus: CacheStatus? {
        get { sharedCacheStatus?.status }
        set { sharedCacheStatus = newValue.map { SharedCacheStatus($0) } }
    }

    /// Whether the response comes from a store, was no longer fresh, and no server has confirmed it, as while the server
    /// cannot be reached (RFC 9111, section 4.2.4).
    public var isStale: Bool {
        guard source == .cache, let status = cacheStatus else { return false }
        return status.forwardReason != nil || status.isPastLifetime || status.timeToLive.map { $0 < .zero } ?? false
    }
}

extension Response {
    /// Whether the cache of this client has answered with 504, since the request must not be sent (RFC 9111, section 5.2.1.7).
    var isRefusalOfCache: Bool {
        guard status == .gatewayTimeout, let cache = metadata.cacheStatus else { return false }
        return !cache.isHit && cache.forwardReason == nil
    }
}

/// A cache status that copies of a response share: it is larger than all other metadata, and only a cache sets it.
final class SharedCacheStatus: Sendable {
    let status: CacheStatus
    /// Whether the detail is a text of this library without a part of a message, in which no secret need be sought.
    let hasFixedDetail: Bool

    init(_ status: consuming CacheStatus, hasFixedDetail: Bool = false) {
        self.status = status
        self.hasFixedDetail = hasFixedDetail
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    static let cacheStatus = HTTPField.Name("Cache-Status")!
}

extension StructuredValue {
    /// The text of a token or a string, for a parameter that may be either.
    fileprivate var text: String? { token ?? string }

    fileprivate static func tokenOrString(_ text: String) -> StructuredValue {
        text.isStructuredToken ? .token(text) : .string(text.inPrintableASCII)
    }
}

extension String {
    fileprivate var inPrintableASCII: String {
        guard !isStructuredString else { return self }
        let bytes = utf8.flatMap { $0.isPrintableASCII ? [$0] : PercentCoding.encode([$0]) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Duration {
    /// The seconds rounded down, limited to the range that a field can hold.
    fileprivate var wholeSeconds: Int64 {
        let limit = Duration.seconds(999_999_999_999_999 as Int64)
        let (seconds, attoseconds) = min(max(self, .zero - limit), limit).components
        return attoseconds < 0 ? seconds - 1 : seconds
    }
}
