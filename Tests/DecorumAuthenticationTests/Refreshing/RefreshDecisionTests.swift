import Foundation
import Testing

@testable import DecorumAuthentication

/// The table of outcomes: the answer to a refresh against the store's state after it.
@Suite struct RefreshDecisionTests {
    enum Held: CaseIterable { case used, other, none }

    private let used: Token
    private let other: Token
    private let new: Token

    init() throws {
        used = try Token("used", refreshToken: "used-refresh", scope: "all")
        other = try Token("other", refreshToken: "other-refresh")
        new = try Token("new", refreshToken: "new-refresh", scope: "all")
    }

    @Test(arguments: [Duration(attoseconds: .max), .seconds(Int64.max), .seconds(-1), Duration(attoseconds: .min)])
    func `A policy with any durations gives a wait and a lead`(duration: Duration) {
        let initial = RefreshPolicy(
            lead: duration, minimumInterval: duration, timeLimit: duration, firstBackoff: duration,
            maximumBackoff: duration)
        var changed = RefreshPolicy()
        (changed.lead, changed.firstBackoff, changed.maximumBackoff) = (duration, duration, duration)
        for policy in [initial, changed] {
            #expect(policy.backoff(after: 1000, asked: duration, random: 1) <= .seconds(1 << 31))
            #expect(policy.lead(ofRemaining: .seconds(10), random: 1) <= .seconds(2))
        }
    }

    private func held(_ held: Held) -> Token? {
        switch held {
        case .used: used
        case .other: other
        case .none: nil
        }
    }

    @Test(arguments: Held.allCases)
    func `A new token is saved in place of the used one only`(held: Held) {
        let expected: RefreshDecision =
            switch held {
            case .used: .save(new.completed(by: used))
            case .other: .adopt(other)
            case .none: .stayOut
            }
        #expect(RefreshDecision(after: .token(new), using: used, holding: self.held(held)) == expected)
    }

    @Test(arguments: Held.allCases)
    func `invalid_grant removes the used token only`(held: Held) {
        let expected: RefreshDecision =
            switch held {
            case .used: .remove
            case .other: .adopt(other)
            case .none: .stayOut
            }
        #expect(RefreshDecision(after: .invalidGrant, using: used, holding: self.held(held)) == expected)
    }

    @Test(arguments: Held.allCases)
    func `Any other failure keeps the token`(held: Held) {
        let expected: RefreshDecision =
            switch held {
            case .used: .keep
            case .other: .adopt(other)
            case .none: .stayOut
            }
        #expect(RefreshDecision(after: .failure, using: used, holding: self.held(held)) == expected)
    }

    @Test func `A source without a token saves its first one, and removes none`() {
        #expect(RefreshDecision(after: .token(new), using: nil, holding: nil) == .save(new))
        #expect(RefreshDecision(after: .invalidGrant, using: nil, holding: nil) == .keep)
        #expect(RefreshDecision(after: .token(new), using: nil, holding: other) == .adopt(other))
    }

    @Test func `A part that the server leaves out stays as it was`() throws {
        let bare = try Token("new")
        var whole = try Token("new", refreshToken: "used-refresh", scope: "all")
        whole.signIn = used.signIn
        #expect(RefreshDecision(after: .token(bare), using: used, holding: used) == .save(whole))
    }

    @Test(arguments: [
        (OAuthError(.invalidGrant, status: .badRequest), RefreshAnswer.invalidGrant),
        (OAuthError(.invalidGrant), .invalidGrant),
        (OAuthError(.invalidGrant, status: .tooManyRequests), .failure),
        (OAuthError(.invalidGrant, status: .internalServerError), .failure),
        (OAuthError(.invalidClient, status: .unauthorized), .failure),
        (OAuthError(.invalidRequest, status: .badRequest), .failure),
        (OAuthError(.invalidScope, status: .badRequest), .failure),
        (OAuthError(.temporarilyUnavailable, status: .badRequest), .failure),
        (OAuthError(.init("INVALID_GRANT"), status: .badRequest), .failure),
        (OAuthError(answering: .init(status: .found)), .failure),
        (OAuthError(answering: .init(status: .ok)), .failure),
        (OAuthError(answering: .init(status: .badRequest)), .failure),
    ])
    func `Only invalid_grant is about the refresh token`(error: OAuthError, answer: RefreshAnswer) {
        #expect(RefreshAnswer(error) == answer)
    }

    @Test func `An error of the connection is a failure`() {
        #expect(RefreshAnswer(TransportError(.timedOut, at: .head)) == .failure)
        #expect(RefreshAnswer(CancellationError()) == .failure)
    }

    @Test(arguments: [
        (Rejection.ofOlder, StepKind.use), (.ofHeld, .refresh), (.ofNew, .look), (.ofNewByRefresh, .giveUp),
        (.afterWait, .giveUp), (.ofOtherUser, .fail), (.whileSignedOut, .fail),
    ])
    func `A token that is rejected is replaced once, by a newer one where there is one`(
        row: (rejection: Rejection, step: StepKind)
    ) {
        let now = ContinuousClock.now
        let isNew = [.ofNew, .ofNewByRefresh, .afterWait].contains(row.rejection)
        let held = HeldToken(used, lead: nil, arrival: isNew ? now - .seconds(9) : now - .seconds(10))
        var state = TokenState(session: row.rejection == .whileSignedOut ? .signedOut(.refused) : .signedIn(held))
        let sent = row.rejection == .ofOlder ? HeldToken(other, lead: nil) : held
        let step = state.step(
            insteadOf: TokenLease(sent, generation: row.rejection == .ofOtherUser ? 1 : 0),
            hasWaited: row.rejection == .afterWait, now: now, date: Date(), minimumInterval: .seconds(10),
            mayStart: row.rejection != .ofNewByRefresh)
        #expect(StepKind(step) == row.step)
    }

    enum Rejection: Sendable {
        /// Of a token that was replaced since, of the one in memory, and of one that the server has just given.
        case ofOlder, ofHeld, ofNew
        /// By a request that is itself a part of a refresh.
        case ofNewByRefresh
        case afterWait, ofOtherUser, whileSignedOut
    }

    enum StepKind: Sendable {
        case use, refresh, look, giveUp, fail

        init(_ step: TokenState.Step) {
            self =
                switch step {
                case .use: .use
                case .wait(let refresh, _): refresh.looksOnly ? .look : .refresh
                case .giveUp: .giveUp
                case .fail: .fail
                }
        }
    }

    enum Stored: Sendable { case same, next, other, none }

    @Test(arguments: [
        // The store, whether a refresh is under way, the generation after that, and the token in memory.
        (Stored.same, false, 0, "used" as String?), (.next, false, 0, "next"), (.other, false, 1, nil),
        (.none, false, 1, nil),
        (.same, true, 0, "used"), (.next, true, 0, "used"), (.other, true, 0, nil), (.none, true, 0, nil),
    ])
    func `A change of the store by another process is followed`(
        row: (stored: Stored, isRefreshing: Bool, generation: Int, held: String?)
    ) throws {
        let held = HeldToken(used, lead: nil)
        var state = TokenState(signIn: used.signIn, session: .signedIn(held))
        if row.isRefreshing { state.refresh = RefreshUnderWay(generation: 0, replacing: used) }
        let stored: Token? =
            switch row.stored {
            case .same: used
            case .next: try Token("next", refreshToken: "next-refresh").completed(by: used)
            case .other: other
            case .none: nil
            }
        let isStale = !state.follow(stored, knowing: HeldToken(used, lead: nil), lead: { _ in nil })
        let isTaken = state.follow(stored, knowing: held, lead: { _ in nil })
        #expect(isStale && isTaken)
        // A store that could not take the token in memory holds an older one.
        var unsaved = TokenState(signIn: used.signIn, session: .signedIn(held))
        unsaved.unsaved = UnsavedToken(replaced: stored, token: used)
        let isKept = unsaved.follow(stored, knowing: held, lead: { _ in nil })
        #expect(isKept && unsaved.held === held && unsaved.generation == 0)
        #expect(state.generation == row.generation && state.held?.token.accessToken == row.held)
    }

    @Test(arguments: [
        // The result of a refresh, whether its callers go on, and the generation after it.
        (Stored.next, true, 0), (.other, false, 1), (.none, true, 1),
    ])
    func `Callers who wait for a token do not get that of another user`(
        row: (stored: Stored, goOn: Bool, generation: Int)
    ) throws {
        let result: RefreshResult =
            switch row.stored {
            case .other: .adopted(other)
            case .none: .signedOut(.signedOut)
            default: .adopted(try Token("next").completed(by: used))
            }
        func taking(_ session: TokenState.Session, signIn: UInt64? = nil) -> (goOn: Bool, generation: Int) {
            var state = TokenState(signIn: signIn, session: session)
            return (state.take(result, lead: { _ in nil }, now: .now), state.generation)
        }
        #expect(taking(.signedIn(HeldToken(used, lead: nil)), signIn: used.signIn) == (row.goOn, row.generation))
        // Those who wait while no user is known wait for any.
        #expect(taking(.unknown) == (true, 0))
        #expect(taking(.signedOut(.refused), signIn: used.signIn) == (true, row.generation))
    }
}
