public import Decorum
public import Foundation

/// The form in which a store keeps a token.
extension Token {
    /// The largest number of bytes of a stored form that is read.
    public static let storedFormLimit = 256 << 10

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
    /// - Throws: ``DamagedTokenError`` for bytes that are too many, or no stored form.
    public init(storedForm: Data) throws(DamagedTokenError) {
        guard storedForm.count <= Self.storedFormLimit else { throw DamagedTokenError() }
        do {
            self = try JSONDecoder().decode(StoredToken.self, from: storedForm).token
        } catch {
            // The error of the decoder may quote the token.
            throw DamagedTokenError()
        }
    }
}

/// The bytes in a store are not those of a token.
public struct DamagedTokenError: DescribableError, Hashable {
    /// Creates an error.
    public init() {}

    /// The cause, and the way out.
    public var description: String {
        "The stored token cannot be read. Sign in again, which replaces it."
    }
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

    init(_ token: Token) {
        version = Self.currentVersion
        accessToken = token.accessToken
        type = token.type
        expiry = token.expiry.map { Int64($0.timeIntervalSince1970) }
        refreshToken = token.refreshToken
        scope = token.scope
        signIn = token.signIn
    }

    var token: Token {
        get throws {
            guard version == Self.currentVersion else { throw DamagedTokenError() }
            var token = try Token(
                accessToken, type: type, expiry: expiry.map { Date(timeIntervalSince1970: Double($0)) },
                refreshToken: refreshToken, scope: scope)
            if let signIn { token.signIn = signIn }
            return token
        }
    }
}
