import Decorum
import Foundation

/// A token that the server gave and the store could not take.
struct UnsavedToken: Sendable {
    let replaced: Token?
    let token: Token
}

/// The end of a refresh that has not failed.
enum RefreshResult: Sendable {
    /// The store held another token.
    case adopted(Token)
    /// The server has given a token; the last value is nil where the store has it.
    case new(Token, unsaved: UnsavedToken?)
    /// There is no token.
    case signedOut(SignedOutError.Reason)
}

/// The source had no token in time.
struct RefreshTimeoutError: Error {}

/// One refresh: it looks into the store before and after it asks the source.
struct Refresh: Sendable {
    let store: any TokenStore
    let source: any TokenSource
    let clock: any DatedClock
    let watch: TimeLimitWatch
    let timeLimit: Duration
    /// The token to replace; nil where the caller knows none.
    let replaced: Token?
    let unsaved: UnsavedToken?
    let looksOnly: Bool

    /// Performs the refresh.
    ///
    /// - Returns: The result; nil where a look has found the token that is known.
    func perform() async throws -> RefreshResult? {
        try await saveUnsaved()
        // Most processes find the token of another one here, without a wait for its lock.
        if let token = try await usable() { return .adopted(token) }
        if looksOnly { return try await store.token() == nil ? .signedOut(.noToken) : nil }
        return try await store.exclusively {
            if let token = try await usable() { return .adopted(token) }
            return try await askSource()
        }
    }

    private func saveUnsaved() async throws {
        // Without it, the next refresh would send a refresh token that was used already.
        if let unsaved { _ = try await store.replace(unsaved.replaced, with: unsaved.token) }
    }

    /// The token of the store, where it is valid and not the one to replace.
    private func usable() async throws -> Token? {
        guard let held = try await store.token(), held.isValid(at: clock.date) else { return nil }
        return held.accessToken == replaced?.accessToken ? nil : held
    }

    private func askSource() async throws -> RefreshResult {
        let used = try await store.token()
        guard used != nil || source.startsWithoutToken else { return .signedOut(.noToken) }
        let answer: Result<Token, any Error>
        do {
            answer = .success(try await newToken(replacing: used))
        } catch {
            answer = .failure(error)
        }
        return try await conclude(from: answer, using: used)
    }

    private func newToken(replacing used: Token?) async throws -> Token {
        let token = try await watch.value(until: clock.instant(after: timeLimit)) { [source] in
            try await source.token(replacing: used)
        }
        guard let token else { throw RefreshTimeoutError() }
        return token
    }

    private func conclude(from answer: Result<Token, any Error>, using used: Token?) async throws -> RefreshResult {
        let kind: RefreshAnswer
        switch answer {
        case .success(let token): kind = .token(token.completed(by: used))
        case .failure(let error): kind = RefreshAnswer(error)
        }
        for _ in 0..<TokenStoreError.attemptLimit {
            let held: Token?
            do {
                held = try await store.token()
            } catch {
                // A store that fails now must not lose the new token.
                guard case .token(let token) = kind else { throw error }
                return .new(token, unsaved: UnsavedToken(replaced: used, token: token))
            }
            switch RefreshDecision(after: kind, using: used, holding: held) {
            case .adopt(let token): return .adopted(token)
            case .stayOut: return .signedOut(.signedOut)
            // A token is never kept after a new one was given, so this throws the error of the source.
            case .keep: return .adopted(try answer.get())
            case .remove:
                if try await store.replace(used, with: nil) { return .signedOut(.refused) }
            case .save(let token):
                do {
                    if try await store.replace(used, with: token) { return .new(token, unsaved: nil) }
                } catch {
                    return .new(token, unsaved: UnsavedToken(replaced: used, token: token))
                }
            }
            // The store has changed in between, so the decision is another one now.
        }
        throw TokenStoreError(.neverReplaces)
    }
}
