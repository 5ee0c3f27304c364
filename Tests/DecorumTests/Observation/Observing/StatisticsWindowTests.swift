import Decorum
import DecorumTesting
import Testing

@Suite struct StatisticsWindowTests {
    private let clock = VirtualClock()

    private func record(_ route: String, in statistics: ExchangeStatistics, taking duration: Duration = .seconds(1)) {
        statistics.record(
            ExchangeEvent(scope: .call, callID: 1, method: .get, routeName: route, status: .ok, duration: duration))
    }

    private func counts(_ statistics: ExchangeStatistics) -> [Int] { statistics.snapshot().rows.map(\.count) }

    @Test func `Counts leave the last minute part by part`() {
        let statistics = ExchangeStatistics(over: .lastMinute, clock: clock)
        for _ in 0..<12 {
            record("feed", in: statistics)
            clock.advance(by: .seconds(5))
        }
        #expect(counts(statistics) == [11])
        clock.advance(by: .seconds(4))
        #expect(counts(statistics) == [11])
        clock.advance(by: .seconds(1))
        #expect(counts(statistics) == [10])
        clock.advance(by: .seconds(55))
        #expect(statistics.snapshot().rows.isEmpty)
    }

    @Test func `A window counts nothing of an exchange older than it, after any pause`() {
        for window in [ExchangeStatistics.Window.lastMinute, .lastHour, .init(.milliseconds(1), parts: 1)] {
            let statistics = ExchangeStatistics(over: window, clock: clock)
            record("feed", in: statistics)
            #expect(counts(statistics) == [1])
            clock.advance(by: window.duration * 7.5)
            #expect(statistics.snapshot().rows.isEmpty)
            record("feed", in: statistics)
            #expect(counts(statistics) == [1])
        }
    }

    @Test func `Percentiles cover all parts of the window, and only these`() throws {
        let statistics = ExchangeStatistics(over: .lastMinute, clock: clock)
        record("feed", in: statistics, taking: .seconds(100))
        clock.advance(by: .seconds(30))
        for _ in 0..<9 { record("feed", in: statistics, taking: .milliseconds(20)) }
        clock.advance(by: .seconds(25))
        for _ in 0..<90 { record("feed", in: statistics, taking: .milliseconds(10)) }

        let whole = try #require(statistics.snapshot().rows.first)
        #expect(whole.count == 100)
        #expect(try abs(#require(whole.p50) / .milliseconds(10) - 1) < 0.04)
        #expect(try abs(#require(whole.p99) / .milliseconds(20) - 1) < 0.04)
        clock.advance(by: .seconds(5))
        #expect(statistics.snapshot().rows.first?.count == 99)
    }

    @Test func `A route that is no longer used makes room for another`() {
        let statistics = ExchangeStatistics(routeLimit: 2, over: .lastMinute, clock: clock)
        for route in ["a", "b", "c"] { record(route, in: statistics) }
        #expect(statistics.snapshot().rows.map(\.route) == ["(other)", "a", "b"])

        clock.advance(by: .seconds(30))
        record("b", in: statistics)
        clock.advance(by: .seconds(40))
        record("d", in: statistics)
        #expect(statistics.snapshot().rows.map(\.route) == ["b", "d"])
    }

    @Test func `Thousands of routes in every part stay within the limit`() {
        let statistics = ExchangeStatistics(routeLimit: 10, over: .lastMinute, clock: clock)
        for part in 0..<30 {
            for route in 0..<2000 { record("\(part)/\(route)", in: statistics) }
            clock.advance(by: .seconds(5))
        }
        let rows = statistics.snapshot().rows
        #expect(rows.count <= 11)
        #expect(rows.map(\.count).reduce(0, +) == 11 * 2000)
    }

    @Test func `A window out of range is moved into it`() {
        #expect(ExchangeStatistics.Window(.zero, parts: 0) == .init(.milliseconds(1), parts: 1))
        #expect(ExchangeStatistics.Window(.seconds(1), parts: 1000).parts == 100)
    }
}
