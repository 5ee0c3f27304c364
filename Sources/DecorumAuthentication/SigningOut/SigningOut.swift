public import Decorum
import Foundation

/// Signs a user out of all parts of an app in one call.
///
/// ```swift
/// let session = SigningOut(requests, tokens, cookies, StoredResponses(store))
/// try await session.signOut(Principal("user-42"))
/// ```
///
/// ``Tokens``, ``RequestsUnderWay``, the `CookieJar` of `DecorumCookies` and each `ResponseStore` in ``StoredResponses`` are
/// such parts; `SignsOut` is the protocol for one of your own.
///
/// Give the parts in the order in which they are to end: requests under way first, then tokens, then what was stored, since
/// a request that still runs could store something again.
public struct SigningOut: SignsOut {
    private let parts: [any SignsOut]

    /// Creates the list of parts.
    ///
    /// - Parameter parts: The parts, in the order in which they are signed out of.
    public init(_ parts: any SignsOut...) {
        self.parts = parts
    }

    /// Signs the user out of each part, also where an earlier part fails.
    ///
    /// - Parameter principal: The user.
    /// - Throws: ``SigningOutError`` with the errors of the parts that have failed.
    public func signOut(_ principal: Principal) async throws {
        var errors: [any Error] = []
        for part in parts {
            do {
                try await part.signOut(principal)
            } catch {
                errors.append(error)
            }
        }
        if !errors.isEmpty { throw SigningOutError(errors: errors) }
    }
}

/// Some data of a user may remain after signing out.
public struct SigningOutError: DescribableError, Sendable {
    /// The errors of the parts.
    public let errors: [any Error]

    /// The errors, without secrets.
    public var description: String {
        let causes = errors.map { Redaction.standard.description(of: $0) }.joined(separator: " ")
        return "Some data of the user may remain; sign out again. \(causes)"
    }
}

/// The stored responses of a cache, as a part that a user signs out of.
public struct StoredResponses: SignsOut {
    private let store: any ResponseStore

    /// Creates the part.
    ///
    /// - Parameter store: The store of the cache.
    public init(_ store: some ResponseStore) {
        self.store = store
    }

    /// Removes the stored responses of the user.
    public func signOut(_ principal: Principal) async throws {
        await store.removeResponses(of: principal)
    }
}

extension Tokens: SignsOut {
    /// Removes the token, since all of them are of one user.
    public func signOut(_ principal: Principal) async throws {
        try await signOut()
    }
}
