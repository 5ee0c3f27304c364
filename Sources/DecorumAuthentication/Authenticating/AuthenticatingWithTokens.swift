// An app that signs in composes its stack too, so one import gives it both.
@_exported public import Decorum
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
    /// A `401` means that the token is replaced once for all callers, and that each request is sent once more, whatever its
    /// method, since a `401` was not carried out; a second `401` is returned. It is returned at once if its challenge names
    /// another error than `invalid_token`, or if all challenges ask for another scheme than the token's, since a new token
    /// would change nothing. A `401` that names no error does not sign the user out: to a token without a refresh token,
    /// it is returned. A request whose body can be read once is not sent again: its `401` is returned, and the token is
    /// replaced in the background.
    ///
    /// A request ends with ``SignedOutError`` if its user signs out meanwhile, or another user signs in, here or in another
    /// process with the same store. That counts for the later attempts of the call and for its redirections too.
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
            name: Self.name, role: .authentication, settings: [Layer.Setting("with", "tokens"), binding.setting],
            facts: facts, secretFields: secretFields,
            sending: .init(1...2, branches: [Layer.Branch("refresh", tokens.source.layers, carriesRequests: false)]),
            time: .init(waiting: .unbounded), memory: .init(state: [Layer.StateIdentity(tokens)]))
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
        let lease: HeldToken
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
        guard first.metadata.refusesCredentials else { return first }
        switch TokenVerdict(
            on: first.head, from: first.metadata.source, to: lease.token, canReplace: tokens.canReplace(lease.token),
            canResend: request.body.replay > .once || request.body.isEmpty)
        {
        case .delivers: return first
        case .resends: return try await send(request, insteadOf: lease, rejectedBy: first)
        case .replaces:
            tokens.replaceInBackground(lease)
            return first
        }
    }

    private func send(
        _ request: consuming Request, insteadOf rejected: HeldToken, rejectedBy first: consuming Response
    ) async throws -> Response {
        guard let lease = try await tokens.lease(insteadOf: rejected, until: request.options.deadline) else {
            return first
        }
        return try await request.sent(
            insteadOf: first, by: Self.name, because: "the server has rejected the token, and there is a new one"
        ) { try await send($0, with: lease) }
    }

    @inline(__always) private func send(_ request: consuming Request, with lease: HeldToken) async throws -> Response {
        // An earlier attempt of the call may have had the token of another user.
        if let call = request.options.callContext, call.first(lease.generation, by: tokens) != lease.generation {
            throw SignedOutError(.signedOut)
        }
        // There is no such field yet, since a request with its own credentials passes unchanged.
        request.head.headerFields.append(lease.field)
        if let key = lease.token.proofKey { request.options.proofKey = ProofKeyBytes(value: key) }
        var response: Response
        do {
            response = try await base.send(request)
        } catch  where !(error is CancellationError) && tokens.generation != lease.generation {
            // A retry of the failure would have the token of another user.
            throw SignedOutError(.signedOut)
        }
        // The answer belongs to a user who is no longer signed in here.
        guard tokens.generation == lease.generation else { throw SignedOutError(.signedOut) }
        response.noteRefusedCredentials()
        return response
    }
}

/// The consequence of the response to a request that carried a token, from values alone.
enum TokenVerdict: Equatable {
    /// The response is not about the token.
    case delivers
    /// The request is sent again with another token.
    case resends
    /// The request cannot be sent again, and the next one gets another token.
    case replaces

    /// Decides; without `canReplace`, any `401` would sign the user out, and a stored response says nothing about a token of
    /// today.
    init(
        on head: HTTPResponse, from source: ResponseMetadata.Source?, to token: Token, canReplace: Bool, canResend: Bool
    ) {
        let challenges = head.headerFields.challenges
        // Each challenge is a way of its own to be let in, so one that is about the token is enough.
        let errors = challenges.filter { $0.scheme == token.type.lowercased() }
            .map { $0.parameters.filter { $0.name == "error" }.map(\.value) }
        let isNamed = errors.contains { !$0.isEmpty && $0.allSatisfy { $0 == OAuthError.Code.invalidToken.name } }
        // Most servers of JSON write no challenge, or one without an error.
        let isUnnamed = challenges.isEmpty || errors.contains([])
        guard head.status == .unauthorized, source != .cache, isNamed || isUnnamed && canReplace else {
            self = .delivers
            return
        }
        self = canResend ? .resends : .replaces
    }
}

extension StandardStack.Authentication {
    /// The token of a user, which is replaced when it expires or is rejected.
    ///
    /// The time of an attempt counts for a refresh too. A caller whose attempt ends during one gets
    /// ``TokenRefreshError``, which the stack's retries send again; the refresh itself goes on.
    ///
    /// - Parameters:
    ///   - tokens: The token of the user.
    ///   - origins: The origins that may see the token; empty for that of the base URL.
    /// - Returns: The tokens with their origins.
    public static func with(_ tokens: Tokens, for origins: Set<Origin> = []) -> Self {
        .applying(for: origins) { base, origins, _ in base.authenticating(with: tokens, for: origins) }
    }

    /// Handlers that answer the challenges of servers.
    ///
    /// - Parameters:
    ///   - handlers: The handlers, in the order in which they are asked.
    ///   - origins: The origins whose challenges are answered; empty for that of the base URL.
    /// - Returns: The handlers with their origins.
    public static func answeringChallenges(
        with handlers: [any ChallengeHandler], for origins: Set<Origin> = []
    ) -> Self {
        .applying(for: origins) { base, origins, _ in base.answeringChallenges(with: handlers, for: origins) }
    }
}

extension StandardStack.Addition {
    /// Requests that end when their user signs out, at their place in the stack: directly inside of the principal.
    ///
    /// - Parameter requests: The list of the requests.
    /// - Returns: The layer with its place.
    public static func ending(with requests: RequestsUnderWay) -> Self {
        .inside(of: .principal) { $0.ending(with: requests) }
    }
}
