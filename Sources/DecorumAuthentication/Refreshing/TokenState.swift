import Foundation
import HTTPTypes

/// A token in memory, and the sign-in that it belongs to; a class, since each request takes a reference to it.
final class HeldToken: Sendable {
    let token: Token
    let field: HTTPField
    /// The number of the sign-in in this process.
    let generation: Int
    /// The date from which on it is replaced in the background; nil for a token that is used to its end.
    let replacing: Date?
    /// The instant at which the server gave it to this process; nil for a token from elsewhere.
    let arrival: ContinuousClock.Instant?

    init(_ token: Token, generation: Int, lead: Duration?, arrival: ContinuousClock.Instant? = nil) {
        self.token = token
        self.generation = generation
        // A server may write `bearer`, but some know the scheme with a capital only.
        let scheme = token.type.lowercased() == "bearer" ? "Bearer" : token.type
        field = HTTPField(name: .authorization, value: "\(scheme) \(token.accessToken)")
        replacing = lead.flatMap { lead in token.expiry.map { $0 - lead / .seconds(1) } }
        self.arrival = arrival
    }
}

/// What ``Tokens`` knows of the token, without the store.
struct TokenState: Sendable {
    enum Session: Sendable {
        case unknown
        case signedIn(HeldToken)
        case signedOut(SignedOutError.Reason)
    }

    enum Step {
        case use(HeldToken, early: RefreshUnderWay?)
        case wait(RefreshUnderWay, isNew: Bool)
        case giveUp
        case fail(any Error)
    }

    /// The number of the sign-in in this process.
    var generation = 0
    /// The sign-in of the tokens of this generation; nil before the first.
    var signIn: UInt64?
    var session = Session.unknown
    var refresh: RefreshUnderWay?
    var failure: TokenRefreshError?
    var failures = 0
    /// A token that the server gave and the store could not take, and the one that it replaces.
    var unsaved: RefreshEnd.Unsaved?

    /// Decides the next step of a caller, and notes a refresh that it has to start.
    ///
    /// A token that the server has just given is used for `minimumInterval` in any case. `mayStart` is false for a caller that
    /// is a part of a refresh.
    mutating func step(
        insteadOf rejected: HeldToken?, hasWaited: Bool, now: @autoclosure () -> ContinuousClock.Instant,
        date: @autoclosure () -> Date, minimumInterval: Duration, mayStart: @autoclosure () -> Bool
    ) -> Step {
        // A request of one user is never sent again with the token of another.
        if let rejected, rejected.generation != generation { return .fail(SignedOutError(.signedOut)) }
        switch session {
        case .unknown:
            return waiting(replacing: rejected?.token, mayStart: mayStart(), now: now())
        case .signedOut(let reason):
            // Another process may have signed in since, which is of no use to a request of the user before.
            return hasWaited || rejected != nil
                ? .fail(SignedOutError(reason)) : waiting(replacing: nil, mayStart: mayStart(), now: now())
        case .signedIn(let held):
            let isRejected = rejected.map { $0.token.accessToken == held.token.accessToken } ?? false
            let isNew = held.arrival.map { now() - $0 < minimumInterval } ?? false
            if isRejected, hasWaited || isNew && !mayStart() { return .giveUp }
            let today = date()
            if !isRejected, hasWaited || isNew || held.token.isValid(at: today) {
                let isEarly = !hasWaited && !isNew && held.replacing.map { today >= $0 } ?? false
                return .use(held, early: isEarly && mayStart() ? early(replacing: held.token, now: now()) : nil)
            }
            // The server rejects a token that it has just given, perhaps since another process has a newer one.
            return waiting(
                replacing: held.token, looksOnly: isRejected && isNew, mayStart: mayStart(), now: now())
        }
    }

    private mutating func waiting(
        replacing token: Token?, looksOnly: Bool = false, mayStart: Bool, now: ContinuousClock.Instant
    ) -> Step {
        guard mayStart else { return .fail(RefreshRecursionError()) }
        if let refresh { return .wait(refresh, isNew: false) }
        if let failure, let end = failure.earliestRetry, now < end { return .fail(failure) }
        let refresh = RefreshUnderWay(generation: generation, replacing: token, looksOnly: looksOnly)
        self.refresh = refresh
        return .wait(refresh, isNew: true)
    }

    private mutating func early(replacing token: Token, now: ContinuousClock.Instant) -> RefreshUnderWay? {
        guard refresh == nil, failure?.earliestRetry.map({ now >= $0 }) ?? true else { return nil }
        let refresh = RefreshUnderWay(generation: generation, replacing: token)
        self.refresh = refresh
        return refresh
    }

    /// Takes the result of a refresh.
    ///
    /// - Returns: Whether the callers who have waited go on; false if the token is not of their user.
    mutating func take(_ result: RefreshEnd, lead: (Token) -> Duration?, now: ContinuousClock.Instant) -> Bool {
        failure = nil
        failures = 0
        unsaved = nil
        switch result {
        case .adopted(let token): return hold(token, lead: lead(token))
        case .new(let token, let unsaved):
            self.unsaved = unsaved
            return hold(token, lead: lead(token), arrival: now)
        case .signedOut(let reason):
            // The first reason is the one that tells why the store is empty.
            if case .signedOut = session, reason == .noToken { return true }
            session = .signedOut(reason)
            // The user has signed out elsewhere, so the answers to earlier requests are not delivered.
            if reason != .refused, signIn != nil { (generation, signIn) = (generation + 1, nil) }
            return true
        }
    }

    private mutating func hold(_ token: Token, lead: Duration?, arrival: ContinuousClock.Instant? = nil) -> Bool {
        // All who wait while no user is signed in wait for the next user.
        let isAwaited = if case .signedOut = session { true } else { false }
        let isOther = signIn.map { $0 != token.signIn } ?? false
        if isOther { generation += 1 }
        session = .signedIn(HeldToken(token, generation: generation, lead: lead, arrival: arrival))
        signIn = token.signIn
        return !isOther || isAwaited
    }

    /// The token in memory.
    var held: HeldToken? {
        if case .signedIn(let held) = session { held } else { nil }
    }

    /// Takes what the store holds after another process may have changed it.
    ///
    /// - Returns: False if the token in memory has changed since it was `known`, so that the store is to be read again.
    mutating func follow(_ stored: Token?, knowing known: HeldToken, lead: (Token) -> Duration?) -> Bool {
        guard held === known else { return false }
        guard stored?.accessToken != known.token.accessToken else { return true }
        // The store has not changed: it could not take the token in memory.
        if let unsaved, unsaved.replaced == stored { return true }
        let isOther = stored?.signIn != signIn
        if refresh != nil {
            // The refresh has stored or removed a token itself, or finds at its end what the store holds; until then, callers
            // wait.
            if isOther { session = .unknown }
        } else if let stored, !isOther {
            session = .signedIn(HeldToken(stored, generation: generation, lead: lead(stored)))
        } else {
            self = TokenState(generation: generation + 1)
        }
        return true
    }
}
