public import Decorum
import Foundation
import HTTPTypes

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
    func token(at date: Date) throws -> Token {
        if let error { throw error }
        let accessToken = try required("access_token")
        let type = self["token_type"] ?? "Bearer"
        // A client that does not know the type cannot use the token (RFC 6749, section 7.1).
        guard type.lowercased() == "bearer" else { throw UnknownTokenTypeError() }
        do {
            return try Token(
                accessToken, expiry: lifetime("expires_in").map { date + $0 }, refreshToken: self["refresh_token"],
                scope: self["scope"])
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

/// A server gave a token of a type that is not `Bearer`.
public struct UnknownTokenTypeError: DescribableError, Hashable {
    /// The cause, and the way to mend it.
    public var description: String {
        "The authorization server gave a token of another type than Bearer. Register the client for bearer tokens."
    }
}
