import Foundation
import HTTPTypes

extension Connection {
    /// Validates stored responses with the server instead of transferring them again.
    ///
    /// A `GET` or `HEAD` with a response in `store` is sent with `If-None-Match` and `If-Modified-Since`, which carry
    /// the stored `ETag` and `Last-Modified` as they came, or without both with the stored `Date`, by which the server
    /// sees no change within its second. A `304 Not Modified` is answered with the stored response, its fields refreshed by
    /// the fields of the `304`, or with the `304` itself: see ``NotModifiedAnswer``. A stored `Set-Cookie` is not given again.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .revalidating(in: MemoryResponseStore())
    /// ```
    ///
    /// A `200` with one of these fields is stored while its body is read, and only once the body was read to its end. It is
    /// stored neither with `Cache-Control: no-store` on either side nor with `Vary: *`. Responses are kept by method,
    /// URI, the fields that `Vary` names, ``RequestOptions/principal``, and the credentials that the request carries:
    /// see ``ResponseKey``. If a layer further in declares that it adds credentials and the request has no principal,
    /// the store is not used. If a layer adds them without declaring it, the response is not stored: see
    /// ``SentRequests``.
    ///
    /// A request with its own precondition, or with `Range`, passes unchanged, and the caller gets its `304`.
    ///
    /// It is ``caching(in:policy:clock:spawner:)`` with the rule that the server is asked each time: stored responses are
    /// removed in the same way after a request with an unsafe method, a response for another cookie is used only after a
    /// confirmation by its strong entity tag, and ``CacheStatus/detail`` in ``ResponseMetadata/cacheStatus`` says why a
    /// response is not stored. No request is shared with another.
    ///
    /// Apply it inside of ``followingRedirects(upTo:policy:remembering:clock:)`` and outside of ``retrying(_:clock:generator:)``.
    /// See RFC 9110, section 13.1, and RFC 9111, sections 3.2, 4.1 and 4.3.
    ///
    /// - Parameters:
    ///   - store: The store of the responses.
    ///   - answer: The answer to the caller after a `304`.
    ///   - clock: The clock that dates the stored responses.
    /// - Returns: A connection that transfers stored content again only when it has changed.
    public func revalidating(
        in store: some ResponseStore,
        answering answer: NotModifiedAnswer = .storedResponse,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        var policy = CachingPolicy()
        policy.mode = .validating
        policy.notModifiedAnswer = answer
        return CachingConnection(
            base: self, cache: ResponseCache(store, policy: policy, clock: clock, spawner: SystemSpawner()))
    }
}

/// The answer to a caller of ``Connection/revalidating(in:answering:clock:)`` when the server answers `304 Not
/// Modified`.
public enum NotModifiedAnswer: Sendable, Hashable {
    /// The stored response with refreshed fields; its source is ``ResponseMetadata/Source/revalidated``.
    case storedResponse
    /// The `304` itself, with the stored response in ``ResponseMetadata/storedResponse``.
    case notModified
}

extension ResponseMetadata {
    /// The stored response that a `304` has confirmed, with refreshed fields.
    public var storedResponse: StoredResponse? {
        get { self[StoredResponseKey.self] }
        set { self[StoredResponseKey.self] = newValue }
    }
}

private enum StoredResponseKey: ResponseMetadataKey {
    static let defaultValue: StoredResponse? = nil
}
