import Decorum
import HTTPTypes

/// The origins that a token is given for, and the rules by which a request gets none.
struct OriginScope: Sendable {
    let origins: Set<Origin>

    var setting: Layer.Setting {
        Layer.Setting("for", origins.map(\.description).sorted().joined(separator: ", "))
    }

    /// The reason why a request gets no token; nil where it gets one.
    func reasonToSkip(_ request: borrowing Request) -> ReasonToSkip? {
        if request.options.skipsAuthentication { return .option }
        if request.head.headerFields.contains(.authorization) { return .ownCredentials }
        guard let origin = try? Origin(request.head), origins.contains(origin) else { return .origin }
        return request.options.redirectingOrigins.isSubset(of: origins) ? nil : .redirectingOrigin
    }
}

/// The reason why a request is sent without the token, in words for the history of the call.
enum ReasonToSkip: String {
    case option = "the request skips authentication"
    case ownCredentials = "the request has its own credentials"
    case origin = "the token is for other origins"
    case redirectingOrigin = "an origin that the token is not for has redirected the request"
}

extension Connection {
    /// Sends a request that gets no token, as it is.
    func send(_ request: consuming Request, without reason: ReasonToSkip) async throws -> Response {
        request.options.callContext?.note(CallDecision(.skips, by: "authenticating", reason.rawValue))
        var response = try await send(request)
        let isOrigin = reason == .origin || reason == .redirectingOrigin
        // Some servers do not tell that a resource exists, and answer with 404.
        if isOrigin, [.unauthorized, .forbidden, .notFound].contains(response.status) {
            response.metadata.lacksCredentials = true
        }
        return response
    }
}
