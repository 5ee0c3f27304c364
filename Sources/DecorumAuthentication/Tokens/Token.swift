public import Decorum
public import Foundation

/// An access token, and with it the refresh token that gets the next one.
///
/// Neither its description nor its reflection shows a secret. It is not `Codable`, so that no encoder of an app writes it by
/// accident; a store of your own uses ``storedForm``.
///
/// See RFC 6749, sections 1.4, 1.5 and 5.1.
public struct Token: Sendable, Hashable {
    /// The largest number of bytes of an access token, a refresh token and a scope.
    static let lengthLimit = 32 << 10

    /// The access token.
    public let accessToken: String
    /// The type, such as `Bearer`, in the letter case in which the server gave it.
    public let type: String
    /// The end of the access token's validity, in whole seconds; nil if the server has not told it.
    public let expiry: Date?
    /// The refresh token; nil for a token without one.
    public let refreshToken: String?
    /// The scope that was granted; nil if the server has not told it.
    public let scope: String?
    /// The sign-in that the token comes from: the number of its first token, which each refresh hands on.
    var signIn: UInt64
    /// The private key that the token is bound to, which each refresh hands on (RFC 9449).
    package internal(set) var proofKey: Data?

    /// Whether a request proves the possession of a key beside the token.
    var isBoundToKey: Bool { type.lowercased() == "dpop" }

    /// Creates a token; each parameter is the property of its name.
    ///
    /// The expiry is rounded down to a whole second. The access token and the type are visible ASCII characters; the refresh
    /// token and the scope may have blanks too.
    ///
    /// - Throws: ``InvalidTokenError`` for a part that is empty, longer than 32 KiB, or has other characters.
    public init(
        _ accessToken: String, type: String = "Bearer", expiry: Date? = nil, refreshToken: String? = nil,
        scope: String? = nil
    ) throws(InvalidTokenError) {
        try Self.check(accessToken, .accessToken, allowing: 0x21...0x7E)
        try Self.check(type, .type, allowing: 0x21...0x7E)
        if let refreshToken { try Self.check(refreshToken, .refreshToken, allowing: 0x20...0x7E) }
        if let scope, !scope.isEmpty { try Self.check(scope, .scope, allowing: 0x20...0x7E) }
        self.accessToken = accessToken
        self.type = type
        self.expiry = expiry.map(Self.rounded)
        self.refreshToken = refreshToken
        self.scope = scope
        // FNV-1a, in 64 bits.
        signIn = (refreshToken ?? accessToken).utf8.reduce(0xCBF2_9CE4_8422_2325) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
    }

    /// Returns whether the access token is still valid at a date.
    ///
    /// - Parameter date: The date.
    /// - Returns: Whether the expiry is later; true if it is not known.
    public func isValid(at date: Date) -> Bool {
        expiry.map { date < $0 } ?? true
    }

    private static func check(
        _ text: String, _ part: InvalidTokenError.Part, allowing bytes: ClosedRange<UInt8>
    ) throws(InvalidTokenError) {
        guard !text.isEmpty else { throw InvalidTokenError(part, "is empty") }
        guard text.utf8.count <= lengthLimit else { throw InvalidTokenError(part, "is longer than 32 KiB") }
        guard text.utf8.allSatisfy(bytes.contains) else {
            throw InvalidTokenError(part, "has a line break, a blank or another character that no token has")
        }
    }

    /// A date in whole seconds, no earlier than 1970 and no later than the year 9999.
    private static func rounded(_ date: Date) -> Date {
        let seconds = date.timeIntervalSince1970
        guard !seconds.isNaN else { return Date(timeIntervalSince1970: 0) }
        return Date(timeIntervalSince1970: min(max(0, seconds.rounded(.down)), 253_402_300_799))
    }
}

extension Token: SecretHolder {
    /// The expiry, and whether there is a refresh token.
    public var description: String {
        let end = expiry.map { "valid until \($0)" } ?? "without a known expiry"
        return "a token \(end), with\(refreshToken == nil ? "out" : "") a refresh token"
    }
}

/// A text or stored bytes that are not a token.
public struct InvalidTokenError: DescribableError, Hashable {
    enum Part: String {
        case accessToken = "access token"
        case type = "type of the token"
        case refreshToken = "refresh token"
        case scope
        case storedForm = "stored token"
    }

    let part: Part
    private let reason: String

    init(_ part: Part, _ reason: String) {
        (self.part, self.reason) = (part, reason)
    }

    /// The part and the reason; never the text.
    public var description: String { "The \(part.rawValue) \(reason)." }
}

/// The form in which a store keeps a token.
extension Token {
    /// The largest number of bytes of a stored form that is read.
    static let storedFormLimit = 256 << 10

    /// The token as bytes, for a store: they are the secret itself, so protect them as you protect a password.
    public var storedForm: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return try encoder.encode(StoredToken(self))
        }
    }

    /// Reads a token that was stored.
    ///
    /// - Parameter storedForm: The bytes.
    /// - Throws: ``InvalidTokenError`` for bytes that are too many, or no stored form.
    public init(storedForm: Data) throws(InvalidTokenError) {
        guard storedForm.count <= Self.storedFormLimit else { throw InvalidTokenError.damaged }
        do {
            self = try JSONDecoder().decode(StoredToken.self, from: storedForm).token
        } catch {
            // The error of the decoder may quote the token.
            throw InvalidTokenError.damaged
        }
    }
}

extension InvalidTokenError {
    fileprivate static let damaged = Self(.storedForm, "cannot be read; sign in again, which replaces it")
}

private struct StoredToken: Codable {
    private static let currentVersion = 1

    let version: Int
    let accessToken: String
    let type: String
    let expiry: Int64?
    let refreshToken: String?
    let scope: String?
    let signIn: UInt64?
    let proofKey: Data?

    init(_ token: Token) {
        version = Self.currentVersion
        accessToken = token.accessToken
        type = token.type
        expiry = token.expiry.map { Int64($0.timeIntervalSince1970) }
        refreshToken = token.refreshToken
        scope = token.scope
        signIn = token.signIn
        proofKey = token.proofKey
    }

    var token: Token {
        get throws {
            guard version == Self.currentVersion else { throw InvalidTokenError.damaged }
            var token = try Token(
                accessToken, type: type, expiry: expiry.map { Date(timeIntervalSince1970: Double($0)) },
                refreshToken: refreshToken, scope: scope)
            if let signIn { token.signIn = signIn }
            token.proofKey = proofKey
            return token
        }
    }
}

/// The bytes of a private key, which no description shows.
package struct ProofKeyBytes: Sendable, SecretHolder {
    package let value: Data

    package var description: String { "a key" }
}

extension RequestOptions {
    /// The private key that the token of the request is bound to, for the layer further in that proves its possession.
    package var proofKey: ProofKeyBytes? {
        get { self[ProofKeyOption.self] }
        set { self[ProofKeyOption.self] = newValue }
    }
}

private enum ProofKeyOption: RequestOptionKey { static let defaultValue: ProofKeyBytes? = nil }
