import Foundation
public import HTTPTypes

extension Connection {
    /// Throws for each response whose status is not accepted.
    ///
    /// ```swift
    /// let connection = SystemConnection().validatingStatus()
    /// do {
    ///     let response = try await connection.send(.get("https://api.example.com/items"))
    ///     return try await response.body.decode([Item].self, upTo: 1 << 20)
    /// } catch let error as StatusError where error.status == .serviceUnavailable {
    ///     print(error)  // GET https://api.example.com was answered with the status 503.
    ///     print(try await error.response.body.text(upTo: 1 << 16))
    ///     return []
    /// }
    /// ```
    ///
    /// No other layer makes an error of a status. The error carries the whole response, whose body is still under way:
    /// read it, or let go of the error. A response that is accepted passes unchanged.
    ///
    /// It belongs outermost: layers such as `retrying` and `followingRedirects` decide by the statuses that they see, and
    /// would see none that this layer throws for.
    ///
    /// See RFC 9110, section 15.
    ///
    /// - Parameter accepted: The statuses that are no error.
    /// - Returns: A connection that answers with accepted statuses only.
    public func validatingStatus(_ accepted: AcceptedStatuses = .successful) -> some Connection {
        StatusValidatingConnection(base: self, accepted: accepted)
    }
}

/// The statuses that are no error to the caller.
public struct AcceptedStatuses: Sendable {
    private let name: String
    private let accepts: @Sendable (HTTPResponse.Status) -> Bool

    /// Creates a rule of your own.
    ///
    /// - Parameters:
    ///   - name: What the rule is called in ``Connection/layers``.
    ///   - accepts: Says whether a status is accepted.
    public init(_ name: String = "custom", where accepts: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
        self.name = name
        self.accepts = accepts
    }

    /// Accepts what says that all went well: 2xx, and 304.
    ///
    /// A 304 reaches the caller only when the caller asked for it, with a precondition of its own or by the settings
    /// of `revalidating(in:)`. A redirection that was not followed is not accepted.
    public static let successful = AcceptedStatuses("2xx, 304") { status in
        (200...299).contains(status.code) || status == .notModified
    }

    /// Accepts the codes of a range or another collection.
    ///
    /// - Parameter codes: The codes, as in `200..<400` or `[200, 404]`.
    /// - Returns: A rule that accepts them and no other.
    public static func codes(_ codes: some Collection<Int> & Sendable) -> AcceptedStatuses {
        AcceptedStatuses(String(describing: codes)) { codes.contains($0.code) }
    }

    /// Tells whether a status is accepted.
    ///
    /// - Parameter status: The status of a response.
    /// - Returns: Whether it is no error.
    public func contains(_ status: HTTPResponse.Status) -> Bool {
        accepts(status)
    }
}

extension AcceptedStatuses: CustomStringConvertible {
    /// The name of the rule.
    public var description: String { name }
}

struct StatusValidatingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let accepted: AcceptedStatuses

    var layer: Layer {
        Layer(name: "validatingStatus", role: .validation, settings: [Layer.Setting("accepted", accepted)])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        // Only what the error needs: a copy of the whole head would make the layers inside copy it to change it.
        let method = request.head.method
        let scheme = request.head.scheme
        let authority = request.head.authority
        let response = try await base.send(request)
        guard accepted.contains(response.status) else {
            let asked = try? Origin(HTTPRequest(method: method, scheme: scheme, authority: authority, path: nil))
            throw StatusError(method: method, origin: response.answeringOrigin ?? asked, response: response)
        }
        return response
    }
}

extension Response {
    fileprivate var answeringOrigin: Origin? {
        metadata.url.flatMap { try? Origin($0.absoluteString) }
    }
}
