import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

extension Interaction {
    /// The status codes after which clients send a request again.
    private static let retriedStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Whether clients send the request again: after a failure of the connection, a status that may pass, or a refusal of
    /// credentials.
    var isTransientFailure: Bool {
        if let failure { return failure.kind != RecordedFailure.cancelled && !failure.isCut }
        return response.map { Self.retriedStatuses.contains($0.status) } ?? false || isRefused
    }

    /// Whether a server has refused the credentials (RFC 9110, sections 15.5.2 and 15.5.8), so that a client may repeat the
    /// request with others.
    var isRefused: Bool { failure == nil && (response?.status == 401 || response?.status == 407) }

    /// Whether a server has answered without an error.
    var isWell: Bool { failure == nil && response.map { $0.status < 400 } ?? false }

    /// The kind of the failure, or the status.
    var failureName: String { failure?.kind ?? response.map { "\($0.status)" } ?? "" }

    /// Whether the answer has a member for a token (RFC 6749, section 5.1), with a text as its value.
    var givesToken: Bool {
        guard isWell, let bytes = response?.body.bytes,
            case .object(let members) = try? JSONValue(parsing: Array(bytes))
        else { return false }
        return members.contains { member in
            guard case .string = member.value else { return false }
            return Self.tokenNames.contains(member.name.lowercased().filter { $0 != "_" })
        }
    }

    private static let tokenNames: Set<String> = ["accesstoken", "idtoken", "refreshtoken", "token", "jwt"]
}
