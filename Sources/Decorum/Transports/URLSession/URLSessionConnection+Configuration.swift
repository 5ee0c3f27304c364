import HTTPTypes

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension URLSessionConnection {
    /// Creates a connection with a session that is made from a configuration of the app.
    ///
    /// ```swift
    /// let configuration = URLSessionConfiguration.ephemeral
    /// configuration.httpMaximumConnectionsPerHost = 2
    /// configuration.httpAdditionalHeaders = ["User-Agent": "App/1.0"]
    /// let connection = try URLSessionConnection(configuration: configuration)
    /// ```
    ///
    /// The configuration is copied, so that later changes in it have no effect. `httpAdditionalHeaders` become fields of
    /// each request that does not have them, whatever its host is, before the request is reported; so prefer
    /// `authenticating(with:for:)` for credentials. These settings are overruled, since they do the work of layers, or
    /// that of the idle timeout: `urlCache`, `requestCachePolicy`, `httpCookieStorage`, `httpShouldSetCookies`,
    /// `httpCookieAcceptPolicy`, `urlCredentialStorage`, `httpShouldUsePipelining`, `timeoutIntervalForRequest` and
    /// `timeoutIntervalForResource`. Classes in `protocolClasses` are used as they are: one that changes requests does so
    /// after they were reported to ``SentRequests``, and must add nothing that identifies the user. With
    /// `waitsForConnectivity`, the wait for a network counts as idle time. On Linux, URLSession
    /// itself ignores `connectionProxyDictionary` and the versions of TLS.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the session; its `httpMaximumConnectionsPerHost` is the limit of the pool.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise. More than seven days
    ///     count as seven days; with a negative time, sending throws.
    ///   - backlog: The number of bytes of a response that may wait for a slow reader.
    ///   - clock: The clock that the idle timeout goes by.
    /// - Throws: ``InvalidRequestError`` when the configuration is that of a background session, and when the name of an
    ///   additional header is not a token, or its value is not text.
    public init(
        configuration: URLSessionConfiguration,
        idleTimeout: Duration = .seconds(60),
        backlog: Backlog = Backlog(),
        clock: any DatedClock = SystemClock()
    ) throws(InvalidRequestError) {
        guard let own = configuration.copy() as? URLSessionConfiguration else {
            throw InvalidRequestError(.invalidField, "The configuration cannot be copied.")
        }
        let fields = try Self.additionalFields(of: own)
        self.init(
            URLSessionOwner(own, platform: URLSessionPlatform(own)), additionalFields: fields, idleTimeout: idleTimeout,
            backlog: backlog, clock: clock)
    }

    /// The additional headers of a configuration that is not that of a background session.
    static func additionalFields(
        of configuration: URLSessionConfiguration
    ) throws(InvalidRequestError) -> HTTPFields {
        guard configuration.identifier == nil else {
            throw InvalidRequestError(
                .backgroundSession,
                "A background session cannot send the requests of a connection; use another configuration.")
        }
        var fields = HTTPFields()
        for (name, value) in configuration.httpAdditionalHeaders ?? [:] {
            guard let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String else {
                throw InvalidRequestError(
                    .invalidField, "An additional header of the configuration has no name or no text as its value.")
            }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }
}
