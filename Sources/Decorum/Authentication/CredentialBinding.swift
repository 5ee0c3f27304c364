public import HTTPTypes

/// The origins that credentials are given for, and the rules by which a request gets none.
///
/// A decorator of your own that adds credentials asks for ``reasonToSkip(_:secretFields:)``, and sends a request that gets
/// none by ``Connection/sendUnchanged(_:because:by:)``.
public struct CredentialBinding: Sendable, Hashable {
    /// The origins that may see the credentials.
    public let origins: Set<Origin>
    /// Whether one of them is reached over `http`, and is not this machine.
    private let hasUnencryptedOrigin: Bool

    /// Creates a binding.
    ///
    /// - Parameter origins: The origins that may see the credentials; with an empty set, no request gets them.
    public init(origins: Set<Origin>) {
        self.origins = origins
        hasUnencryptedOrigin = origins.contains(where: \.isUnencrypted)
    }

    /// The facts of a layer that follows the binding.
    public var facts: Set<Layer.Fact> {
        let facts: Set<Layer.Fact> = [.addsCredentials, .bindsToOrigins]
        return hasUnencryptedOrigin ? facts.union([.sendsUnencryptedCredentials]) : facts
    }

    /// The origins, as a setting of a layer.
    public var setting: Layer.Setting {
        Layer.Setting("for", origins.map(\.description).sorted().joined(separator: ", "))
    }

    /// The reason why a request gets no credentials; nil if it gets them.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - secretFields: The fields of the credentials; a request that has one of them keeps its own.
    /// - Returns: The reason.
    @inline(__always) public func reasonToSkip(
        _ request: borrowing Request, secretFields: Set<HTTPField.Name>
    ) -> ReasonToSkip? {
        let fields = request.head.headerFields
        if request.options.skipsAuthentication { return .option }
        if secretFields.contains(where: fields.has) { return .ownCredentials }
        guard isForOrigin(of: request.head) else { return .origin }
        let redirectingOrigins = request.options.redirectingOrigins
        guard redirectingOrigins.isEmpty || redirectingOrigins.isSubset(of: origins) else { return .redirectingOrigin }
        return hasUnencryptedOrigin && request.refusesCredentials ? .unencrypted : nil
    }

    private func isForOrigin(of head: HTTPRequest) -> Bool {
        // Most heads have the origin in its plain form, which needs no parsing.
        if origins.contains(where: { $0.isPlainOrigin(of: head) }) { return true }
        return (try? Origin(head)).map(origins.contains) ?? false
    }
}

extension CredentialBinding {
    /// The reason why a request is sent without the credentials of a layer, in words for the history of the call.
    public enum ReasonToSkip: String, Sendable {
        /// The option ``RequestOptions/skipsAuthentication`` is set.
        case option = "the request skips authentication"
        /// The caller has set one of the fields.
        case ownCredentials = "the request has its own credentials"
        /// The binding does not have the origin of the request.
        case origin = "the credentials are for other origins"
        /// An origin outside of the binding has chosen the URL of the request.
        case redirectingOrigin = "an origin that the credentials are not for has redirected the request"
        /// The credentials would be sent over `http` to another machine: the request is refused.
        case unencrypted = "the credentials would be sent without encryption"
        /// The source of the credentials has none for the request.
        case noCredentials = "the source has no credentials for the request"

        /// Whether an origin is the reason, and not the caller.
        var isOrigin: Bool { self == .origin || self == .redirectingOrigin }
    }
}

extension Connection {
    /// Sends a request that gets no credentials, as it is, and notes the reason in the history of the call.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - reason: The reason, by ``CredentialBinding/reasonToSkip(_:secretFields:)``.
    ///   - layer: The name of the layer, for the history.
    /// - Returns: The response.
    /// - Throws: ``InvalidRequestError`` for ``CredentialBinding/ReasonToSkip/unencrypted``, and the errors of the connection.
    public func sendUnchanged(
        _ request: consuming Request, because reason: CredentialBinding.ReasonToSkip,
        by layer: String = "authenticating"
    ) async throws -> Response {
        if reason == .unencrypted { throw InvalidRequestError.unencryptedCredentials(to: try? Origin(request.head)) }
        request.options.callContext?.note(CallDecision(.skips, by: layer, reason.rawValue))
        var response = try await send(request)
        // Some servers do not tell that a resource exists, and answer with 404.
        if reason.isOrigin, [.unauthorized, .forbidden, .notFound].contains(response.status) {
            response.metadata.lacksCredentials = true
        }
        return response
    }
}

extension Connection {
    /// Allows the layers further in to send credentials over `http` to other machines, as in a network that encrypts by itself.
    ///
    /// Without it, a request that would carry them there throws ``InvalidRequestError``. This machine (`localhost`,
    /// `127.0.0.1`) needs no permission.
    ///
    /// - Returns: A connection whose requests may carry credentials without encryption.
    public func allowingUnencryptedCredentials() -> some Connection {
        intercepting("allowingUnencryptedCredentials", facts: [.allowsUnencryptedCredentials], secretFields: []) {
            request, base in
            var request = request
            request.options.allowsUnencryptedCredentials = true
            return try await base.send(request)
        }
    }
}

extension RequestOptions {
    /// Whether layers may add credentials to a request over `http` to another machine.
    package var allowsUnencryptedCredentials: Bool {
        get { self[AllowsUnencryptedCredentialsKey.self] }
        set { self[AllowsUnencryptedCredentialsKey.self] = newValue }
    }
}

private enum AllowsUnencryptedCredentialsKey: RequestOptionKey { static let defaultValue = false }

extension Request {
    /// Whether no layer may add credentials, since they would be sent to another machine without encryption.
    fileprivate var refusesCredentials: Bool {
        !options.allowsUnencryptedCredentials && (try? Origin(head))?.isUnencrypted == true
    }
}

extension InvalidRequestError.Reason {
    /// Credentials would be sent over `http` to another machine.
    public static let unencryptedCredentials = Self("unencryptedCredentials")
}

extension InvalidRequestError {
    fileprivate static func unencryptedCredentials(to origin: Origin?) -> Self {
        Self(
            .unencryptedCredentials,
            "The credentials would be sent to \(origin?.host ?? "the server") over http, which everybody on the way can read. "
                + "Use https, or apply `allowingUnencryptedCredentials()` to the composed stack.")
    }
}
