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
    /// An origin has a scheme. Credentials for an `http` origin are sent without encryption to any server that answers
    /// there; give such an origin only for a server on this machine.
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
        AuthenticatingConnection(base: self, credentials: credentials, origins: origins)
    }
}

extension RequestOptions {
    /// Whether layers that add credentials leave the request unchanged; the default is false.
    public var skipsAuthentication: Bool {
        get { self[SkipsAuthenticationKey.self] }
        set { self[SkipsAuthenticationKey.self] = newValue }
    }
}

struct AuthenticatingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let credentials: Credentials
    let origins: Set<Origin>

    var layer: Layer {
        Layer(
            name: "authenticating",
            role: .authentication,
            settings: [
                Layer.Setting("with", credentials.kind),
                Layer.Setting("for", origins.map(\.description).sorted().joined(separator: ", ")),
            ],
            facts: [.addsCredentials],
            secretFields: credentials.secretFields
        )
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        // This also applies to fields that the caller set, and to other origins: the name already marks the field as
        // secret.
        request.options.declareSecret(credentials.secretFields)
        if needsCredentials(request) { try await credentials.write(to: &request) }
        return try await base.send(request)
    }

    private func needsCredentials(_ request: borrowing Request) -> Bool {
        let fields = request.head.headerFields
        guard !request.options.skipsAuthentication, !credentials.secretFields.contains(where: fields.contains) else {
            return false
        }
        let redirectingOrigins = request.options.redirectingOrigins
        return isForOrigin(of: request.head)
            && (redirectingOrigins.isEmpty || redirectingOrigins.isSubset(of: origins))
    }

    private func isForOrigin(of head: HTTPRequest) -> Bool {
        // Most heads have the origin in its plain form, which needs no parsing.
        if origins.contains(where: { $0.isPlainOrigin(of: head) }) { return true }
        return (try? Origin(head)).map(origins.contains) ?? false
    }
}

private enum SkipsAuthenticationKey: RequestOptionKey {
    static let defaultValue = false
}
