import HTTPTypes

/// The origins that credentials are given for, and the rules by which a request gets none.
struct CredentialBinding: Sendable {
    let origins: Set<Origin>

    var setting: Layer.Setting {
        Layer.Setting("for", origins.map(\.description).sorted().joined(separator: ", "))
    }

    /// The reason why a request gets no credentials; nil where it gets them.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - secretFields: The fields of the credentials; a request that has one of them keeps its own.
    /// - Returns: The reason.
    @inline(__always) func reasonToSkip(
        _ request: borrowing Request, secretFields: Set<HTTPField.Name>
    ) -> ReasonToSkip? {
        let fields = request.head.headerFields
        if request.options.skipsAuthentication { return .option }
        if secretFields.contains(where: fields.has) { return .ownCredentials }
        guard isForOrigin(of: request.head) else { return .origin }
        let redirectingOrigins = request.options.redirectingOrigins
        return redirectingOrigins.isEmpty || redirectingOrigins.isSubset(of: origins) ? nil : .redirectingOrigin
    }

    private func isForOrigin(of head: HTTPRequest) -> Bool {
        // Most heads have the origin in its plain form, which needs no parsing.
        if origins.contains(where: { $0.isPlainOrigin(of: head) }) { return true }
        return (try? Origin(head)).map(origins.contains) ?? false
    }
}

/// The reason why a request is sent without the credentials of a layer, in words for the history of the call.
enum ReasonToSkip: String {
    case option = "the request skips authentication"
    case ownCredentials = "the request has its own credentials"
    case origin = "the credentials are for other origins"
    case redirectingOrigin = "an origin that the credentials are not for has redirected the request"
    case noCredentials = "the source has no credentials for the request"

    /// Whether an origin is the reason, and not the caller.
    var isOrigin: Bool { self == .origin || self == .redirectingOrigin }
}

extension Connection {
    /// Sends a request that gets no credentials, as it is.
    func sendUnchanged(_ request: consuming Request, because reason: ReasonToSkip) async throws -> Response {
        request.options.callContext?.note(CallDecision(.skips, by: "authenticating", reason.rawValue))
        var response = try await send(request)
        // Some servers do not tell that a resource exists, and answer with 404.
        if reason.isOrigin, [.unauthorized, .forbidden, .notFound].contains(response.status) {
            response.metadata.lacksCredentials = true
        }
        return response
    }
}
