import HTTPTypes

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Sends requests with Foundation's URLSession, which every platform has.
///
/// ```swift
/// let connection = URLSessionConnection(connectionsPerHost: 4, idleTimeout: .seconds(30))
/// let response = try await connection.send(.get("https://example.com/feed"))
/// for try await chunk in response.body { print(chunk.count) }
/// ```
///
/// It sends each request as it is and returns the response as it comes. It follows no redirection, keeps no cookie, caches
/// nothing and answers no challenge: a `301` and a `401` are responses. On Linux it adds no field beyond the fields that HTTP
/// needs. Each value, unless it is given a session of the app, has one session with its pool of connections, which lives as
/// long as the value, its copies, and the bodies that are under way. Make one and keep it. <doc:choosing-a-transport> compares
/// it with the others.
///
/// ## Responses
///
/// A response is returned as soon as its head has arrived, with one exception on each system, and its body is read while it
/// arrives. Cancelling the task that reads, or dropping the response, closes the connection at once. Content in `gzip`,
/// `deflate`, `br`, and on Linux `zstd` is decoded: its head has no `Content-Encoding` and `Content-Length`, and
/// ``ResponseMetadata/decodedContentCodings`` has the codings. The reason phrase is lost, and so is the order of
/// the fields, which are sorted by name. Repeated fields are joined with commas; only `Set-Cookie` is split again.
/// Trailer fields never reach the reader.
///
/// Bytes that a slow reader has not read yet wait in memory, and beyond the bound of ``Backlog`` in a temporary file
/// without a name; when that is full too, reading fails with ``TransportError/Code/limitExceeded``.
///
/// ## Requests
///
/// `Content-Length` and `Transfer-Encoding` follow from the body; such fields of the request are ignored. Repeated
/// fields are joined, `Cookie` with semicolons and others with commas. `GET` and `HEAD` with content are refused.
///
/// An exchange ends at the times of its ``TransferLimits``. The idle timeout covers the wait for a free connection, connecting,
/// sending, and the wait for the head and for each part of the body, but not a slow reader. Both deadlines count all time, also
/// the time in which the content of the request is made.
///
/// ## On Apple's systems
///
/// This is what URLSession does there by itself, and this type cannot change.
///
/// - It adds `User-Agent`, with the versions of the app and the system, `Accept`, `Accept-Language`, with the languages of
///   the user, `Accept-Encoding` and `Connection`, and to content in memory that has no type the `Content-Type` of a form.
///   A field of the request takes the place of the added one. A `Host` of the request has no effect.
/// - The head of a response without `Content-Type`, or with a type that may be wrong, such as `text/plain`, is returned
///   once 512 bytes of its content or its end have arrived.
/// - A request may be sent a second time without notice when a pooled connection turns out to be dead, above all where its
///   method is idempotent. ``ResponseMetadata/attempts`` does not count it. Content that can be read only once then fails
///   with ``TransportError/Code/unreadableBody``.
/// - HTTP/3 is used where a server offers it by `Alt-Svc`.
/// - The parts of an exchange (``ResponseMetadata/timings``) are told once the response has ended, by the system's clock; until
///   then the first byte alone is known.
/// - The trust of a server is decided for each connection, and not for each request, and so is the client certificate.
/// - A slow reader holds the server back. Only bytes that come all the same wait in the ``Backlog``; `memory` of the
///   ``Layer`` does not count the bytes that the system holds.
/// - The length of a file is checked before it is sent, and not while it is.
/// - App Transport Security allows `http` only to the hosts that the app names in its `Info.plist`. A request to another
///   one fails with ``TransportError/TLSProblem/required``.
/// - A body that is cut fails with ``TransportError/Code/truncated`` where its length was announced, and else with
///   ``TransportError/Code/connectionLost``.
///
/// ## On Linux
///
/// URLSession of Swift 6.3 has limits that this type cannot remove, which <doc:choosing-a-transport> lists. Above all, **a
/// server can end the process**, a request may be sent twice, and there are no ``TLSOptions``: use another transport for servers
/// that you do not trust. A stream is read to its end before it is sent, into memory up to 1 MiB and else into a temporary file
/// without a name; its progress is that of the reading. A body comes as fast as the network gives it, into the ``Backlog``.
public struct URLSessionConnection: ClosableConnection {
    private let owner: URLSessionOwner
    private let watch: TimeLimitWatch
    private let idleTimeout: Duration
    private let backlog: Backlog
    private let additionalFields: HTTPFields

    /// Creates a connection and a session for it, which lives as long as the connection and its transfers.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The largest number of connections to one host; less than 1 counts as 1.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise. More than seven days
    ///     count as seven days; with a negative time, sending throws.
    ///   - backlog: The number of bytes of a response that may wait for a slow reader.
    ///   - clock: The clock that measures the idle timeout.
    public init(
        connectionsPerHost: Int = 6, idleTimeout: Duration = .seconds(60), backlog: Backlog = Backlog(),
        clock: any DatedClock = SystemClock()
    ) {
        self.init(
            connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, backlog: backlog, clock: clock,
            platform: URLSessionPlatform())
    }

    init(
        connectionsPerHost: Int, idleTimeout: Duration, backlog: Backlog, clock: any DatedClock,
        platform: URLSessionPlatform
    ) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = max(connectionsPerHost, 1)
        self.init(
            URLSessionOwner(configuration, platform: platform), additionalFields: [:], idleTimeout: idleTimeout,
            backlog: backlog, clock: clock)
    }

    init(
        _ owner: URLSessionOwner, additionalFields: HTTPFields, idleTimeout: Duration, backlog: Backlog,
        clock: any DatedClock
    ) {
        self.owner = owner
        self.additionalFields = additionalFields
        self.idleTimeout = idleTimeout
        self.backlog = backlog
        watch = TimeLimitWatch(clock: clock)
    }

    /// One layer, the transport.
    public var layers: [Layer] {
        var settings = [owner.setting, .init("idleTimeout", idleTimeout), .init("backlog", backlog)]
        settings += owner.platform.settings
        let names = Set(additionalFields.map(\.name))
        if !names.isEmpty {
            settings.append(.init("additionalFields", names.map(\.rawName).sorted().joined(separator: " ")))
        }
        let holdsSecret = additionalFields.contains { Redaction.standard.isSecret($0, secretFields: []) }
        var facts = Layer.facts(of: watch.clock).union([.changesSignedParts, .decodesContent, .changesResponse])
        if holdsSecret { facts.insert(.addsCredentials) }
        return [
            Layer(
                name: "URLSessionConnection", role: .transport, settings: settings, facts: facts, secretFields: names,
                sending: .init(URLSessionPlatform.sends), time: .init(waiting: .atMost(max(.zero, idleTimeout))),
                memory: .init(bytes: URLSessionPlatform.bytesHeld(byBacklogOf: backlog.memory)))
        ]
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields.add(defaults: additionalFields)
        let request = request
        try request.validate()
        let origin = try Origin(request.head)
        var head = try URLRequest(request.head)
        URLSessionPlatform.apply(request.options.networkAccess, to: &head)
        let limits = try TransferLimits(request.options, idleTimeout: idleTimeout)
        guard request.body.isEmpty || (request.head.method != .get && request.head.method != .head) else {
            throw InvalidRequestError(
                .invalidBody, "URLSession cannot send content with GET or HEAD; use another method, such as QUERY.")
        }
        try Task.checkCancellation()
        let beginning = watch.clock.now
        try limits.check(at: beginning, for: origin)

        try owner.transfers.begin()
        request.reportSending(showingClientCertificate: owner.platform.showsClientCertificate)
        let upload: URLSessionUpload
        do {
            upload = try await URLSessionUpload(request.body, until: limits.deadline, on: watch)
        } catch {
            owner.transfers.end()
            throw TransportError.locate(error, in: request, after: beginning.duration(to: watch.clock.now))
        }
        let exchange = URLSessionExchange(
            request, to: origin, upload: upload, limits: limits, since: beginning,
            buffer: URLSessionResponseBuffer(memoryBound: backlog.memory, diskBound: backlog.disk), watch: watch,
            control: owner.control, transfers: owner.transfers)
        return try await exchange.response { [head] in owner.start(exchange, head) }
    }

    /// Ends all transfers as ``ClosableConnection/cancelAll()`` says.
    public func cancelAll() {
        watch.cancelAll()
    }

    /// Closes the connection as ``ClosableConnection/close()`` says.
    public func close() async {
        await owner.close()
    }
}

extension URLSessionConnection {
    /// The number of bytes of a response that may wait, while its reader is slower than the server.
    public struct Backlog: Sendable, Hashable, CustomStringConvertible {
        /// The number of bytes that may wait in memory, 1 MiB by default; one chunk from the network always may.
        public let memory: Int
        /// The number of bytes that may wait in a temporary file, beyond those in memory; 1 GiB by default.
        public let disk: Int64

        /// Creates bounds; a negative number counts as 0.
        public init(memory: Int = 1 << 20, disk: Int64 = 1 << 30) {
            self.memory = max(memory, 0)
            self.disk = max(disk, 0)
        }

        /// Both bounds, in words.
        public var description: String { "\(memory) bytes in memory, \(disk) on disk" }
    }

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
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise; seven days at most.
    ///   - backlog: The number of bytes of a response that may wait for a slow reader.
    ///   - clock: The clock that measures the idle timeout.
    /// - Throws: ``InvalidRequestError`` when the configuration is that of a background session, and when the name of an
    ///   additional header is not a token, or its value is not text.
    public init(
        configuration: URLSessionConfiguration, idleTimeout: Duration = .seconds(60), backlog: Backlog = Backlog(),
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
    private static func additionalFields(
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

#if !canImport(FoundationNetworking)
extension URLSessionConnection {
    /// Creates a connection that sends with a session of the app; Linux has no such initializer.
    ///
    /// ```swift
    /// let connection = try URLSessionConnection(session: .shared)
    /// ```
    ///
    /// Requests share the connections of the session with the requests of the app. Neither ``close()`` nor the end of the
    /// connection ends the session; it must stay valid for as long as the connection sends. Its cookies and its cache are
    /// not used, a `401` is not answered with its stored credentials, and redirections are not followed. This connection
    /// cannot overrule the rest:
    ///
    /// - Its timeouts end a transfer beside the timeouts of this connection, and its `protocolClasses` may change requests. Its
    ///   `httpAdditionalHeaders` become fields of each request, as with
    ///   ``init(configuration:idleTimeout:backlog:clock:)``.
    /// - Its delegate answers the challenges for the whole session, `urlSession(_:didReceive:completionHandler:)`, and those
    ///   for a task about trust and client certificates. For all else that it could be asked about a task, this connection
    ///   answers.
    /// - Its `delegateQueue` carries the events, so it must be serial, and not that of the main thread.
    /// - Responses that depend on a client certificate of its delegate are not told from others: set
    ///   ``RequestOptions/principal``, or do not cache them.
    /// - After a response whose end is ambiguous, `flush` makes the session use new connections.
    ///
    /// - Parameters:
    ///   - session: The session, which is not that of the background.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise; seven days at most.
    ///   - backlog: The number of bytes of a response that may wait for a slow reader.
    ///   - clock: The clock that measures the idle timeout.
    /// - Throws: ``InvalidRequestError`` when the session is one of the background, and when the name of an additional
    ///   header of its configuration is not a token, or its value is not text.
    public init(
        session: URLSession, idleTimeout: Duration = .seconds(60), backlog: Backlog = Backlog(),
        clock: any DatedClock = SystemClock()
    ) throws(InvalidRequestError) {
        let configuration = session.configuration
        let fields = try Self.additionalFields(of: configuration)
        self.init(
            URLSessionOwner(session, platform: URLSessionPlatform(configuration)), additionalFields: fields,
            idleTimeout: idleTimeout, backlog: backlog, clock: clock)
    }
}
#endif
