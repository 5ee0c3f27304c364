import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The requests that are let through after a pause, for each kind of outcome.
@Suite(.timeLimit(.minutes(3))) struct ServerPausesTests {
    private let clock = VirtualClock()
    private let pauses = ServerPauses()

    // Each text has the outcomes of one round trip: good answers, and failures.
    @Test(
        arguments: [
            (["+", "++", "++++", "++++++++"], [1, 2, 4, 8, 16]), (["-", "-", "-"], [1, 1, 1, 1]),
            (["-", "+", "++"], [1, 1, 2, 4]), (["+", "--", "+"], [1, 2, 1, 2]), (["+", "+-", "-+"], [1, 2, 2, 2]),
            (["+", "++", "----"], [1, 2, 4, 1]), (["+", "++", "+---"], [1, 2, 4, 2]),
        ] as [([String], [Int])])
    func `One request is let through after the pause, and two for each good answer`(
        rounds: [String], counts: [Int]
    ) async throws {
        begin(for: .seconds(10))
        clock.advance(by: .seconds(10))
        var waits: [LimitedWait<PacingTurn?>] = []
        var turns: [PacingTurn] = []
        for _ in 0..<40 {
            switch step() {
            case .go(let turn): turns.append(turn)
            case .queue(let wait, _): waits.append(wait)
            case .sleep: Issue.record("The pause is over.")
            }
        }
        var seen = [turns.count]
        for round in rounds {
            try #require(round.count == turns.count)
            for (turn, outcome) in zip(turns, round) { pauses.end(turn, isGood: outcome == "+", at: clock.now) }
            turns = []
            // A wait whose outcome is there no longer has a limit.
            while let wait = waits.first, wait.timeLimit == nil {
                waits.removeFirst()
                turns.append(try #require(try await wait.value(watchedBy: watch, orCancel: {}) ?? nil))
            }
            seen.append(turns.count)
        }
        #expect(seen == counts)
    }

    @Test func `A pause that begins anew sends the waiting requests to its end, and late answers do not shorten it`()
        throws
    {
        begin(for: .seconds(10))
        #expect(instant(of: step()) == clock.now + .seconds(10))
        clock.advance(by: .seconds(10))
        let (turn, wait) = (try go(), try queue())
        begin(for: .seconds(20))
        #expect(wait.timeLimit == nil)
        pauses.end(turn, isGood: true, at: clock.now)
        #expect(instant(of: step()) == clock.now + .seconds(20))
        clock.advance(by: .seconds(20))
        _ = (try go(), try queue())
    }

    @Test func `A place goes to the next request where the one that it was for waits no longer`() async throws {
        begin(for: .zero)
        let (turn, left, wait) = (try go(), try queue(), try queue())
        let caller = Task { [watch] in try await left.value(watchedBy: watch, orCancel: {}) }
        caller.cancel()
        _ = await caller.result
        pauses.end(turn, isGood: false, at: clock.now)
        #expect(wait.timeLimit == nil)
    }

    @Test func `A request is held back by each of its pauses, and takes a place after each`() throws {
        begin(for: .seconds(10), isOfOrigin: false)
        begin(for: .zero)
        #expect(instant(of: step()) == clock.now + .seconds(10))
        clock.advance(by: .seconds(10))
        #expect(try go().ends.count == 2)
    }

    @Test func `A pause is forgotten once its answers allow more than is asked for`() throws {
        begin(for: .zero)
        for count in 1...63 {
            #expect("\(pauses)" == "pauses: 1", "\(count)")
            pauses.end(try go(), isGood: true, at: clock.now)
        }
        #expect("\(pauses)" == "pauses: 0" && !pauses.isActive)
    }

    @Test func `A pause is forgotten a minute after the last answer, and not while a request is on its way`() throws {
        begin(for: .zero)
        for wait in [Duration.seconds(60), .seconds(61)] {
            let turn = try go()
            #expect(!turn.ends.isEmpty)
            pauses.end(turn, isGood: false, at: clock.now)
            clock.advance(by: wait)
        }
        #expect(try go().ends.isEmpty && !pauses.isActive)

        begin(for: .zero)
        _ = try go()
        clock.advance(by: .seconds(61))
        // The answer is still awaited.
        _ = try queue()
    }

    private var watch: TimeLimitWatch { TimeLimitWatch(clock: clock) }

    private var scope: PacedScope {
        PacedScope(
            HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/"), RequestOptions(),
            by: .standard)
    }

    private func begin(for time: Duration, isOfOrigin: Bool = true) {
        let cause = PacingError.Cause(status: 503, asked: time, isRateLimit: false)
        let end = clock.now + time
        pauses.begin(from: end, to: end, for: isOfOrigin ? scope.ofOrigin : scope, because: cause)
    }

    private func step() -> PacingStep {
        pauses.step(for: scope, at: clock.now, before: clock.now + .seconds(60))
    }

    /// The turn of a request that is let through.
    private func go() throws -> PacingTurn {
        guard case .go(let turn) = step() else { throw UnexpectedStepError() }
        return turn
    }

    /// The wait of a request that is not let through.
    private func queue() throws -> LimitedWait<PacingTurn?> {
        guard case .queue(let wait, _) = step() else { throw UnexpectedStepError() }
        return wait
    }

    private struct UnexpectedStepError: Error {}

    private func instant(of step: PacingStep) -> ContinuousClock.Instant? {
        if case .sleep(let instant, _) = step { instant } else { nil }
    }
}
