public import Decorum
public import Foundation
import HTTPTypes

/// A storage for bodies that are too large for the values of a ``SharedStorage``, such as an object store.
///
/// Each body is written once under a name of its own, and never changed.
public protocol SharedBodyStorage: Sendable {
    /// The largest body, in bytes.
    var bodyLimit: Int { get }
    /// Writes a body, unless one of its name is there.
    func write(_ content: Data, named name: SharedKey) async throws
    /// Reads a body; nil for a missing one, and for more than ``bodyLimit`` bytes.
    func content(named name: SharedKey) async throws -> Data?
    /// Removes a body, if there is one.
    func removeContent(named name: SharedKey) async throws
}

/// A storage for bodies in a bucket of Amazon S3, or of an object store that speaks its protocol, over a connection that signs.
///
/// A body is an object named `body~` and its name, with `~` in place of each `/`. The store does not know when a body
/// expires: <doc:more-than-one-machine> shows the lifecycle rule and the permissions that the bucket needs.
public struct S3BodyStorage: SharedBodyStorage {
    /// The largest body, in bytes, which is held in memory while it is written and read.
    public let bodyLimit: Int
    private let bucket: Request
    private let connection: any Connection

    /// Creates a storage at the URL of a bucket, or of a folder in it; one that no request can be sent to is an error.
    public init(
        bucket: String, bodyLimit: Int = 64 << 20, over connection: some Connection
    ) throws(InvalidRequestError) {
        (self.bodyLimit, self.connection) = (bodyLimit, connection)
        self.bucket = try .get(bucket)
    }

    /// Writes a body, unless one of its name is there.
    public func write(_ content: Data, named name: SharedKey) async throws {
        guard content.count <= bodyLimit else { throw SharedStorageError(.tooLarge) }
        var request = request(.put, name)
        request.head.headerFields[.ifNoneMatch] = "*"
        request.body = Body(content).typed(as: "application/octet-stream")
        // A body is written under its name once, so the one that is there is the same.
        try await response(to: request, or: .preconditionFailed)?.body.discard()
    }

    /// Reads a body.
    public func content(named name: SharedKey) async throws -> Data? {
        do {
            return try await response(to: request(.get, name), or: .notFound)?.body.data(upTo: bodyLimit)
        } catch is BodyLimitError {
            return nil
        }
    }

    /// Removes a body, if there is one.
    public func removeContent(named name: SharedKey) async throws {
        try await response(to: request(.delete, name), or: .notFound)?.body.discard()
    }

    private func request(_ method: HTTPRequest.Method, _ name: SharedKey) -> Request {
        var request = bucket
        request.head.method = method
        let path = request.head.path ?? "/"
        // A transport may remove the segments `.` and `..` of a path, and empty ones.
        let object = PercentCoding.encode("body~" + name.description.replacing("/", with: "~"))
        request.head.path = path + (path.hasSuffix("/") ? "" : "/") + object
        return request
    }

    /// Sends a request; nil for the other status, which says that nothing is to be done.
    private func response(to request: Request, or other: HTTPResponse.Status) async throws -> Response? {
        let response = try await connection.send(request)
        if response.status == other {
            try await response.body.discard()
            return nil
        }
        let isRemoval = request.head.method == .delete
        guard isRemoval ? response.status.kind == .successful : response.status == .ok else {
            throw SharedStorageError(.refused("status \(response.status.code)"))
        }
        // An answer of another server, such as a page that asks for a sign-in, has no tag.
        guard isRemoval || response.head.headerFields[.eTag] != nil else { throw SharedStorageError(.unknownAnswer) }
        return response
    }
}
