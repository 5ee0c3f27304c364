public import Decorum

extension StandardStack.Authentication {
    /// The token of a user, which is replaced when it expires or is rejected.
    ///
    /// ```swift
    /// let connection = try StandardStack(for: "https://api.example.com/").composed(authentication: .with(tokens))
    /// ```
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
