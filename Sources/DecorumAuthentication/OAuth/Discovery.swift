public import Decorum
import Foundation
import HTTPTypes

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
    /// - Throws: ``DiscoveryError`` for an answer about another resource or without metadata, and the errors of the
    ///   connection.
    public static func discover(_ resource: String, over connection: some Connection) async throws -> ProtectedResource
    {
        let metadata = try await Discovery.document(
            ResourceMetadata.self, of: resource, at: "oauth-protected-resource", over: connection)
        guard metadata.resource == resource else { throw DiscoveryError(.otherResource) }
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

/// A server's metadata cannot be used.
public struct DiscoveryError: DescribableError, Hashable {
    /// The reason, as an open set.
    public struct Reason: Sendable, Hashable {
        let sentence: String

        /// The metadata name another issuer than the one that was asked.
        public static let otherIssuer = Reason(
            sentence: "The metadata are those of another authorization server. Write the issuer exactly as the server "
                + "does.")
        /// The metadata name another resource than the one that was asked.
        public static let otherResource = Reason(
            sentence: "The metadata are those of another resource. Write the resource exactly as the server does.")
        /// The answer has no metadata.
        public static let noMetadata = Reason(
            sentence: "The server has no metadata of OAuth at this well-known path. Give the endpoints to "
                + "`AuthorizationServer` instead.")
    }

    /// The reason.
    public let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    /// The reason, and the way to mend it.
    public var description: String { reason.sentence }
}

enum Discovery {
    private static let limit = 256 << 10

    /// Fetches a well-known document of a server, whose path comes behind the well-known one.
    static func document<Document: Decodable>(
        _ type: Document.Type, of name: String, at path: String, over connection: some Connection
    ) async throws -> Document {
        try InsecureEndpointError.check(name)
        let base = try Request.get(name)
        guard let ownPath = base.head.path, !ownPath.contains("?") else { throw DiscoveryError(.noMetadata) }
        var request = try Request.get(
            "\(try Origin(base.head))/.well-known/\(path)\(ownPath == "/" ? "" : ownPath)",
            fields: [.accept: "application/json"])
        request.options.skipsAuthentication = true
        let response = try await connection.send(request)
        guard response.status == .ok else { throw DiscoveryError(.noMetadata) }
        let data = try await response.body.data(upTo: limit)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let document = try? decoder.decode(type, from: data) else { throw DiscoveryError(.noMetadata) }
        return document
    }
}
