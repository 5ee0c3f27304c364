public import Decorum
public import Foundation

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
    /// - Throws: ``MissingEndpointError`` for a server without an authorization endpoint, and `InvalidRequestError` for a URL
    ///   that cannot be opened.
    public func authorizationRequest(
        redirectURI: String, scope: String? = nil, resources: [String] = [],
        extra: [(name: String, value: String)] = [],
        proofKey: ProofKey, generator: any RandomGenerator = SystemGenerator()
    ) throws -> AuthorizationRequest {
        let state = RandomText.make(using: generator)
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
        return AuthorizationRequest(
            url: try authorizationURL([("client_id", id), ("request_uri", reference)]),
            redirectURI: request.redirectURI, state: request.state, proofKey: request.proofKey,
            resources: request.resources, parameters: request.parameters)
    }

    /// Exchanges the code in the URL that the browser was redirected to for a token.
    ///
    /// - Parameters:
    ///   - callback: The URL that the app got from the browser.
    ///   - request: The request that the user has answered.
    /// - Returns: The token, for ``Tokens/signIn(with:)``.
    /// - Throws: ``AuthorizationAnswerError`` for a URL that does not answer this request; nothing is sent then. ``OAuthError``
    ///   for a refusal, and the errors of the connection.
    public func token(from callback: URL, for request: AuthorizationRequest) async throws -> Token {
        let code = try request.code(from: callback, of: server)
        return try await token(
            Self.parameters("authorization_code", nil, request.resources) + [
                ("code", code), ("redirect_uri", request.redirectURI), ("code_verifier", request.proofKey.verifier),
            ])
    }

    private func authorizationURL(_ parameters: [(name: String, value: String)]) throws -> URL {
        guard let endpoint = server.authorization else { throw MissingEndpointError(endpoint: "authorization") }
        let query = String(decoding: Body(form: parameters).bytes ?? Data(), as: UTF8.self)
        let text = endpoint + (endpoint.contains("?") ? "&" : "?") + query
        guard let url = try Request.get(text).url else { throw MissingEndpointError(endpoint: "authorization") }
        return url
    }
}
