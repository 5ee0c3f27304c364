import Decorum

extension OAuthClient {
    /// Returns a source that replaces tokens with their refresh token (RFC 6749, section 6).
    ///
    /// A token without a refresh token counts as one that the server does not accept any more.
    ///
    /// - Parameters:
    ///   - scope: The scope to ask for; nil for the one that was granted.
    ///   - resources: The URIs of the resources that the token is for (RFC 8707).
    /// - Returns: The source, for ``Tokens``.
    public func refreshing(scope: String? = nil, resources: [String] = []) -> some TokenSource {
        RefreshTokenSource(client: self, scope: scope, resources: resources)
    }

    /// Returns a source that gets tokens with the client's own credentials (RFC 6749, section 4.4).
    ///
    /// - Parameters:
    ///   - scope: The scope to ask for; nil for the server's default.
    ///   - resources: The URIs of the resources that the token is for (RFC 8707).
    /// - Returns: The source, for ``Tokens``, which needs no user to sign in.
    public func clientCredentials(scope: String? = nil, resources: [String] = []) -> some TokenSource {
        ClientCredentialSource(client: self, scope: scope, resources: resources)
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

    /// Tells the server that a token is of no use any more, such as after ``Tokens/signOut()`` (RFC 7009).
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
    static func parameters(
        _ grant: String, _ scope: String?, _ resources: [String]
    ) -> [(name: String, value: String)] {
        [("grant_type", grant)] + (scope.map { [("scope", $0)] } ?? []) + resources.map { ("resource", $0) }
    }
}

private struct RefreshTokenSource: TokenSource {
    let client: OAuthClient
    let scope: String?
    let resources: [String]

    var layers: [Layer] { client.connection.layers }

    func token(replacing token: Token?) async throws -> Token {
        guard let refreshToken = token?.refreshToken else { throw OAuthError(.invalidGrant) }
        return try await client.token(
            OAuthClient.parameters("refresh_token", scope, resources) + [("refresh_token", refreshToken)])
    }
}

private struct ClientCredentialSource: TokenSource {
    let client: OAuthClient
    let scope: String?
    let resources: [String]

    var layers: [Layer] { client.connection.layers }
    var startsWithoutToken: Bool { true }

    func token(replacing token: Token?) async throws -> Token {
        try await client.token(OAuthClient.parameters("client_credentials", scope, resources))
    }
}
