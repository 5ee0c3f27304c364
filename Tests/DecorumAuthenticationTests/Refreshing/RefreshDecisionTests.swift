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
            case .used: .save(new)
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
        let whole = try Token("new", refreshToken: "used-refresh", scope: "all")
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
}
