import Decorum
import DecorumTesting
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct HedgingStateTests {
    private let policy = HedgingPolicy(percentile: 0.5, largestShare: 0.05)

    /// A state after a number of answers, of which the last one came at zero.
    private func state(after answers: Int, of time: Duration = .milliseconds(10)) -> HedgeState {
        var state = HedgeState()
        for _ in 0..<answers {
            _ = state.begin(at: .zero, by: policy)
            state.noteAnswer(after: time, at: .zero, by: policy)
        }
        return state
    }

    @Test(
        arguments: [
            (0, 10, 0, nil), (19, 10, 0, nil), (20, 10, 0, 10), (100, 10, 0, 10), (30, 0.02, 0, 1), (20, -1000, 0, 1),
            (20, 1e21, 0, 130_000), (20, 5, 29, 5), (20, 5, 59.9, 5), (20, 5, 61, nil), (20, 5, 1e6, nil),
        ] as [(Int, Double, Double, Double?)])
    func `The wait follows from twenty answers of the last half to whole minute, and is at least a millisecond`(
        answers: Int, time: Double, seconds: Double, wait: Double?
    ) {
        var state = state(after: answers, of: .milliseconds(time))
        var found: Duration?
        for time in [min(30, seconds), seconds] { found = state.begin(at: .seconds(time), by: policy) }
        #expect((found == nil) == (wait == nil))
        if let found, let wait { #expect(abs(found / .milliseconds(1) - wait) < wait * 0.07) }
    }

    @Test(
        arguments: [
            (40, 0.01, 0.01, nil, true, nil), (40, 0.01, 0.01, 0.011, true, nil),
            (40, 0.01, 0.01, 0.01, true, .deadline), (40, 0.01, 2, 0, false, .deadline),
            (40, 0.01, 0.999, nil, true, nil), (40, 0.01, 1, nil, true, .noAnswers),
            (40, 2, 3.9, nil, true, nil), (40, 2, 4, nil, true, .noAnswers),
            (19, 0.01, 0.01, nil, true, .share), (20, 0.01, 0.01, nil, true, nil), (0, 0.01, 0.01, nil, true, .share),
            (40, 0.01, 0.01, nil, false, .budget),
        ] as [(Int, Double, Double, Double?, Bool, HedgeRefusal?)])
    func `A second request needs time, answers, a share and a budget`(
        answers: Int, wait: Double, passed: Double, left: Double?, hasBudget: Bool, refusal: HedgeRefusal?
    ) {
        var state = state(after: answers)
        for time in [0, passed / 2] { _ = state.begin(at: .seconds(time), by: policy) }
        let left = left.map { Duration.seconds($0) }
        let found = state.refusal(after: .seconds(wait), at: .seconds(passed), timeLeft: left) { hasBudget }
        #expect(found == refusal)
    }

    @Test(arguments: [(0.05, 10), (1, 10), (-1, 0), (0, 0), (-Double.infinity, 0), (.nan, 0)])
    func `At most ten second requests are saved up, and a share of zero or below sends none`(
        share: Double, count: Int
    ) {
        var state = HedgeState()
        let policy = HedgingPolicy(largestShare: share)
        for _ in 0..<1000 { state.noteAnswer(after: .milliseconds(10), at: .zero, by: policy) }
        let refusals = (0...count).map { _ in state.refusal(after: .seconds(1), at: .zero, timeLeft: nil) { true } }
        #expect(refusals == [HedgeRefusal?](repeating: nil, count: count) + [.share])
    }

    @Test(arguments: [0.5, 0.9, 0.95, 0.99, 0, 1])
    func `A percentile is known to a few percent`(part: Double) throws {
        let generator = SeededGenerator(seed: 3)
        let times = (0..<5000).map { _ in 0.001 + 30 * generator.uniform() * generator.uniform() }
        var latencies = LatencyPercentiles()
        for time in times { latencies.add(.seconds(time), at: .zero) }
        let found = latencies.value(of: part, at: .zero)
        let exact = times.sorted()[min(Int(part * 5000), 4999)]
        #expect(abs(try #require(found) / .seconds(1) - exact) <= exact * 0.07)
    }

    @Test func `A second request takes a retry from the budget of its origin, and from no other`() throws {
        let (clock, budget) = (VirtualClock(), RetryBudget())
        func takes(_ budget: RetryBudget, _ url: String = "https://a.example/") throws -> Bool {
            budget.takeHedge(for: try Request.get(url).head, at: clock.now, on: clock)
        }
        #expect(try (0..<4).map { _ in try takes(budget) } == [true, true, true, false])
        #expect(try takes(budget, "https://b.example/"))
        #expect(try takes(.unlimited) && takes(.perCall(1)) && takes(.shared) && !takes(.perCall(0)))
    }
}
