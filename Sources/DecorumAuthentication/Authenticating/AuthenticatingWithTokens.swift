public import Decorum
import HTTPTypes

extension Connection {
    /// Sends the token of a user with each attempt to the given origins, and replaces it once where a server rejects it.
    ///
    /// ```swift
    /// let tokens = Tokens(in: store, from: client.refreshing())
    /// let connection = try SystemConnection()
    ///     .authenticating(with: tokens, for: Origin("https://api.example.com"))
    ///     .retrying()
    ///     .followingRedirects()
    /// ```
    ///
    /// A `401` whose challenge is of the scheme `Bearer` with `error="invalid_token"` gets one refresh, and the request is
    /// sent once more with the new token; a second `401` is returned. A `401` with another challenge, or without one, is
    /// returned at once, since a new token would change nothing. A request whose body can be read once is not sent again:
    /// its `401` is returned, and the token is replaced in the background.
    ///
    /// A request to any other origin passes without the token, and so does one that another origin has redirected, one
    /// with `RequestOptions.skipsAuthentication`, and one that has an `Authorization` field already.
    ///
    /// Place it inside of `retrying`, of redirects and of the cache, and outside of logs of each attempt. The
    /// second attempt is not taken from the budget of retries, since it is the only one. See RFC 6750, section 3.
    ///
    /// - Parameters:
    ///   - tokens: The token of the user.
    ///   - origin: The origin that may see the token.
    ///   - others: Further origins that may see it.
    /// - Returns: A connection that throws ``SignedOutError``, ``TokenRefreshError`` and ``RefreshRecursionError`` too.
    public func authenticating(with tokens: Tokens, for origin: Origin, _ others: Origin...) -> some Connection {
        authenticating(with: tokens, for: Set(others).union([origin]))
    }

    /// Sends the token of a user with each attempt to a set of origins, as with single origins.
    ///
    /// - Parameters:
    ///   - tokens: The token of the user.
    ///   - origins: The origins that may see the token; with an empty set, no request gets it.
    /// - Returns: A connection that throws ``SignedOutError``, ``TokenRefreshError`` and ``RefreshRecursionError`` too.
    public func authenticating(with tokens: Tokens, for origins: Set<Origin>) -> some Connection {
        TokenAuthenticatingConnection(base: self, tokens: tokens, binding: CredentialBinding(origins: origins))
    }
}

struct TokenAuthenticatingConnection<Base: Connection>: ComposedConnection {
    private static var name: String { "authenticating" }

    let base: Base
    let tokens: Tokens
    let binding: CredentialBinding
    // Made once, since a set for each request would cost as much as all the rest.
    private let secretFields: Set<HTTPField.Name> = [.authorization]

    init(base: Base, tokens: Tokens, binding: CredentialBinding) {
        self.base = base
        self.tokens = tokens
        self.binding = binding
    }

    var layer: Layer {
        Layer(
            name: Self.name, role: .authentication,
            settings: [Layer.Setting("with", "tokens"), binding.setting],
            facts: facts, secretFields: secretFields, sends: 1...2, longestWait: .unbounded,
            sharedState: [Layer.StateIdentity(tokens)],
            branches: [Layer.Branch("refresh", tokens.source.layers, carriesRequests: false)])
    }

    private var facts: Set<Layer.Fact> {
        var facts = binding.facts.union([.changesSignedParts, .variesPerSend, .readsStatus])
        if !tokens.servesOneUser { facts.insert(.changesUsers) }
        if tokens.clock is SystemClock { facts.insert(.readsClock) }
        return facts
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        request.options.declareSecret(secretFields)
        if let reason = binding.reasonToSkip(request, secretFields: secretFields) {
            return try await base.sendUnchanged(request, because: reason)
        }
        let lease: TokenLease
        let step = tokens.firstStep
        if case .use(let valid, nil) = step {
            lease = valid
        } else {
            let deadline = request.options.deadline
            guard let got = try await tokens.lease(after: step, insteadOf: nil, until: deadline) else {
                throw SignedOutError(.noToken)
            }
            lease = got
        }
        let first = try await send(copy request, with: lease)
        guard first.rejectsToken else { return first }
        guard request.body.replay > .once || request.body.isEmpty else {
            tokens.replaceInBackground(lease)
            return first
        }
        return try await send(request, insteadOf: lease, rejectedBy: first)
    }

    private func send(
        _ request: consuming Request, insteadOf rejected: TokenLease, rejectedBy first: consuming Response
    ) async throws -> Response {
        guard let lease = try await tokens.lease(insteadOf: rejected, until: request.options.deadline) else {
            return first
        }
        request.options = request.options.travelling(.attempts)
        request.options.callContext?.note(
            CallDecision(.resends, by: Self.name, "the server has rejected the token, and there is a new one"))
        let attempts = first.metadata.attempts
        // Its connection is not used again, but a body without an end holds nothing up.
        first.body = .empty
        var response = try await send(request, with: lease)
        response.metadata.attempts += attempts
        return response
    }

    @inline(__always) private func send(_ request: consuming Request, with lease: TokenLease) async throws -> Response {
        // There is no such field yet, since a request with its own credentials passes unchanged.
        request.head.headerFields.append(lease.field)
        var response = try await base.send(request)
        // The answer belongs to a user who is no longer signed in here.
        guard tokens.generation == lease.generation else { throw SignedOutError(.signedOut) }
        response.noteRefusedCredentials()
        return response
    }
}

extension Response {
    /// Whether a server, and not a store, says that the token is not valid (RFC 6750, section 3.1).
    fileprivate var rejectsToken: Bool {
        guard metadata.refusesCredentials, metadata.source != .cache else { return false }
        return challenges.contains { $0.scheme == "bearer" && $0["error"] == OAuthError.Code.invalidToken.name }
    }
}
