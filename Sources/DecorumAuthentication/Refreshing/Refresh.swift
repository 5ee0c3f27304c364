import Decorum
import Foundation
import Synchronization

/// The source had no token in time.
struct RefreshTimeoutError: Error {}

/// The end of a refresh that has not failed.
enum RefreshEnd: Sendable {
    /// A token that the server gave and the store could not take, and the one that it replaces.
    typealias Unsaved = (replaced: Token?, token: Token)

    /// The store held another token.
    case adopted(Token)
    /// The server has given a token; the last value is nil if the store has it.
    case new(Token, unsaved: Unsaved?)
    /// There is no token.
    case signedOut(SignedOutError.Reason)
}

extension Tokens {
    /// Performs a refresh: it looks into the store before and after it asks the source.
    ///
    /// - Returns: The end; nil if a look has found the token that is known.
    func perform(_ refresh: RefreshUnderWay, saving unsaved: RefreshEnd.Unsaved?) async throws -> RefreshEnd? {
        // Without it, the next refresh would send a refresh token that was used already.
        if let unsaved { _ = try await store.replace(unsaved.replaced, with: unsaved.token) }
        // Most processes find the token of another one here, without a wait for its lock.
        if let token = try await usable(replacing: refresh.replaced) { return .adopted(token) }
        if refresh.looksOnly { return try await store.token() == nil ? .signedOut(.noToken) : nil }
        return try await store.exclusively {
            if let token = try await usable(replacing: refresh.replaced) { return .adopted(token) }
            return try await askSource()
        }
    }

    /// The token of the store, if it is valid and not the one to replace.
    private func usable(replacing replaced: Token?) async throws -> Token? {
        guard let held = try await store.token(), held.isValid(at: clock.date) else { return nil }
        return held.accessToken == replaced?.accessToken ? nil : held
    }

    private func askSource() async throws -> RefreshEnd {
        let used = try await store.token()
        guard used != nil || source.startsWithoutToken else { return .signedOut(.noToken) }
        let answer: Result<Token, any Error>
        do {
            answer = .success(try await newToken(replacing: used).completed(by: used))
        } catch {
            answer = .failure(error)
        }
        return try await conclude(from: answer, using: used)
    }

    private func newToken(replacing used: Token?) async throws -> Token {
        let token = try await watch.value(until: clock.instant(after: policy.timeLimit)) { [source] in
            try await source.token(replacing: used)
        }
        guard let token else { throw RefreshTimeoutError() }
        return token
    }

    private func conclude(from answer: Result<Token, any Error>, using used: Token?) async throws -> RefreshEnd {
        for _ in 0..<TokenStoreError.attemptLimit {
            let held: Token?
            do {
                held = try await store.token()
            } catch {
                // A store that fails now must not lose the new token, and some go on writing what they could not.
                guard case .success = answer else { throw error }
                held = used
            }
            switch RefreshDecision(after: answer, using: used, holding: held) {
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
                    return .new(token, unsaved: (used, token))
                }
            }
            // The store has changed in between, so the decision is another one now.
        }
        throw TokenStoreError(.neverReplaces)
    }
}

/// One refresh, or one look into the store, and all callers who wait for its end.
final class RefreshUnderWay: Sendable {
    private struct State {
        var result: Result<Void, any Error>?
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        var last = 0
    }

    /// The sign-in that the refresh belongs to.
    let generation: Int
    /// The token to replace; nil if it is not known yet.
    let replaced: Token?
    /// Whether the source is not asked, since it has just given the token.
    let looksOnly: Bool
    private let state = Mutex(State())

    init(generation: Int, replacing replaced: Token?, looksOnly: Bool = false) {
        self.generation = generation
        self.replaced = replaced
        self.looksOnly = looksOnly
    }

    /// Waits for the end; a caller who is cancelled leaves at once, and the refresh goes on.
    func wait() async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    if let result = state.result { return result }
                    // The handler of a task that was cancelled before has run already, and found no continuation.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiting[number] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }

    /// Ends the refresh for all callers; only the first end counts.
    func end(with result: Result<Void, any Error>) {
        let waiting = state.withLock { state in
            guard state.result == nil else { return [CheckedContinuation<Void, any Error>]() }
            state.result = result
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume(with: result) }
    }
}

/// The consequence of the answer to a refresh, from values alone.
///
/// A token that is kept is used further until it expires. Only `invalid_grant`, about the token that the store still holds,
/// removes it.
enum RefreshDecision: Equatable {
    /// Save a token in place of the one that was used.
    case save(Token)
    /// Use the token that another process or another sign-in has stored meanwhile.
    case adopt(Token)
    /// Remove the token that was used: the server no longer accepts it.
    case remove
    /// The token was removed meanwhile, so nothing is stored.
    case stayOut
    /// Keep the token, and fail those who wait for a new one.
    case keep

    /// Decides after the answer of the source to a token that was used, from what the store holds then.
    init(after answer: Result<Token, any Error>, using used: Token?, holding held: Token?) {
        guard held == used else {
            self = held.map { .adopt($0) } ?? .stayOut
            return
        }
        switch answer {
        case .success(let token): self = .save(token.completed(by: used))
        case .failure(let error as OAuthError) where error.code == .invalidGrant && !error.mayPass:
            self = used == nil ? .keep : .remove
        case .failure: self = .keep
        }
    }
}

extension Token {
    /// The token with the sign-in of the old one, and the parts that a server leaves out when they have not changed
    /// (RFC 6749, section 6).
    func completed(by old: Token?) -> Token {
        guard let old else { return self }
        // All parts come from tokens, so they are valid.
        let whole = try? Token(
            accessToken, type: type, expiry: expiry, refreshToken: refreshToken ?? old.refreshToken,
            scope: scope ?? old.scope)
        var token = whole ?? self
        token.signIn = old.signIn
        token.proofKey = proofKey
        return token
    }
}

/// When ``Tokens`` gets a new token, and how long it waits after a failure.
public struct RefreshPolicy: Sendable, Hashable {
    /// How long before its expiry a token is replaced in the background; by default one minute.
    ///
    /// The time is at most a fifth of the remaining lifetime. Each token uses a random part of it, between a half and
    /// the whole, so that the clients of a server do not all refresh at the same moment.
    public var lead: Duration
    /// How long a token that the server has just given is used, even if it is rejected or has expired; by default ten seconds.
    ///
    /// Without it, each call would ask for a new token while a server rejects the tokens that it gives.
    public var minimumInterval: Duration
    /// How long a refresh may take; by default 30 seconds.
    public var timeLimit: Duration

    /// Creates a policy; each parameter is the property of its name, and a negative time counts as zero.
    public init(
        lead: Duration = .seconds(60), minimumInterval: Duration = .seconds(10), timeLimit: Duration = .seconds(30)
    ) {
        self.lead = max(.zero, lead)
        self.minimumInterval = max(.zero, minimumInterval)
        self.timeLimit = max(.zero, timeLimit)
    }

    /// The wait after a number of failures in a row: a random part, between a half and the whole, of a second, which doubles
    /// with each further failure up to five minutes, or a longer `Retry-After`.
    static func backoff(after failures: Int, asked: Duration?, random: Double) -> Duration {
        let longest = Duration.seconds(300)
        let doubled = Duration.seconds(1 << min(max(0, failures - 1), 20))
        return max(min(doubled, longest) * (0.5 + random / 2), min(asked ?? .zero, longest))
    }

    /// The time before the expiry at which a token with a remaining lifetime is replaced.
    func lead(ofRemaining remaining: Duration, random: Double) -> Duration {
        max(.zero, min(lead, remaining / 5)) * (0.5 + random / 2)
    }
}
