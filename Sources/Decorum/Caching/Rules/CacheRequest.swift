import Foundation
import HTTPTypes

/// The directives of a request to a cache: its `Cache-Control` (RFC 9111, section 5.2.1) and ``RequestOptions/cacheUse``.
struct CacheRequest: Sendable {
    /// Whether the request has a field that a cache evaluates: a directive, a condition or a range.
    let hasCacheFields: Bool
    let hasCookie: Bool
    /// Whether a stored response must be validated before it is used.
    var needsValidation = false
    /// Whether that is because of a change at the origin, and not of the request.
    var followsChange = false
    /// Whether this exchange must neither be stored nor be answered from the store.
    var isNoStore = false
    /// Whether the network must not be used.
    var isOnlyIfCached = false
    /// The largest age in seconds that is acceptable.
    var maxAge: Double?
    /// The largest number of seconds by which a response may be stale.
    var maxStale: Double?
    /// The seconds for which a response must stay fresh.
    var minFresh: Double = 0
    /// The seconds by which a response may be stale that is used instead of an error (RFC 5861, section 4).
    var staleIfError: Double = 0
    /// The seconds by which a response may be stale while the server cannot be reached; nil for the limit of the policy.
    var staleIfUnreachable: Double?

    init(_ fields: HTTPFields, _ telling: TellingFields, use: CacheUse) {
        (hasCacheFields, hasCookie) = (telling.hasCacheFields, telling.hasCookie)
        if hasCacheFields { read(fields) }
        switch use {
        case .standard: break
        case .reload: needsValidation = true
        case .preferringStored: maxStale = .infinity
        case .onlyStored:
            maxStale = .infinity
            isOnlyIfCached = true
        case .none: isNoStore = true
        }
    }

    private mutating func read(_ fields: HTTPFields) {
        guard fields.has(.cacheControl) else {
            if fields.has(.pragma) { needsValidation = fields.asksForValidation }
            return
        }
        let control = CacheControl(fields)
        needsValidation = control.contains("no-cache")
        isNoStore = control.contains("no-store")
        isOnlyIfCached = control.contains("only-if-cached")
        maxAge = control.seconds(of: "max-age")
        if control.contains("max-stale") {
            maxStale = control.argument(of: "max-stale") == nil ? .infinity : control.seconds(of: "max-stale")
        }
        minFresh = control.seconds(of: "min-fresh") ?? 0
        staleIfError = control.seconds(of: "stale-if-error") ?? 0
    }
}

/// How a request may be answered by ``Connection/caching(in:policy:clock:spawner:)``, in addition to its fields.
///
/// It is never sent: use it when the server should not get this information.
public enum CacheUse: Sendable, Hashable {
    /// A stored response while it is fresh.
    case standard
    /// A stored response only once the server has confirmed it; the request shares no response with another caller.
    case reload
    /// A stored response of any age; the server if no stored response may be used stale.
    case preferringStored
    /// A stored response of any age; if no stored response may be used stale, `504 Gateway Timeout` without sending the
    /// request.
    case onlyStored
    /// The server's response, which is not stored.
    case none
}

extension RequestOptions {
    /// How the request may be answered by a cache.
    public var cacheUse: CacheUse {
        get { self[CacheUseKey.self] }
        set { self[CacheUseKey.self] = newValue }
    }

    /// The time for which a cache uses a stale response when the server cannot be reached (RFC 9111, section 4.2.4); nil for
    /// ``CachingPolicy/staleIfUnreachable``, zero for none.
    public var staleIfUnreachable: Duration? {
        get { self[StaleIfUnreachableKey.self] }
        set { self[StaleIfUnreachableKey.self] = newValue }
    }
}

private enum StaleIfUnreachableKey: RequestOptionKey {
    static let travels = OptionTravel.all
    static let defaultValue: Duration? = nil
}

private enum CacheUseKey: RequestOptionKey {
    static let travels = OptionTravel.all
    static let defaultValue = CacheUse.standard
}

extension CacheRequest {
    /// The cause for which a request must be sent to the server with any stored responses; nil without such a cause.
    func causeToPass(_ request: borrowing Request, in mode: CacheMode = .answering) -> ForwardCause? {
        if isNoStore { return .requestNoStore }
        let method = request.head.method
        let isQuery = method == .query && mode == .answering
        guard method == .get || method == .head || isQuery else { return .method }
        guard isQuery || request.body.isEmpty else { return .content }
        guard hasCacheFields else { return nil }
        let fields = request.head.headerFields
        if Preconditions.needOrigin(fields, in: mode) { return .precondition }
        guard let range = fields.firstValue(of: .range) else { return nil }
        return method == .get && mode == .answering && ByteRange(range) != nil ? nil : .range
    }
}
