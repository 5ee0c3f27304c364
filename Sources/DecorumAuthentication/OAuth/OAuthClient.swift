public import Decorum
public import Foundation
import HTTPTypes

/// A client of an authorization server: it gets, replaces and revokes tokens.
///
/// Give it a stack of its own, without the layer that uses its tokens. No request follows a redirection, since its content
/// has secrets, no cache stores one, and none is shared between callers.
///
/// See RFC 6749, and the draft of OAuth 2.1.
public struct OAuthClient: Sendable {
    /// The identifier of the client.
    public let id: String
    /// The authorization server.
    public let server: AuthorizationServer
    let authentication: ClientAuthentication
    package private(set) var connection: any Connection
    /// Gives the private key for the proofs of a new session (RFC 9449), or nil if its layer has its own; nil for bearer tokens.
    private var proofKey: (@Sendable () -> Data?)?
    let clock: any DatedClock
    private let timeLimit: Duration

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - id: The identifier with which the client is registered.
    ///   - server: The authorization server.
    ///   - authentication: How the client proves its identity.
    ///   - connection: The stack for all requests to the server.
    ///   - timeLimit: How long each request may take, with the content of its answer.
    ///   - clock: The clock that has the dates of expiry, and that waits between the questions of a device; it must be that
    ///     of the stack.
    public init(
        _ id: String, of server: AuthorizationServer, authentication: ClientAuthentication = .none,
        over connection: some Connection, timeLimit: Duration = .seconds(30), clock: any DatedClock = SystemClock()
    ) {
        self.id = id
        self.server = server
        self.authentication = authentication
        self.connection = connection
        self.timeLimit = timeLimit
        self.clock = clock
    }

    /// The client with a stack that adds proofs of possession, and that gives each session a key for them.
    package func proving(over connection: any Connection, key: @escaping @Sendable () -> Data?) -> OAuthClient {
        var client = self
        (client.connection, client.proofKey) = (connection, key)
        return client
    }

    /// Sends parameters to the token endpoint, and reads the token, which is bound to the key of an earlier one.
    func token(_ parameters: [(name: String, value: String)], replacing old: Token? = nil) async throws -> Token {
        let key = old?.proofKey ?? proofKey?()
        let answer = try await send(parameters, to: server.token, endpoint: "token", proofKey: key)
        var token = try answer.token(at: clock.date, acceptsProofs: proofKey != nil)
        if token.isBoundToKey { token.proofKey = key }
        return token
    }

    /// Sends parameters to an endpoint, and reads the answer, whatever it says.
    func send(
        _ parameters: [(name: String, value: String)], to url: String?, endpoint: String, proofKey: Data? = nil
    ) async throws -> OAuthAnswer {
        guard let url else { throw AuthorizationError(.missingEndpoint, endpoint) }
        var request = try await authentication.request(to: url, of: server, parameters, by: id)
        if let proofKey { request.options.proofKey = ProofKeyBytes(value: proofKey) }
        request.options.skipsAuthentication = true
        request.options.acceptedStatuses = .all
        request.options.redirectionPolicy = .never
        request.options.cacheUse = CacheUse.none
        request.options.allowsCoalescing = false
        request.options.deadline = clock.instant(after: timeLimit)
        request.options.bodyDeadline = request.options.deadline
        return try await OAuthAnswer(try await connection.send(request), at: clock.date)
    }
}

extension OAuthClient: SecretHolder {
    /// The identifier.
    public var description: String { "OAuthClient \(id)" }
}

/// How a client proves its identity to an authorization server (RFC 6749, section 2.3).
///
/// An app on a device of a user has no secret: everything in it can be read. It uses ``none``.
public enum ClientAuthentication: Sendable {
    /// The client has no secret, and sends only its identifier.
    case none
    /// The client sends its secret in the `Authorization` field.
    case basic(String)
    /// The client sends its secret in the content, for servers that accept no `Authorization` field.
    case post(String)
    /// The client makes the parameters that prove its identity, the identifier too, for each request, such as a signed
    /// assertion (RFC 7521, section 4.2).
    case parameters(
        @Sendable (_ client: String, _ server: AuthorizationServer) async throws -> [(name: String, value: String)])

    /// The request with the identity of a client.
    func request(
        to url: String, of server: AuthorizationServer, _ parameters: [(name: String, value: String)], by id: String
    ) async throws -> Request {
        var parameters = parameters
        var fields: HTTPFields = [.accept: "application/json"]
        switch self {
        case .none: parameters.append(("client_id", id))
        case .parameters(let make): parameters += try await make(id, server)
        case .post(let secret): parameters += [("client_id", id), ("client_secret", secret)]
        case .basic(let secret):
            // Both are encoded like fields of a form before they are joined (RFC 6749, section 2.3.1).
            let pair = "\(FormText.encoded([("", id)]).dropFirst()):\(FormText.encoded([("", secret)]).dropFirst())"
            fields[.authorization] = "Basic \(Data(pair.utf8).base64EncodedString())"
        }
        var request = try Request.post(url, fields: fields, body: Body(form: parameters))
        request.options.secretFields = [.authorization]
        return request
    }
}

extension ClientAuthentication: SecretHolder {
    /// The kind, without the secret.
    public var description: String {
        switch self {
        case .none: "none"
        case .basic: "basic"
        case .post: "post"
        case .parameters: "parameters"
        }
    }
}

extension OAuthClient {
    /// Makes a request for the consent of a user.
    ///
    /// - Parameters:
    ///   - redirectURI: The URI of the app, exactly as it is registered.
    ///   - scope: The scope to ask for.
    ///   - resources: The URIs of the resources that the token is for (RFC 8707).
    ///   - extra: Further parameters, such as `prompt`.
    ///   - proofKey: The key that ties the code to this request.
    ///   - generator: The source of the state's random bits; they must be unpredictable.
    /// - Returns: The request.
    /// - Throws: ``AuthorizationError`` for a server without an authorization endpoint, and `InvalidRequestError` for a URL
    ///   that cannot be opened.
    public func authorizationRequest(
        redirectURI: String, scope: String? = nil, resources: [String] = [],
        extra: [(name: String, value: String)] = [],
        proofKey: ProofKey, generator: any RandomGenerator = SystemGenerator()
    ) throws -> AuthorizationRequest {
        let state = ProofKey.randomText(using: generator)
        let parameters =
            [
                ("response_type", "code"), ("client_id", id), ("redirect_uri", redirectURI), ("state", state),
                ("code_challenge", proofKey.challenge), ("code_challenge_method", "S256"),
            ] + (scope.map { [("scope", $0)] } ?? []) + resources.map { ("resource", $0) } + extra
        return AuthorizationRequest(
            url: try authorizationURL(parameters), redirectURI: redirectURI, state: state, proofKey: proofKey,
            resources: resources, parameters: parameters)
    }

    /// Gives the parameters of a request to the server in advance, so that the browser shows none of them (RFC 9126).
    ///
    /// - Parameter request: The request.
    /// - Returns: The request with a short URL, which is valid for a short time.
    /// - Throws: ``OAuthError`` and the errors of the connection.
    public func push(_ request: AuthorizationRequest) async throws -> AuthorizationRequest {
        // The client authentication adds the identifier itself where it has a place for it.
        let parameters = request.parameters.filter { $0.name != "client_id" }
        let answer = try await send(parameters, to: server.pushedRequests, endpoint: "pushed authorization request")
        if let error = answer.error { throw error }
        let reference = try answer.required("request_uri")
        var pushed = request
        pushed.url = try authorizationURL([("client_id", id), ("request_uri", reference)])
        return pushed
    }

    /// Exchanges the code in the URL that the browser was redirected to for a token.
    ///
    /// - Parameters:
    ///   - callback: The URL that the app got from the browser.
    ///   - request: The request that the user has answered.
    /// - Returns: The token, for ``Tokens/signIn(with:)``.
    /// - Throws: ``AuthorizationError`` for a URL that does not answer this request; nothing is sent then. ``OAuthError``
    ///   for a refusal, and the errors of the connection.
    public func token(from callback: URL, for request: AuthorizationRequest) async throws -> Token {
        let code = try request.code(from: callback, of: server)
        return try await token(
            Self.parameters("authorization_code", nil, request.resources) + [
                ("code", code), ("redirect_uri", request.redirectURI), ("code_verifier", request.proofKey.verifier),
            ])
    }

    private func authorizationURL(_ parameters: [(name: String, value: String)]) throws -> URL {
        guard let endpoint = server.authorization else { throw AuthorizationError(.missingEndpoint, "authorization") }
        let text = endpoint + (endpoint.contains("?") ? "&" : "?") + FormText.encoded(parameters)
        guard let url = try Request.get(text).url else { throw AuthorizationError(.missingEndpoint, "authorization") }
        return url
    }
}

extension OAuthClient {
    /// Returns a source that replaces tokens with their refresh token (RFC 6749, section 6).
    ///
    /// A token without a refresh token counts as one that the server no longer accepts.
    ///
    /// - Parameters:
    ///   - scope: The scope to ask for; nil for the one that was granted.
    ///   - resources: The URIs of the resources that the token is for (RFC 8707).
    /// - Returns: The source, for ``Tokens``.
    public func refreshing(scope: String? = nil, resources: [String] = []) -> some TokenSource {
        GrantSource(client: self, startsWithoutToken: false) { token in
            guard let refreshToken = token?.refreshToken else { throw OAuthError(.invalidGrant) }
            return Self.parameters("refresh_token", scope, resources) + [("refresh_token", refreshToken)]
        }
    }

    /// Returns a source that gets tokens with the client's own credentials (RFC 6749, section 4.4).
    ///
    /// It takes the parameters of ``refreshing(scope:resources:)``, and needs no user to sign in.
    public func clientCredentials(scope: String? = nil, resources: [String] = []) -> some TokenSource {
        GrantSource(client: self, startsWithoutToken: true) { _ in
            Self.parameters("client_credentials", scope, resources)
        }
    }

    /// Exchanges a token for another one, such as one for another service (RFC 8693).
    ///
    /// - Parameters:
    ///   - subject: The token to exchange.
    ///   - type: The type of the token to exchange.
    ///   - audience: The name of the service that the new token is for.
    ///   - scope: The scope to ask for.
    ///   - resources: The URIs of the resources that the new token is for.
    /// - Returns: The new token.
    /// - Throws: ``OAuthError`` and the errors of the connection.
    public func exchange(
        _ subject: String, of type: String = "urn:ietf:params:oauth:token-type:access_token", audience: String? = nil,
        scope: String? = nil, resources: [String] = []
    ) async throws -> Token {
        var parameters = Self.parameters("urn:ietf:params:oauth:grant-type:token-exchange", scope, resources)
        parameters += [("subject_token", subject), ("subject_token_type", type)]
        if let audience { parameters.append(("audience", audience)) }
        return try await token(parameters)
    }

    /// Tells the server that a token is no longer used, such as after ``Tokens/signOut()`` (RFC 7009).
    ///
    /// The refresh token is revoked where there is one, and with it the access tokens that came from it.
    ///
    /// - Parameter token: The token.
    /// - Throws: ``OAuthError`` and the errors of the connection; the token may still be valid then.
    public func revoke(_ token: Token) async throws {
        let parameters = [
            ("token", token.refreshToken ?? token.accessToken),
            ("token_type_hint", token.refreshToken == nil ? "access_token" : "refresh_token"),
        ]
        let answer = try await send(parameters, to: server.revocation, endpoint: "revocation")
        if let error = answer.error { throw error }
    }

    /// The parameters that most grants have.
    package static func parameters(
        _ grant: String, _ scope: String?, _ resources: [String]
    ) -> [(name: String, value: String)] {
        [("grant_type", grant)] + (scope.map { [("scope", $0)] } ?? []) + resources.map { ("resource", $0) }
    }
}

extension OAuthClient {
    /// A source that gets tokens with the parameters of a grant.
    package func source(
        startsWithoutToken: Bool,
        _ parameters: @escaping @Sendable (Token?) async throws -> [(name: String, value: String)]
    ) -> some TokenSource {
        GrantSource(client: self, startsWithoutToken: startsWithoutToken, parameters: parameters)
    }
}

private struct GrantSource: TokenSource {
    let client: OAuthClient
    let startsWithoutToken: Bool
    let parameters: @Sendable (Token?) async throws -> [(name: String, value: String)]

    var layers: [Layer] { client.connection.layers }

    func token(replacing token: Token?) async throws -> Token {
        try await client.token(try await parameters(token), replacing: token)
    }
}

/// The code that a device without a browser shows to its user (RFC 8628).
///
/// ```swift
/// let device = try await client.authorizeDevice(scope: "notes")
/// print("Open \(device.verificationURI) and enter \(device.userCode)")
/// try await tokens.signIn(with: client.token(for: device))
/// ```
public struct DeviceAuthorization: Sendable {
    /// The code that the user enters.
    public let userCode: String
    /// The URL that the user opens on another device.
    public let verificationURI: String
    /// The URL with the code in it, for a QR code; nil if the server gives no such URL.
    public let completeVerificationURI: String?
    /// The instant at which the code expires.
    public let expiry: ContinuousClock.Instant
    /// The time between two questions to the server.
    public let interval: Duration
    let deviceCode: String
}

extension DeviceAuthorization: SecretHolder {
    /// A fixed word: the codes are secrets until they expire.
    public var description: String { "a device authorization" }
}

extension OAuthClient {
    /// Asks for a code that the user enters on another device.
    ///
    /// It takes the scope and the resources of ``refreshing(scope:resources:)``, and throws ``OAuthError`` and the errors of
    /// the connection.
    public func authorizeDevice(scope: String? = nil, resources: [String] = []) async throws -> DeviceAuthorization {
        let parameters = (scope.map { [("scope", $0)] } ?? []) + resources.map { ("resource", $0) }
        let answer = try await send(parameters, to: server.deviceAuthorization, endpoint: "device authorization")
        if let error = answer.error { throw error }
        let (deviceCode, userCode) = (try answer.required("device_code"), try answer.required("user_code"))
        // Google writes the name of an early draft.
        let uri = try answer["verification_uri"] ?? answer["verification_url"] ?? answer.required("verification_uri")
        guard let lifetime = answer.lifetime("expires_in") else { throw answer.unusable(without: "expires_in") }
        return DeviceAuthorization(
            userCode: userCode, verificationURI: uri, completeVerificationURI: answer["verification_uri_complete"],
            expiry: clock.now + .seconds(min(lifetime, 3600)),
            // A server that forgets the interval means five seconds (section 3.2).
            interval: .seconds(min(max(1, answer.lifetime("interval") ?? 5), 60)), deviceCode: deviceCode)
    }

    /// Waits until the user has entered the code, and gets the token.
    ///
    /// The server is asked again after each interval, which grows by five seconds when the server says `slow_down`, and
    /// doubles after a failure of the connection. Cancelling the task ends the wait.
    ///
    /// - Parameter device: The code.
    /// - Returns: The token, for ``Tokens/signIn(with:)``.
    /// - Throws: ``OAuthError``: `access_denied` where the user refuses, `expired_token` at the end of the code.
    public func token(for device: DeviceAuthorization) async throws -> Token {
        var interval = device.interval
        let grant = "urn:ietf:params:oauth:grant-type:device_code"
        let parameters = [("grant_type", grant), ("device_code", device.deviceCode)]
        while clock.now + interval < device.expiry {
            try await clock.sleep(until: clock.now + interval, tolerance: nil)
            do {
                return try await token(parameters)
            } catch let error as OAuthError {
                guard error.mayPass else { throw error }
                if error.code == .slowDown { interval += .seconds(5) }
                if let asked = error.retryAfter { interval = max(interval, min(asked, .seconds(60))) }
            } catch let error as any TemporaryError {
                guard error.mayPass else { throw error }
                interval = min(interval * 2, .seconds(60))
            }
        }
        throw OAuthError(.expiredToken)
    }
}
