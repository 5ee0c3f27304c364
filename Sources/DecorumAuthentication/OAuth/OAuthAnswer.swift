public import Decorum
import Foundation
public import HTTPTypes

/// The answer of an endpoint: its status, and the members of its content (RFC 6749, sections 5.1 and 5.2).
///
/// A JSON object counts whatever its media type says, and a form with its own. Other content has no members, and neither
/// has content above the limit.
struct OAuthAnswer: Sendable {
    private static let limit = 128 << 10
    /// The longest validity of a token or a code: ten years.
    private static let longestLifetime = 315_360_000.0

    let head: HTTPResponse
    private let retryAfter: Duration?
    private let members: [String: String]

    init(_ response: consuming Response, at date: Date) async throws {
        head = response.head
        retryAfter = RetryAfter.longestDelay(in: head.headerFields, at: date)
        let isForm =
            head.headerFields[.contentType]?.mediaTypeEssence == "application/x-www-form-urlencoded"
        let data: Data
        do {
            data = try await response.data(upTo: Self.limit)
        } catch is BodyLimitError {
            members = [:]
            return
        }
        let members = Self.json(data) ?? (isForm ? Self.form(data) : nil) ?? [:]
        self.members = members.filter { !$0.value.isEmpty }
    }

    /// The text of a member, or the digits of its number; nil for an empty one.
    subscript(_ name: String) -> String? { members[name] }

    /// A member without which the answer is of no use.
    func required(_ name: String) throws(OAuthError) -> String {
        guard let text = self[name] else { throw unusable(without: name) }
        return text
    }

    /// The validity that a member gives in seconds.
    func lifetime(_ name: String) -> Double? {
        self[name].flatMap(Double.init).flatMap { $0.isNaN ? nil : min(max(0, $0), Self.longestLifetime) }
    }

    /// The error of the answer; nil for one that has succeeded.
    var error: OAuthError? {
        if let code = self["error"], [.successful, .clientError].contains(head.status.kind) {
            return OAuthError(
                .init(code), status: head.status, retryAfter: retryAfter, serverDescription: self["error_description"])
        }
        return head.status.kind == .successful ? nil : unusable()
    }

    /// The error of an answer that lacks what it should have.
    func unusable(without member: String? = nil) -> OAuthError {
        OAuthError(answering: head, retryAfter: retryAfter, missingMember: member)
    }

    /// The token of the answer.
    func token(at date: Date, acceptsProofs: Bool = false) throws -> Token {
        if let error { throw error }
        let accessToken = try required("access_token")
        let type = self["token_type"] ?? "Bearer"
        // A client that does not know the type cannot use the token (RFC 6749, section 7.1).
        let isBound = acceptsProofs && type.lowercased() == "dpop"
        guard isBound || type.lowercased() == "bearer" else { throw InvalidTokenError(.type, "is not Bearer") }
        do {
            return try Token(
                accessToken, type: isBound ? "DPoP" : "Bearer", expiry: lifetime("expires_in").map { date + $0 },
                refreshToken: self["refresh_token"], scope: self["scope"])
        } catch {
            throw unusable(without: error.part.rawValue.replacing(" ", with: "_"))
        }
    }

    /// The texts and numbers of an object; a number in its digits, since a token may be one.
    private static func json(_ data: Data) -> [String: String]? {
        var scanner = JSONScanner(Array(data))
        var members: [String: String] = [:]
        do {
            try scanner.object { name, scanner in
                let first = try scanner.peek()
                if first == UInt8(ascii: "\"") {
                    members[name] = try scanner.string()
                } else {
                    let range = try scanner.skipValue()
                    let isNumber = first == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
                    members[name] = isNumber ? String(decoding: scanner.bytes[range], as: UTF8.self) : nil
                }
            }
            try scanner.expectEnd()
        } catch {
            return nil
        }
        return members
    }

    private static func form(_ data: Data) -> [String: String]? {
        let text = String(decoding: data, as: UTF8.self)
        // A page without markup is not a form either.
        return text.contains { $0.isWhitespace || $0 == "<" } ? nil : FormText.members(text[...])
    }
}

/// The form encoding of names and values.
enum FormText {
    static func encoded(_ parameters: [(name: String, value: String)]) -> String {
        String(decoding: Body(form: parameters).bytes ?? Data(), as: UTF8.self)
    }

    /// The names with their values; nil if an item cannot be decoded, or a name has a second value, which could be that of an
    /// attacker (RFC 6749, section 3.1).
    static func members(_ text: Substring) -> [String: String]? {
        var members: [String: String] = [:]
        for item in text.split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(pair[0]), let value = decoded(pair.count > 1 ? pair[1] : ""),
                members.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        return members
    }

    static func decoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }
}

/// An answer of an authorization server that gives no token.
///
/// Its description shows registered error codes only: other text of a server might repeat a secret.
///
/// See RFC 6749, sections 4.1.2.1 and 5.2, RFC 6750, section 3.1, and RFC 8628, section 3.5.
public struct OAuthError: DescribableError, SecretHolder, Hashable {
    /// The code of an error, as an open set.
    public struct Code: Sendable, Hashable {
        /// The code as the server writes it.
        public let name: String

        /// Creates a code.
        ///
        /// - Parameter name: The code as the server writes it.
        public init(_ name: String) { self.name = name }

        /// The client is not known, or its authentication failed.
        public static let invalidClient = Code("invalid_client")
        /// The refresh token or the authorization code is not valid, is expired or revoked, or belongs to another client.
        public static let invalidGrant = Code("invalid_grant")
        /// The scope is not valid, or exceeds what was granted.
        public static let invalidScope = Code("invalid_scope")
        /// The user or the server denied the request.
        public static let accessDenied = Code("access_denied")
        /// The authorization server has too much to do.
        public static let temporarilyUnavailable = Code("temporarily_unavailable")
        /// The access token is expired, revoked or malformed (RFC 6750).
        public static let invalidToken = Code("invalid_token")
        /// The code of the device has expired (RFC 8628).
        public static let expiredToken = Code("expired_token")
        static let serverError = Code("server_error")
        static let authorizationPending = Code("authorization_pending")
        static let slowDown = Code("slow_down")

        /// The codes of RFC 6749, 6750, 7009, 8628 and 8707.
        static let registered = Set(
            [
                "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
                "invalid_scope", "access_denied", "unsupported_response_type", "server_error",
                "temporarily_unavailable", "invalid_token", "insufficient_scope", "authorization_pending", "slow_down",
                "expired_token", "invalid_target", "unsupported_token_type",
            ].map { Code($0) })
    }

    /// The code that the server gave; nil for an answer that has none, such as a page of HTML or a redirection.
    public let code: Code?
    /// The status of the answer; nil for an error that came by a redirection to the app.
    public let status: HTTPResponse.Status?
    /// The time for which the server asks to wait.
    public let retryAfter: Duration?
    /// The server's text for developers, which may repeat any text of the request; do not log it.
    public let serverDescription: String?
    /// The name of the member without which an answer is of no use, such as `access_token`, where it is missing or no token.
    public let missingMember: String?

    /// Creates an error from a code; each parameter is the property of its name.
    public init(
        _ code: Code, status: HTTPResponse.Status? = nil, retryAfter: Duration? = nil, serverDescription: String? = nil
    ) {
        self.code = code
        self.status = status
        self.retryAfter = retryAfter
        self.serverDescription = serverDescription
        missingMember = nil
    }

    /// Creates the error of an answer that has neither a token nor a code.
    ///
    /// - Parameters:
    ///   - head: The head of the answer.
    ///   - retryAfter: The time for which the server asks to wait.
    ///   - missingMember: The name of the member that is missing.
    public init(answering head: HTTPResponse, retryAfter: Duration? = nil, missingMember: String? = nil) {
        code = nil
        status = head.status
        self.retryAfter = retryAfter
        serverDescription = nil
        self.missingMember = missingMember
    }

    /// The code or the status, and the way to mend it.
    public var description: String {
        let status = status.map { " with status \($0.code)" } ?? ""
        guard let code else {
            let lack = missingMember.map { "without a usable `\($0)`" } ?? "with neither a token nor an error of OAuth"
            return "The authorization server has answered\(status), but \(lack). "
                + "Look whether the URL is that of the endpoint, and whether the network asks for a login of its own."
        }
        let name = Code.registered.contains(code) ? code.name : "a code of its own"
        return "The authorization server refuses\(status): \(name).\(advice.map { " \($0)" } ?? "")"
    }

    private var advice: String? {
        switch code?.name {
        case "invalid_grant": "Ask the user to sign in again."
        case "invalid_client", "unauthorized_client":
            "Look whether the client identifier, its secret and its way of authentication are the registered ones."
        case "invalid_scope", "invalid_target": "Ask for less, or register the client for it."
        default: nil
        }
    }

    /// The registered code; a fixed word for other answers.
    public var shortDescription: String {
        code.map { Code.registered.contains($0) ? $0.name : "another code" } ?? "no OAuth answer"
    }
}

extension OAuthError: TemporaryError {
    /// Whether the same request may succeed later.
    ///
    /// True for 429, 5xx, `server_error`, `temporarily_unavailable` and for answers without OAuth, as of the login
    /// page of a network.
    public var mayPass: Bool {
        guard let code else { return true }
        if let status, status.code == 429 || status.kind == .serverError { return true }
        return [.serverError, .temporarilyUnavailable, .authorizationPending, .slowDown].contains(code)
    }
}
