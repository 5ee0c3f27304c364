import Decorum
import DecorumTesting
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct HedgingStateTests {
    private let start = Duration.zero
    private let policy = HedgingPolicy(percentile: 0.5, largestShare: 0.05)

    /// A state after a number of answers of 10 ms, of which the last one came at the start.
    private func state(after answers: Int) -> HedgeState {
        var state = HedgeState()
        for _ in 0..<answers {
            _ = state.begin(at: start, by: policy)
            state.noteAnswer(after: .milliseconds(10), at: start, by: policy)
        }
        return state
    }

    @Test(arguments: [(0, nil), (19, nil), (20, 10.0), (100, 10)] as [(Int, Double?)])
    func `The wait is known after twenty answers`(answers: Int, milliseconds: Double?) {
        var state = state(after: answers)
        let wait = state.begin(at: start, by: policy).map { $0 / .milliseconds(1) }
        #expect((wait == nil) == (milliseconds == nil))
        if let wait, let milliseconds { #expect(abs(wait - milliseconds) < milliseconds * 0.07) }
    }

    @Test func `The wait is at least a millisecond`() {
        var state = HedgeState()
        for _ in 0..<30 { state.noteAnswer(after: .microseconds(20), at: start, by: policy) }
        #expect(state.begin(at: start, by: policy) == .milliseconds(1))
    }

    @Test(
        arguments: [
            (40, 0.01, nil, true, nil), (40, 0.01, 0.011, true, nil), (40, 0.01, 0.01, true, .deadline),
            (40, 0.999, nil, true, nil), (40, 1, nil, true, .noAnswers), (19, 0.01, nil, true, .share),
            (20, 0.01, nil, true, nil), (40, 0.01, nil, false, .budget), (0, 0.01, nil, true, .share),
            (40, 2, 0, false, .deadline),
        ] as [(Int, Double, Double?, Bool, HedgeRefusal?)])
    func `A second request needs time, answers, a share and a budget`(
        answers: Int, passed: Double, left: Double?, hasBudget: Bool, refusal: HedgeRefusal?
    ) {
        var state = state(after: answers)
        _ = state.begin(at: start, by: policy)
        let (now, left) = (start + .seconds(passed), left.map { Duration.seconds($0) })
        let found = state.refusal(after: .milliseconds(10), at: now, timeLeft: left) { hasBudget }
        #expect(found == refusal)
    }

    @Test(arguments: [(3.9, nil), (4, .noAnswers)] as [(Double, HedgeRefusal?)])
    func `A slow server has twice the wait to answer`(passed: Double, refusal: HedgeRefusal?) {
        var state = state(after: 40)
        _ = state.begin(at: start, by: policy)
        _ = state.begin(at: start + .seconds(passed), by: policy)
        #expect(state.refusal(after: .seconds(2), at: start + .seconds(passed), timeLeft: nil) { true } == refusal)
    }

    @Test func `At most ten second requests are saved up, and each one costs one`() {
        var state = state(after: 1000)
        let refusals = (0..<11).map { _ in state.refusal(after: .seconds(1), at: start, timeLeft: nil) { true } }
        #expect(refusals == [HedgeRefusal?](repeating: nil, count: 10) + [.share])
    }

    @Test(arguments: [-1, 0, -Double.infinity, .nan])
    func `A share of zero or below sends no second request`(share: Double) {
        var state = HedgeState()
        let policy = HedgingPolicy(largestShare: share)
        for _ in 0..<100 { state.noteAnswer(after: .milliseconds(10), at: start, by: policy) }
        #expect(state.refusal(after: .seconds(1), at: start, timeLeft: nil) { true } == .share)
    }

    @Test(arguments: [0.5, 0.9, 0.95, 0.99, 0, 1])
    func `A percentile is known to a few percent`(part: Double) throws {
        let generator = SeededGenerator(seed: 3)
        var latencies = LatencyPercentiles()
        var times: [Double] = []
        for _ in 0..<5000 {
            let time = 0.001 + 30 * generator.uniform() * generator.uniform()
            times.append(time)
            latencies.add(.seconds(time), at: start)
        }
        times.sort()
        let found = latencies.value(of: part, at: start)
        let value = try #require(found) / .seconds(1)
        let exact = times[min(Int(part * 5000), 4999)]
        #expect(abs(value - exact) <= exact * 0.07)
    }

    @Test(arguments: [(59.9, 20), (61, 0), (29, 20), (1e6, 0)])
    func `Answers count for two windows of half a minute`(seconds: Double, count: Int) {
        var latencies = LatencyPercentiles()
        for _ in 0..<20 { latencies.add(.milliseconds(5), at: start) }
        if seconds > 30 { _ = latencies.value(of: 0.5, at: start + .seconds(30)) }
        _ = latencies.value(of: 0.5, at: start + .seconds(seconds))
        #expect(latencies.count == count)
    }

    @Test(arguments: [Duration.zero - .seconds(1), .zero, .seconds(Int64.max)])
    func `A time out of range counts as the nearest one`(time: Duration) throws {
        var latencies = LatencyPercentiles()
        for _ in 0..<20 { latencies.add(time, at: start) }
        let found = latencies.value(of: 0.5, at: start)
        let value = try #require(found)
        #expect(time > .zero ? value > .seconds(120) : value < .microseconds(2))
    }

    @Test func `A second request takes a retry from the budget that retries use, and from no other`() async throws {
        let clock = VirtualClock()
        let (budget, request) = (RetryBudget(), try Request.get("https://a.example/"))
        for _ in 0..<3 { #expect(budget.takeHedge(for: request.head, at: clock.now, on: clock)) }

        let stub = StubConnection { _ in Response(status: .ok) }
        let retrying = stub.retrying(RetryPolicy(budget: budget), clock: clock)
        _ = try await retrying.send(request)
        #expect(budget.takeHedge(for: request.head, at: clock.now, on: clock))
        #expect(!budget.takeHedge(for: request.head, at: clock.now, on: clock))
        for _ in 0..<5 { _ = try await retrying.send(request) }
        #expect(budget.takeHedge(for: request.head, at: clock.now, on: clock))
        let other = try Request.get("https://b.example/")
        #expect(budget.takeHedge(for: other.head, at: clock.now, on: clock))
    }

    @Test(arguments: [(RetryBudget.unlimited, true), (.perCall(1), true), (.perCall(0), false), (.shared, true)])
    func `A budget without accounts says yes or no`(budget: RetryBudget, isAllowed: Bool) throws {
        let clock = VirtualClock()
        let request = try Request.get("https://a.example/")
        #expect(budget.takeHedge(for: request.head, at: clock.now, on: clock) == isAllowed)
        #expect(budget.sharedState(on: clock) == nil)
        #expect((RetryBudget.shared.sharedState(on: SystemClock()) == nil) == false)
    }
}
