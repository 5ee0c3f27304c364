public import HTTPTypes

extension Connection {
    /// Adds credentials to the requests for the given origins.
    ///
    /// ```swift
    /// let api = try Origin("https://api.example.com")
    /// let connection = try SystemConnection()
    ///     .authenticating(with: .bearer(token), for: api)
    ///     .retrying()
    ///     .followingRedirects()
    /// ```
    ///
    /// A request to any other origin passes without them: another scheme, another host, even a subdomain, or another
    /// port. So does a request with ``RequestOptions/skipsAuthentication``, one that already has one of the fields of the
    /// credentials, and one that any other origin has redirected, even if it is redirected back: another server chose its
    /// URL. Credentials for an `http` origin are refused, unless the host is this machine or
    /// ``allowingUnencryptedCredentials()`` allows them.
    ///
    /// Place it innermost, just outside of the transport and of logs of each attempt: inside `retrying`, so that each attempt
    /// is signed again with a new date, inside `followingRedirects`, and inside every layer that changes the request, since a
    /// signature covers the request as it is here.
    ///
    /// - Parameters:
    ///   - credentials: The credentials to add.
    ///   - origin: The origin that may see the credentials.
    ///   - others: Further origins that may see them.
    /// - Returns: A connection that adds the credentials.
    public func authenticating(
        with credentials: Credentials, for origin: Origin, _ others: Origin...
    ) -> some Connection {
        authenticating(with: credentials, for: Set(others).union([origin]))
    }

    /// Adds credentials to the requests for a set of origins, as with single origins.
    ///
    /// - Parameters:
    ///   - credentials: The credentials to add.
    ///   - origins: The origins that may see the credentials; with an empty set, no request gets them.
    /// - Returns: A connection that adds the credentials.
    public func authenticating(with credentials: Credentials, for origins: Set<Origin>) -> some Connection {
        AuthenticatingConnection(base: self, credentials: credentials, binding: CredentialBinding(origins: origins))
    }
}

extension RequestOptions {
    /// Whether layers that add credentials leave the request unchanged; the default is false.
    public var skipsAuthentication: Bool {
        get { self[SkipsAuthenticationKey.self] }
        set { self[SkipsAuthenticationKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// Whether a layer has sent the request without its credentials, since they are not for its origin, and the answer is
    /// 401, 403 or 404.
    package var lacksCredentials: Bool {
        get { self[LacksCredentialsKey.self] }
        set { self[LacksCredentialsKey.self] = newValue }
    }

    /// Whether a layer has sent the request with its credentials, and the answer is `401 Unauthorized`.
    package var refusesCredentials: Bool {
        get { self[RefusesCredentialsKey.self] }
        set { self[RefusesCredentialsKey.self] = newValue }
    }
}

extension Response {
    /// Notes, in the answer to a request with credentials, that the server does not accept them, for a ``StatusError``.
    package mutating func noteRefusedCredentials() {
        if code == 401 { metadata.refusesCredentials = true }
    }
}

private enum RefusesCredentialsKey: ResponseMetadataKey { static let defaultValue = false }
private enum LacksCredentialsKey: ResponseMetadataKey { static let defaultValue = false }
private enum SkipsAuthenticationKey: RequestOptionKey {
    static let travels: OptionTravel = [.all, .comparedWhenShared]
    static let defaultValue = false
}

extension Request {
    /// Sends the request once more in place of a response that asks for other credentials; the attempts of both count.
    package consuming func sent(
        insteadOf first: consuming Response, by layer: String, because words: String,
        _ send: (consuming Request) async throws -> Response
    ) async throws -> Response {
        options = options.travelling(.attempts)
        options.callContext?.note(CallDecision(.resends, by: layer, words, after: "\(first.status.code)"))
        let attempts = first.metadata.attempts
        // Its connection is not used again, but a body without an end holds nothing up.
        first.body = .empty
        var response = try await send(self)
        response.metadata.attempts += attempts
        return response
    }
}

struct AuthenticatingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let credentials: Credentials
    let binding: CredentialBinding

    var layer: Layer {
        Layer(
            name: "authenticating",
            role: .authentication,
            settings: [Layer.Setting("with", credentials.kind), binding.setting],
            facts: credentials.facts.union(binding.facts),
            secretFields: credentials.secretFields
        )
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        // This also applies to fields that the caller set, and to other origins.
        request.options.declareSecret(credentials.secretFields)
        if let reason = binding.reasonToSkip(request, secretFields: credentials.secretFields) {
            return try await base.sendUnchanged(request, because: reason)
        }
        guard case .fields(let fields) = credentials.source else {
            return try await base.send(request, carrying: credentials) { _ in }
        }
        for index in fields.indices { request.head.headerFields.add(fields[index]) }
        var response = try await base.send(request)
        response.noteRefusedCredentials()
        return response
    }
}

extension Connection {
    /// Asks a source for the credentials of each attempt, and adds them to the requests for the given origins.
    ///
    /// ```swift
    /// let session = Session(token: token)
    /// let connection = try SystemConnection()
    ///     .authenticating(from: session, for: Origin("https://api.example.com"))
    ///     .retrying()
    ///     .limitingTime()
    /// ```
    ///
    /// The rules and the place of ``authenticating(with:for:_:)`` apply: the source is not asked for a request that gets no
    /// credentials. Inside of ``retrying(_:clock:generator:)``, each attempt has the credentials of its time.
    ///
    /// The wait for the source ends at the ``RequestOptions/deadline`` of the request. A ``CredentialSourceError`` tells
    /// that the source failed; a `CancellationError` always means that the caller was cancelled.
    ///
    /// - Parameters:
    ///   - source: The source of the credentials.
    ///   - origin: The origin that may see the credentials.
    ///   - others: Further origins that may see them.
    ///   - clock: The clock of the deadlines; it must be that of the transport.
    /// - Returns: A connection that adds the credentials, and throws ``CredentialSourceError``.
    public func authenticating(
        from source: some CredentialSource, for origin: Origin, _ others: Origin...,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        authenticating(from: source, for: Set(others).union([origin]), clock: clock)
    }

    /// Asks a source for the credentials of each attempt to a set of origins, as with single origins.
    ///
    /// - Parameters:
    ///   - source: The source of the credentials.
    ///   - origins: The origins that may see the credentials; with an empty set, the source is never asked.
    ///   - clock: The clock of the deadlines; it must be that of the transport.
    /// - Returns: A connection that adds the credentials, and throws ``CredentialSourceError``.
    public func authenticating(
        from source: some CredentialSource, for origins: Set<Origin>, clock: any DatedClock = SystemClock()
    ) -> some Connection {
        SourceAuthenticatingConnection(
            base: self, source: source, binding: CredentialBinding(origins: origins),
            watch: TimeLimitWatch(clock: clock))
    }
}

struct SourceAuthenticatingConnection<Base: Connection, Source: CredentialSource>: ComposedConnection {
    let base: Base
    let source: Source
    let binding: CredentialBinding
    let watch: TimeLimitWatch

    var layer: Layer {
        Layer(
            name: "authenticating", role: .authentication,
            settings: [Layer.Setting("from", Source.self), binding.setting], facts: facts,
            secretFields: source.secretFields, time: .init(waiting: .unbounded))
    }

    private var facts: Set<Layer.Fact> {
        let facts = binding.facts.union([.changesSignedParts, .variesPerSend, .readsStatus])
        return facts.union(source.servesOneUser ? [] : [.changesUsers]).union(Layer.facts(of: watch.clock))
    }

    func send(_ request: consuming Request) async throws -> Response {
        request.options.declareSecret(source.secretFields)
        if let reason = binding.reasonToSkip(request, secretFields: source.secretFields) {
            return try await base.sendUnchanged(request, because: reason)
        }
        let attempt = AuthenticationAttempt(request: copy request, origin: try Origin(request.head))
        guard let credentials = try await credentials(for: attempt) else {
            return try await base.sendUnchanged(request, because: .noCredentials)
        }
        request.options.declareSecret(credentials.secretFields)
        guard !credentials.secretFields.contains(where: request.head.headerFields.contains) else {
            return try await base.sendUnchanged(request, because: .ownCredentials)
        }
        return try await base.send(request, carrying: credentials) { await source.learn(from: $0) }
    }

    private func credentials(for attempt: AuthenticationAttempt) async throws -> Credentials? {
        let deadline = attempt.request.options.deadline
        if let deadline, deadline <= watch.clock.now {
            throw CredentialSourceError(attempt, underlying: nil)
        }
        let given: Credentials??
        do {
            given = try await watch.leavableValue(until: deadline) { [source] in
                try await source.credentials(for: attempt)
            }
        } catch {
            // A source that works for several callers may have been cancelled by another one.
            guard !Task.isCancelled else { throw CancellationError() }
            throw CredentialSourceError(attempt, underlying: error)
        }
        try Task.checkCancellation()
        guard let given else { throw CredentialSourceError(attempt, underlying: nil) }
        return given
    }
}

/// The response to a request that carried credentials, for the signer or the source that they came from.
///
/// It has no body: the body belongs to the caller. Descriptions and reflection show no field.
public struct AuthenticationAnswer: Sendable {
    /// The head of the request with its credentials.
    public let request: HTTPRequest
    /// The server that the request was sent to.
    public let origin: Origin
    /// The head of the response.
    public let head: HTTPResponse
    /// The facts about the response; its ``ResponseMetadata/source`` tells a server's answer from a stored or a recorded
    /// one.
    public let metadata: ResponseMetadata

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - request: The head of the request with its credentials.
    ///   - origin: The server that the request was sent to.
    ///   - head: The head of the response.
    ///   - metadata: The facts about the response.
    public init(
        request: HTTPRequest, origin: Origin, head: HTTPResponse, metadata: ResponseMetadata = ResponseMetadata()
    ) {
        (self.request, self.origin, self.head, self.metadata) = (request, origin, head, metadata)
    }
}

extension AuthenticationAnswer: SecretHolder {
    /// The method, the server and the status.
    public var description: String { "\(head.status.code) from \(origin) to \(request.method)" }
}
