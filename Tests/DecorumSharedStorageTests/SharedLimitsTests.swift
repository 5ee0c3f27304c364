import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import DecorumSharedStorage
@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct SharedLimitsTests {
    private static let rate = Limits.Rate(100, per: .seconds(1))
    private let clock = VirtualClock()
    private let spawner = TrackingSpawner()
    private let server = StubConnection { _ in Response(status: .ok) }

    private func machine(_ storage: any SharedStorage, deadlines: VirtualClock? = nil) -> some Connection {
        server.limiting(
            LimitPolicy(Limits(rate: Self.rate)),
            sharedBy: SharedLimits(on: storage, named: "api", machines: 10, clock: deadlines ?? clock),
            clock: clock, spawner: spawner)
    }

    /// Starts requests, which end in the course of the test.
    private func start(_ count: Int, _ connection: some Connection) -> [Task<Response, any Error>] {
        (0..<count).map { _ in Task { try await connection.send(.get("https://a.example/")) } }
    }

    /// Waits until a number of requests were sent, and some machines wait for the next window.
    private func reach(_ count: Int, waiting machines: Int) async throws {
        try await yield {
            let alarms = clock.pendingSleeps.filter { $0 != .milliseconds(50) && $0 < .seconds(1) }
            return server.requests.count >= count && alarms.count == machines
        }
        #expect(server.requests.count == count)
    }

    @Test func `Two machines begin a twentieth of the requests in each twentieth of the period together`() async throws
    {
        let storage = MemorySharedStorage(clock: clock)
        // The deadlines of a storage that answers at once are not waited for.
        let first = machine(storage, deadlines: VirtualClock())
        let second = machine(storage, deadlines: VirtualClock())
        let calls = start(12, first) + start(12, second)
        try await reach(5, waiting: 2)
        clock.advance(by: .milliseconds(52))
        try await reach(10, waiting: 2)
        for call in calls { call.cancel() }
    }

    @Test func `While the storage fails or hangs, a machine has its share, and then all of it again`() async throws {
        let storage = ProbingStorage(MemorySharedStorage(clock: clock))
        storage.set(.hangs)
        let connection = machine(storage)
        let calls = start(3, connection)
        // Nothing is sent before the deadline of a storage that hangs.
        try await yield { storage.calls == 1 && clock.pendingSleeps.first == .milliseconds(50) }
        #expect(server.requests.isEmpty)
        storage.set(.fails)
        clock.advance(by: .milliseconds(50))
        // The share is one request in each tenth of a second.
        try await reach(1, waiting: 1)
        clock.advance(by: .milliseconds(100))
        try await reach(2, waiting: 1)
        storage.set(nil)
        // The share of a machine would take two seconds for twenty requests.
        let (rest, end) = (start(20, connection), clock.now + .seconds(1.5))
        try await yield {
            if clock.now < end, clock.pendingSleeps.contains(where: { $0 < .milliseconds(70) }) {
                clock.advance(by: .milliseconds(10))
            }
            return server.requests.count == 23
        }
        for call in calls + rest { _ = try await call.value }
    }

    @Test func `The layer shows the machines, and stacks share limits of one storage alone`() throws {
        let (limiter, storage) = (RequestLimiter(), MemorySharedStorage())
        let limits = SharedLimits(on: storage, named: "api", machines: 8)
        let policy = LimitPolicy(Limits(rate: Self.rate), longestWait: .zero)
        let layer = try #require(server.limiting(policy, sharedBy: limits, in: limiter).layers.first)
        #expect(layer.settings.contains(.init("sharedBy", "8 machines")))
        #expect("\(server.limiting(policy, in: limiter).layers)".contains("sharedBy") == false)
    }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No request of the laws is refused."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base, conditions in
            let storage = MemorySharedStorage(clock: conditions.clock)
            let limits = SharedLimits(on: storage, named: "laws", machines: 2, clock: conditions.clock)
            return base.limiting(
                LimitPolicy(Limits(rate: .init(10_000, per: .seconds(1)))), sharedBy: limits, clock: conditions.clock)
        }
    }

    // A rate by its requests and its milliseconds, its windows and their requests.
    @Test(
        arguments: [
            (100, 1000, 20, 100), (1, 60_000, 1, 1), (39, 1000, 20, 39), (7, 60_000, 7, 7), (2, 100, 20, 20),
            (-1, 1000, 1, 0),
        ])
    func `The windows of a period have its requests together`(requests: Int, period: Int, count: Int, all: Int) {
        let rate = Limits.Rate(requests, per: .milliseconds(period))
        let start = Date(timeIntervalSince1970: 1_699_999_800)
        let length = RateWindow(of: rate, at: start).length
        #expect(abs(length * Double(count) - Double(max(period, 1000)) / 1000) < 1e-9)
        let windows = (0..<count).map { RateWindow(of: rate, at: start + (Double($0) + 0.5) * length) }
        #expect(windows.map(\.quota).reduce(0, +) == all)
        #expect(
            windows.allSatisfy { abs(Double($0.quota) - $0.mean) < 1 && abs($0.rest / .seconds(length) - 0.5) < 0.001 })
        #expect(windows.map { $0.number - windows[0].number } == (0..<count).map(Int64.init))
    }

    @Test(arguments: [Int.min, 1, .max], [Duration.zero, .nanoseconds(1), .seconds(1 << 40), .seconds(Int64.max)])
    func `No rate and no date is too large for a window`(requests: Int, period: Duration) {
        for date in [Date.distantPast, .now, .distantFuture, Date(timeIntervalSince1970: 1e300)] {
            let window = RateWindow(of: .init(requests, per: period), at: date)
            #expect(window.quota >= 0 && window.rest >= .zero && window.length >= 0.05)
        }
    }

    // A window of ten tokens, the answers of the storage after five were asked for, and the tokens then; nil for the share.
    @Test(
        arguments: [
            ([5], 5), ([10], 5), ([12], 3), ([15], 0), ([.max], 0), ([5, 10], 10), ([5, 5], 10), ([5, 5, 5], 10),
            ([4], nil), ([.min], nil), ([nil], nil), ([5, nil], nil), ([nil, 10], 5), ([nil, 10, nil], nil),
        ] as [([Int64?], Int?)])
    func `No answer of the storage gives a machine more than a window has`(sums: [Int64?], count: Int?) {
        let window = RateWindow(of: .init(200, per: .seconds(1)), at: Date(timeIntervalSince1970: 0))
        var tokens = SharedTokens(window)
        #expect(
            tokens.isUnknown(at: .zero) && tokens.isFree(at: .zero) == false && tokens.wait(for: 11, at: .zero) == 0.05)
        for sum in sums {
            tokens.ask(at: .zero)
            #expect(!tokens.isUnknown(at: .zero))
            tokens.note(sum, after: 5, of: window, until: .milliseconds(80), at: .zero)
        }
        #expect(tokens.isFree(at: .milliseconds(10)) == count.map { $0 > 0 })
        #expect((tokens.nextTrial(after: .zero) == .milliseconds(60)) == (count == nil))
        guard let count else { return }
        var left = count
        while tokens.isFree(at: .zero) == true, left > 0 { (_, left) = (tokens.take(), left - 1) }
        #expect(left == 0 && tokens.isFree(at: .zero) == false)
        #expect(tokens.isUnknown(at: .milliseconds(80)))
    }

    @Test func `A window that is used says how long to wait, and an answer that comes after its end is lost`() {
        let window = RateWindow(of: .init(200, per: .seconds(1)), at: Date(timeIntervalSince1970: 0))
        var tokens = SharedTokens(window)
        tokens.note(10, after: 10, of: window, until: .milliseconds(80), at: .milliseconds(80))
        #expect(tokens.isUnknown(at: .milliseconds(80)) && tokens.isFree(at: .milliseconds(80)) == false)
        tokens.note(20, after: 10, of: window, until: .milliseconds(80), at: .zero)
        let waits = [1, 10, 11, 25].compactMap { tokens.wait(for: $0, at: .milliseconds(30)) }
        // Where each answer takes longer than a window, no token would ever be there in time.
        tokens.ask(at: .zero)
        tokens.note(10, after: 10, of: window, until: .milliseconds(40), at: .milliseconds(60))
        #expect(tokens.isShare)
        #expect(zip(waits, [0.051, 0.051, 0.101, 0.151]).allSatisfy { abs($0 - $1) < 1e-6 } && waits.count == 4)
    }
}
