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
    /// The name of the server, an `https` URL; nil if it is not known.
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

    /// Creates a server; each parameter is the property of its name.
    ///
    /// - Throws: `InvalidRequestError` for text that is no URL, ``AuthorizationError`` for a URL without `https`.
    public init(
        issuer: String? = nil, authorization: String? = nil, token: String? = nil, deviceAuthorization: String? = nil,
        revocation: String? = nil, pushedRequests: String? = nil, namesIssuerInAnswers: Bool = false
    ) throws {
        for endpoint in [issuer, authorization, token, deviceAuthorization, revocation, pushedRequests] {
            if let endpoint { _ = try Discovery.encryptedHead(of: endpoint) }
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
    ///   - path: The well-known name of a server with one of its own; nil for the names of the standards.
    ///   - connection: The stack for the requests.
    /// - Returns: The endpoints.
    /// - Throws: ``AuthorizationError`` for an answer of another issuer or without metadata, and the errors of the connection.
    public static func discover(
        _ issuer: String, at path: String? = nil, over connection: some Connection
    ) async throws -> AuthorizationServer {
        var error = AuthorizationError(.noMetadata)
        for url in try Discovery.locations(of: issuer, at: path) {
            guard let metadata = try await Discovery.document(ServerMetadata.self, at: url, over: connection) else {
                continue
            }
            // Otherwise a server could have the secrets of another one sent to it (RFC 8414, section 3.3).
            guard metadata.issuer.utf8.elementsEqual(issuer.utf8) else {
                error = AuthorizationError(.otherMetadata, metadata.issuer)
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

/// A server that protects resources with tokens, and the authorization servers that give these tokens (RFC 9728).
public struct ProtectedResource: Sendable, Hashable {
    /// The name of the resource, for the `resource` parameter of a request for a token (RFC 8707).
    public let resource: String
    /// The issuers of the authorization servers, for ``AuthorizationServer/discover(_:at:over:)``.
    public let authorizationServers: [String]
    /// The scopes that requests for the resource use.
    public let scopes: [String]

    /// Asks a protected resource for its authorization servers.
    ///
    /// - Parameters:
    ///   - resource: The URL of the resource.
    ///   - connection: The stack for the request.
    /// - Returns: The metadata.
    /// - Throws: ``AuthorizationError`` for an answer about another resource or without metadata, and the errors of the
    ///   connection.
    public static func discover(_ resource: String, over connection: some Connection) async throws -> ProtectedResource
    {
        let (origin, path) = try Discovery.parts(of: resource)
        let url = "\(origin)/.well-known/oauth-protected-resource\(path)"
        guard let metadata = try await Discovery.document(ResourceMetadata.self, at: url, over: connection) else {
            throw AuthorizationError(.noMetadata)
        }
        guard metadata.resource.utf8.elementsEqual(resource.utf8) else {
            throw AuthorizationError(.otherMetadata, metadata.resource)
        }
        return ProtectedResource(
            resource: resource, authorizationServers: metadata.authorizationServers ?? [],
            scopes: metadata.scopesSupported ?? [])
    }
}

private struct ResourceMetadata: Decodable {
    let resource: String
    let authorizationServers: [String]?
    let scopesSupported: [String]?
}

enum Discovery {
    private static let limit = 256 << 10

    /// The URLs at which the metadata of an issuer may be.
    ///
    /// RFC 8414 puts the well-known path before the path of the issuer, for the name of OpenID too (section 5), and OpenID
    /// puts it behind. Both leave out a slash at the end of the issuer.
    static func locations(of issuer: String, at name: String?) throws -> [String] {
        var (origin, path) = try parts(of: issuer)
        if path.hasSuffix("/") { path.removeLast() }
        let first = "/.well-known/\(name ?? "oauth-authorization-server")"
        let openID = "/.well-known/openid-configuration"
        let paths = [first + path] + (name == nil ? [path + openID, openID + path] : [path + first])
        return (path.isEmpty ? paths.dropLast() : paths).map { origin.description + $0 }
    }

    /// The origin of a name, and its path, which is empty for the root.
    static func parts(of name: String) throws -> (origin: Origin, path: String) {
        let head = try encryptedHead(of: name)
        guard let path = head.path, !path.contains("?") else { throw AuthorizationError(.noMetadata) }
        return (try Origin(head), path == "/" ? "" : path)
    }

    /// The head of a request to a URL that secrets may be sent to.
    static func encryptedHead(of url: String) throws -> HTTPRequest {
        let head = try Request.get(url).head
        let origin = try Origin(head)
        guard !origin.isUnencrypted else { throw AuthorizationError(.insecureEndpoint, "\(origin)") }
        return head
    }

    /// Fetches a document; nil if the server has none.
    static func document<Document: Decodable>(
        _ type: Document.Type, at url: String, over connection: some Connection
    ) async throws -> Document? {
        var request = try Request.get(url, fields: [.accept: "application/json"])
        request.options.skipsAuthentication = true
        request.options.acceptedStatuses = .all
        let response = try await connection.send(request)
        guard response.status == .ok else { return nil }
        let data: Data
        do { data = try await response.data(upTo: limit) } catch is BodyLimitError { return nil }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try? decoder.decode(type, from: data)
    }
}
