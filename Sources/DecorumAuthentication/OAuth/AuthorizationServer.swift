public import Decorum
import Foundation
import HTTPTypes

/// The endpoints of an authorization server.
///
/// ```swift
/// let server = try AuthorizationServer(
///     issuer: "https://id.example.com", authorization: "https://id.example.com/authorize",
///     token: "https://id.example.com/token")
/// ```
///
/// Every endpoint has `https`, because secrets are sent to it; `http` is accepted for this machine only. See RFC 8414,
/// section 2.
public struct AuthorizationServer: Sendable, Hashable {
    /// The name of the server, an `https` URL; nil where it is not known.
    public let issuer: String?
    /// The URL that an app shows to the user.
    public let authorization: String?
    /// The URL that gives tokens.
    public let token: String?
    /// The URL that gives codes to devices without a browser (RFC 8628).
    public let deviceAuthorization: String?
    /// The URL that revokes tokens (RFC 7009).
    public let revocation: String?
    /// The URL that takes the parameters of an authorization request in advance (RFC 9126).
    public let pushedRequests: String?
    /// Whether the answers that the app gets name the issuer, so that one without it is refused (RFC 9207).
    public let namesIssuerInAnswers: Bool

    /// Creates a server from its endpoints.
    ///
    /// - Parameters:
    ///   - issuer: The name of the server.
    ///   - authorization: The URL that an app shows to the user.
    ///   - token: The URL that gives tokens.
    ///   - deviceAuthorization: The URL that gives codes to devices.
    ///   - revocation: The URL that revokes tokens.
    ///   - pushedRequests: The URL that takes parameters in advance.
    ///   - namesIssuerInAnswers: Whether the answers that the app gets name the issuer.
    /// - Throws: `InvalidRequestError` for text that is no URL, ``InsecureEndpointError`` for a URL without `https`.
    public init(
        issuer: String? = nil, authorization: String? = nil, token: String? = nil, deviceAuthorization: String? = nil,
        revocation: String? = nil, pushedRequests: String? = nil, namesIssuerInAnswers: Bool = false
    ) throws {
        for endpoint in [issuer, authorization, token, deviceAuthorization, revocation, pushedRequests] {
            if let endpoint { try InsecureEndpointError.check(endpoint) }
        }
        self.issuer = issuer
        self.authorization = authorization
        self.token = token
        self.deviceAuthorization = deviceAuthorization
        self.revocation = revocation
        self.pushedRequests = pushedRequests
        self.namesIssuerInAnswers = namesIssuerInAnswers
    }

    /// Asks an authorization server for its endpoints (RFC 8414, section 3, and OpenID Connect Discovery 1.0, section 4).
    ///
    /// Each URL that one of the standards names is tried, one after the other, until one has the metadata of the issuer.
    ///
    /// - Parameters:
    ///   - issuer: The name of the server, as in `https://id.example.com/tenant`, character by character.
    ///   - path: The well-known name of a server with one of its own; nil for those of the standards.
    ///   - connection: The stack for the requests.
    /// - Returns: The endpoints.
    /// - Throws: ``DiscoveryError`` for an answer of another issuer or without metadata, and the errors of the connection.
    public static func discover(
        _ issuer: String, at path: String? = nil, over connection: some Connection
    ) async throws -> AuthorizationServer {
        var error = DiscoveryError(.noMetadata)
        for url in try Discovery.locations(of: issuer, at: path) {
            guard let metadata = try await Discovery.document(ServerMetadata.self, at: url, over: connection) else {
                continue
            }
            // Otherwise a server could have the secrets of another one sent to it (RFC 8414, section 3.3).
            guard metadata.issuer.utf8.elementsEqual(issuer.utf8) else {
                error = DiscoveryError(.otherIssuer, found: metadata.issuer)
                continue
            }
            return try AuthorizationServer(
                issuer: issuer, authorization: metadata.authorizationEndpoint, token: metadata.tokenEndpoint,
                deviceAuthorization: metadata.deviceAuthorizationEndpoint, revocation: metadata.revocationEndpoint,
                pushedRequests: metadata.pushedAuthorizationRequestEndpoint,
                namesIssuerInAnswers: metadata.authorizationResponseIssParameterSupported ?? false)
        }
        throw error
    }
}

private struct ServerMetadata: Decodable {
    let issuer: String
    let authorizationEndpoint: String?
    let tokenEndpoint: String?
    let deviceAuthorizationEndpoint: String?
    let revocationEndpoint: String?
    let pushedAuthorizationRequestEndpoint: String?
    let authorizationResponseIssParameterSupported: Bool?
}

/// A URL to which secrets would be sent without encryption.
public struct InsecureEndpointError: DescribableError, Hashable {
    /// The server of the URL.
    public let origin: Origin

    /// The server, and the way to mend it.
    public var description: String {
        "An endpoint of OAuth at \(origin) has no encryption. Use its https URL; http is for this machine only."
    }

    static func check(_ url: String) throws {
        let request = try Request.get(url)
        let origin = try Origin(request.head)
        guard !origin.isUnencrypted else { throw InsecureEndpointError(origin: origin) }
    }
}
