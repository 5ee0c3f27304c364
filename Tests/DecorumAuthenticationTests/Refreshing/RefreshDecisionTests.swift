import Foundation
import Testing

@testable import DecorumAuthentication

/// The table of outcomes: the answer to a refresh against the store's state after it.
@Suite struct RefreshDecisionTests {
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
        var policy = RefreshPolicy(lead: duration, minimumInterval: duration, timeLimit: duration)
        #expect(RefreshPolicy.backoff(after: 1000, asked: duration, random: 1) == .seconds(300))
        #expect(policy.lead(ofRemaining: .seconds(10), random: 1) <= .seconds(2))
        policy.lead = duration
        #expect(policy.lead(ofRemaining: .seconds(10), random: 1) <= .seconds(2))
    }

    private static let failures: [(error: any Error, isRefusal: Bool)] = [
        (OAuthError(.invalidGrant, status: .badRequest), true), (OAuthError(.invalidGrant), true),
        (OAuthError(.invalidGrant, status: .tooManyRequests), false),
        (OAuthError(.invalidGrant, status: .internalServerError), false),
        (OAuthError(.invalidClient, status: .unauthorized), false),
        (OAuthError(.init("invalid_request"), status: .badRequest), false),
        (OAuthError(.invalidScope, status: .badRequest), false),
        (OAuthError(.temporarilyUnavailable, status: .badRequest), false),
        (OAuthError(.init("INVALID_GRANT"), status: .badRequest), false),
        (OAuthError(answering: .init(status: .found)), false), (OAuthError(answering: .init(status: .ok)), false),
        (OAuthError(answering: .init(status: .badRequest)), false),
        (TransportError(.timedOut, at: .head), false), (CancellationError(), false),
    ]

    @Test func `The used token is replaced by a new one, removed by invalid_grant, and kept after other failures`() {
        let answers: [(Result<Token, any Error>, RefreshDecision)] =
            [(.success(new), .save(new.completed(by: used)))]
            + Self.failures.map { (.failure($0.error), $0.isRefusal ? .remove : .keep) }
        for (answer, decision) in answers {
            #expect(RefreshDecision(after: answer, using: used, holding: used) == decision, "\(answer)")
            #expect(RefreshDecision(after: answer, using: used, holding: other) == .adopt(other))
            #expect(RefreshDecision(after: answer, using: used, holding: nil) == .stayOut)
        }
    }

    @Test func `A source without a token saves its first one, and removes none`() {
        #expect(RefreshDecision(after: .success(new), using: nil, holding: nil) == .save(new))
        #expect(RefreshDecision(after: .failure(OAuthError(.invalidGrant)), using: nil, holding: nil) == .keep)
        #expect(RefreshDecision(after: .success(new), using: nil, holding: other) == .adopt(other))
    }

    @Test func `A part that the server leaves out stays as it was`() throws {
        let bare = try Token("new")
        var whole = try Token("new", refreshToken: "used-refresh", scope: "all")
        whole.signIn = used.signIn
        #expect(RefreshDecision(after: .success(bare), using: used, holding: used) == .save(whole))
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
        let held = HeldToken(
            used, generation: row.rejection == .ofOtherUser ? 1 : 0, lead: nil,
            arrival: isNew ? now - .seconds(9) : now - .seconds(10))
        var state = TokenState(session: row.rejection == .whileSignedOut ? .signedOut(.refused) : .signedIn(held))
        let sent = row.rejection == .ofOlder ? HeldToken(other, generation: 0, lead: nil) : held
        let step = state.step(
            insteadOf: sent, hasWaited: row.rejection == .afterWait, now: now, date: Date(),
            minimumInterval: .seconds(10),
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
        let held = HeldToken(used, generation: 0, lead: nil)
        var state = TokenState(signIn: used.signIn, session: .signedIn(held))
        if row.isRefreshing { state.refresh = RefreshUnderWay(generation: 0, replacing: used) }
        let stored: Token? =
            switch row.stored {
            case .same: used
            case .next: try Token("next", refreshToken: "next-refresh").completed(by: used)
            case .other: other
            case .none: nil
            }
        let isStale = !state.follow(stored, knowing: HeldToken(used, generation: 0, lead: nil), lead: { _ in nil })
        let isTaken = state.follow(stored, knowing: held, lead: { _ in nil })
        #expect(isStale && isTaken)
        // A store that could not take the token in memory holds an older one.
        var unsaved = TokenState(signIn: used.signIn, session: .signedIn(held))
        unsaved.unsaved = (stored, used)
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
        let result: RefreshEnd =
            switch row.stored {
            case .other: .adopted(other)
            case .none: .signedOut(.signedOut)
            default: .adopted(try Token("next").completed(by: used))
            }
        func taking(_ session: TokenState.Session, signIn: UInt64? = nil) -> (goOn: Bool, generation: Int) {
            var state = TokenState(signIn: signIn, session: session)
            return (state.take(result, lead: { _ in nil }, now: .now), state.generation)
        }
        #expect(
            taking(.signedIn(HeldToken(used, generation: 0, lead: nil)), signIn: used.signIn) == (
                row.goOn, row.generation
            ))
        // Those who wait while no user is known wait for any.
        #expect(taking(.unknown) == (true, 0))
        #expect(taking(.signedOut(.refused), signIn: used.signIn) == (true, row.generation))
    }
}
