import HTTPTypes

extension Connection {
    /// Adds credentials to the requests for the origins that the credentials were given for.
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
    /// port. So does a request with ``RequestOptions/skipsAuthentication``. A request that already carries one of
    /// the fields of the credentials passes as it is: what the caller set for this one request is meant.
    ///
    /// An origin names its scheme. Credentials for an `http` origin are sent in the clear, to whoever answers there;
    /// give one only for a server on this machine.
    ///
    /// It belongs innermost, just outside of logs of the wire and the transport: inside `retrying`, so that each attempt
    /// is signed anew, with a date of its own, and after every layer that changes the request, since a signature covers
    /// what it sees. It belongs inside `followingRedirects` too, which asks it anew at each hop. A request that any other
    /// origin has redirected stays without credentials, even where it is led back: another server chose its URL.
    ///
    /// See RFC 9110, section 11.
    ///
    /// - Parameters:
    ///   - credentials: What to add.
    ///   - origin: The origin that may see the credentials.
    ///   - others: Further origins that may see them.
    /// - Returns: A connection that adds the credentials.
    public func authenticating(
        with credentials: Credentials, for origin: Origin, _ others: Origin...
    ) -> some Connection {
        authenticating(with: credentials, for: Set(others).union([origin]))
    }

    /// Adds credentials to the requests for a set of origins, as with origins that are named one by one.
    ///
    /// - Parameters:
    ///   - credentials: What to add.
    ///   - origins: The origins that may see the credentials; with none, no request gets them.
    /// - Returns: A connection that adds the credentials.
    public func authenticating(with credentials: Credentials, for origins: Set<Origin>) -> some Connection {
        AuthenticatingConnection(base: self, credentials: credentials, origins: origins)
    }
}

extension RequestOptions {
    /// Whether layers that add credentials pass the request as it is; false where nobody said.
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
        // Also where the caller set such a field, and for other origins: its name alone says that it is secret.
        request.options.declareSecret(credentials.secretFields)
        if needsCredentials(request) {
            switch credentials.source {
            // The request has none of them, or it would need no credentials.
            case .fields(let fields): for field in fields { request.head.headerFields.append(field) }
            case .signer(let signer): request.head.headerFields.override(with: try await signer.sign(request))
            }
        }
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
        // The head mostly names the origin as plainly as can be, and need not be parsed.
        if origins.contains(where: { $0.isPlainOrigin(of: head) }) { return true }
        return (try? Origin(head)).map(origins.contains) ?? false
    }
}

private enum SkipsAuthenticationKey: RequestOptionKey {
    static let defaultValue = false
}
