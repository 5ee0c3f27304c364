import HTTPTypes

/// The way in which a cache uses its stored responses.
enum CacheMode: Sendable {
    /// A stored response answers while it is fresh: ``Connection/caching(in:policy:clock:spawner:)``.
    case answering
    /// The server is asked each time, only a `200` with a validator or a `Date` is stored, a `HEAD` has a response of its
    /// own, and a request with its own conditions passes: ``Connection/revalidating(in:answering:clock:)``.
    case validating

    /// The method under whose key a response is stored that answers a method.
    ///
    /// A response to `GET` answers `HEAD` too, and the response to a `POST` may answer `GET`; a `QUERY` has responses of
    /// its own.
    func methodOfStoredResponse(to method: HTTPRequest.Method) -> HTTPRequest.Method {
        self == .validating || method == .query ? method : .get
    }

    /// Whether a response shows that the stored responses are outdated, even if it is not stored itself.
    func outdates(_ status: HTTPResponse.Status) -> Bool {
        if self == .validating { return status == .ok }
        return (200..<300).contains(status.code) || status == .notFound || status == .gone
    }
}
