public import Decorum
import Foundation
import HTTPTypes

/// The answer of an endpoint: its status, and the members of its content (RFC 6749, sections 5.1 and 5.2).
///
/// Content that is neither JSON nor a form has no members, and neither has content above the limit.
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
        let mediaType = head.headerFields[.contentType]?.mediaTypeEssence ?? ""
        let isJSON = mediaType == "application/json" || mediaType.hasSuffix("+json")
        let isForm = mediaType == "application/x-www-form-urlencoded"
        guard isJSON || isForm else {
            members = [:]
            return
        }
        let data: Data
        do {
            data = try await response.body.data(upTo: Self.limit)
        } catch is BodyLimitError {
            members = [:]
            return
        }
        let members = isJSON ? Self.json(data) : Self.form(data)
        self.members = members ?? [:]
    }

    /// The text or the number of a member.
    subscript(_ name: String) -> String? { members[name] }

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
        return head.status.kind == .successful ? nil : unusable
    }

    /// The error of an answer that lacks what it should have.
    var unusable: OAuthError { OAuthError(answering: head, retryAfter: retryAfter) }

    /// The token of the answer.
    func token(at date: Date) throws -> Token {
        if let error { throw error }
        guard let accessToken = self["access_token"] else { throw unusable }
        let type = self["token_type"] ?? "Bearer"
        // A client that does not know the type cannot use the token (RFC 6749, section 7.1).
        guard type.lowercased() == "bearer" else { throw UnknownTokenTypeError() }
        do {
            return try Token(
                accessToken, expiry: lifetime("expires_in").map { date + $0 }, refreshToken: self["refresh_token"],
                scope: self["scope"])
        } catch {
            throw unusable
        }
    }

    private static func json(_ data: Data) -> [String: String]? {
        guard let object = try? JSONDecoder().decode([String: Member].self, from: data) else { return nil }
        return object.compactMapValues(\.text)
    }

    private static func form(_ data: Data) -> [String: String]? {
        let text = String(decoding: data, as: UTF8.self)
        // A page without markup is not a form either.
        guard !text.contains(where: { $0.isWhitespace || $0 == "<" }) else { return nil }
        var members: [String: String] = [:]
        for item in text.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = FormText.decoded(parts.first ?? ""), let value = FormText.decoded(parts.last ?? ""),
                parts.count == 2, members.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        return members
    }
}

/// The form encoding of names and values.
enum FormText {
    static func decoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }
}

/// A member of an answer: a text, a number, or something that no answer of OAuth is about.
private enum Member: Decodable {
    case text(String)
    case other

    var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let number = try? container.decode(Double.self) {
            self = .text("\(number)")
        } else {
            self = .other
        }
    }
}

/// A server gave a token of a type that is not `Bearer`.
public struct UnknownTokenTypeError: DescribableError, Hashable {
    /// The cause, and the way to mend it.
    public var description: String {
        "The authorization server gave a token of another type than Bearer. Register the client for bearer tokens."
    }
}
