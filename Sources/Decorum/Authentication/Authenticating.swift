import HTTPTypes

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
    /// port. A request with ``RequestOptions/skipsAuthentication`` also passes without them. A request that already has
    /// one of the fields of the credentials passes unchanged, because the caller set that field for this request.
    ///
    /// An origin has a scheme. Credentials for an `http` origin are refused, since anybody on the way could read them, unless
    /// the host is this machine or ``allowingUnencryptedCredentials()`` allows them.
    ///
    /// Place it innermost, just outside of the transport and of logs of each attempt. It belongs inside `retrying`, so
    /// that each attempt is signed again with a new date, and inside every layer that changes the request, since a
    /// signature covers the request as it is here. It belongs inside `followingRedirects` too, which sends each hop
    /// through it. A request that any other origin has redirected gets no credentials, even where it is redirected
    /// back: another server chose its URL.
    ///
    /// See RFC 9110, section 11.
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
    ///
    /// Some servers answer with 404, so that they do not tell that a resource exists (RFC 9110, section 15.5.4).
    public var lacksCredentials: Bool {
        get { self[LacksCredentialsKey.self] }
        set { self[LacksCredentialsKey.self] = newValue }
    }

    /// Whether a layer has sent the request with its credentials, and the answer is `401 Unauthorized`.
    public var refusesCredentials: Bool {
        get { self[RefusesCredentialsKey.self] }
        set { self[RefusesCredentialsKey.self] = newValue }
    }
}

extension Response {
    /// Notes, in the answer to a request with credentials, that the server does not accept them: its status is 401.
    ///
    /// A layer that adds credentials calls it, so that the text of a ``StatusError`` says so.
    public mutating func noteRefusedCredentials() {
        if head.code == 401 { metadata.refusesCredentials = true }
    }
}

private enum RefusesCredentialsKey: ResponseMetadataKey {
    static let defaultValue = false
}

private enum LacksCredentialsKey: ResponseMetadataKey {
    static let defaultValue = false
}

private enum SkipsAuthenticationKey: RequestOptionKey {
    static let travels: OptionTravel = [.all, .comparedWhenShared]
    static let defaultValue = false
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
        // This also applies to fields that the caller set, and to other origins: the name already marks the field as
        // secret.
        request.options.declareSecret(credentials.secretFields)
        if let reason = binding.reasonToSkip(request, secretFields: credentials.secretFields) {
            return try await base.sendUnchanged(request, because: reason)
        }
        guard case .fields(let fields) = credentials.source else {
            return try await base.send(request, carrying: credentials) { _ in }
        }
        for field in fields { request.head.headerFields.add(field) }
        var response = try await base.send(request)
        response.noteRefusedCredentials()
        return response
    }
}
