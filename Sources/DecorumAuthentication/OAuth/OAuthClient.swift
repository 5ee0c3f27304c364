public import Decorum
import Foundation
import HTTPTypes

/// A client of an authorization server: it gets, replaces and revokes tokens.
///
/// ```swift
/// let client = OAuthClient("my-app", of: server, over: SystemConnection())
/// let tokens = Tokens(in: store, from: client.refreshing())
/// ```
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
    let connection: any Connection
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

    /// Sends parameters to the token endpoint, and reads the token.
    func token(_ parameters: [(name: String, value: String)]) async throws -> Token {
        let answer = try await send(parameters, to: server.token, endpoint: "token")
        return try answer.token(at: clock.date)
    }

    /// Sends parameters to an endpoint, and reads the answer, whatever it says.
    func send(
        _ parameters: [(name: String, value: String)], to url: String?, endpoint: String
    ) async throws -> OAuthAnswer {
        guard let url else { throw MissingEndpointError(endpoint: endpoint) }
        var request = try authentication.request(to: url, parameters, by: id)
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

extension OAuthClient: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The identifier.
    public var description: String { "OAuthClient \(id)" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The authorization server has no URL for a request.
public struct MissingEndpointError: DescribableError, Hashable {
    /// The name of the endpoint.
    public let endpoint: String

    /// The endpoint, and the way to mend it.
    public var description: String {
        "The authorization server has no \(endpoint) endpoint. Give its URL to `AuthorizationServer`, or use another grant."
    }
}
