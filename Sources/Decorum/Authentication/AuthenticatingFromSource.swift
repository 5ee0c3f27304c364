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
    /// The rules of ``authenticating(with:for:_:)`` apply: the source is asked neither for a request to another origin, nor
    /// for one that another origin has redirected, nor for one with ``RequestOptions/skipsAuthentication`` or credentials
    /// of its own. The layer declares secret each field that the source's credentials have. The place in the stack is the
    /// same too. Inside of ``retrying(_:clock:generator:)``, each attempt has the credentials of its time.
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
