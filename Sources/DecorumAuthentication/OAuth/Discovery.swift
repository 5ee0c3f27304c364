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
        let (origin, path) = try Discovery.parts(of: resource)
        let url = "\(origin)/.well-known/oauth-protected-resource\(path)"
        guard let metadata = try await Discovery.document(ResourceMetadata.self, at: url, over: connection) else {
            throw DiscoveryError(.noMetadata)
        }
        guard metadata.resource.utf8.elementsEqual(resource.utf8) else {
            throw DiscoveryError(.otherResource, found: metadata.resource)
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

/// A server's metadata cannot be used.
public struct DiscoveryError: DescribableError, Hashable {
    /// The reason, as an open set.
    public struct Reason: Sendable, Hashable {
        let sentence: String

        /// The metadata name another issuer than the one that was asked.
        public static let otherIssuer = Reason(
            sentence: "The metadata are those of another authorization server. Write the issuer exactly as the server "
                + "does")
        /// The metadata name another resource than the one that was asked.
        public static let otherResource = Reason(
            sentence: "The metadata are those of another resource. Write the resource exactly as the server does")
        /// The answer has no metadata.
        public static let noMetadata = Reason(
            sentence: "The server has no metadata of OAuth at any well-known path. Give the endpoints to "
                + "`AuthorizationServer` instead")
    }

    /// The reason.
    public let reason: Reason
    /// The issuer or the resource that the server has written; nil where there is none.
    public let found: String?

    init(_ reason: Reason, found: String? = nil) {
        self.reason = reason
        self.found = found
    }

    /// The reason, and the way to mend it.
    public var description: String {
        // In quotation marks and cut off, since it is text of others.
        reason.sentence + (found.map { ": \(String($0.prefix(200)).debugDescription)." } ?? ".")
    }
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
        try InsecureEndpointError.check(name)
        let head = try Request.get(name).head
        guard let path = head.path, !path.contains("?") else { throw DiscoveryError(.noMetadata) }
        return (try Origin(head), path == "/" ? "" : path)
    }

    /// Fetches a document; nil where there is none.
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
