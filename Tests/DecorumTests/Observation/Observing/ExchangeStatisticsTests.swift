import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct ExchangeStatisticsTests {
    private func event(
        _ route: String?, _ status: HTTPResponse.Status? = .ok, _ outcome: CallReport.Outcome = .finished,
        scope: CallReport.Scope = .call, duration: Duration = .milliseconds(10), timeToHead: Duration? = nil,
        retries: Int = 0, source: ResponseMetadata.Source? = nil
    ) throws -> CallReport {
        var report = CallReport(
            scope, callID: 1, method: .get, routeName: route, statusCode: status?.code, outcome: outcome,
            duration: duration)
        (report.origin, report.source, report.retries) = (try Origin("https://a.example"), source, retries)
        (report.timeToHead, report.attemptCount, report.bytesSent, report.bytesReceived) = (timeToHead, 2, 2, 3)
        return report
    }

    @Test func `M81: Errors, cancellations and bytes are counted by route`() throws {
        let statistics = ExchangeStatistics()
        try statistics.ended(event("feed"))
        try statistics.ended(event("feed", .notFound))
        try statistics.ended(event("feed", .notModified))
        try statistics.ended(event("feed", nil, .failed(name: "timedOut")))
        try statistics.ended(event("feed", nil, .cancelled))
        try statistics.ended(event(nil))

        let rows = statistics.snapshot().rows

        #expect(rows.map(\.route) == ["feed", "https://a.example"])
        #expect(rows.map(\.count) == [5, 1])
        #expect(rows.map(\.errors) == [2, 0])
        #expect(rows.map(\.cancelled) == [1, 0])
        #expect(rows.map(\.attempts) == [10, 2])
        #expect(rows.map(\.bytesSent) == [10, 2])
        #expect(rows.map(\.bytesReceived) == [15, 3])
    }

    @Test func `A call that failed before anything was sent has no attempts`() async throws {
        let statistics = ExchangeStatistics()
        let connection = ClosureConnection { _ in
            throw PacingError(origin: nil, instant: .now, date: .distantFuture, wait: .seconds(9))
        }.observing(statistics)
        await #expect(throws: PacingError.self) { try await connection.send(.get("https://a.example/")) }
        let failing = StubConnection { _ in throw TransportError(.connectionLost, at: .head) }.observing(statistics)
        await #expect(throws: TransportError.self) { try await failing.send(.put("https://a.example/", body: "x")) }
        let rows = statistics.snapshot().rows
        #expect(Set(rows.map { "\($0.method) \($0.attempts)" }) == ["GET 0", "PUT 1"])
    }

    @Test func `Percentiles omit cancelled exchanges and end an abandoned one with its head`() throws {
        let statistics = ExchangeStatistics()
        try statistics.ended(event("feed", duration: .milliseconds(10)))
        try statistics.ended(event("feed", nil, .cancelled, duration: .seconds(9)))
        try statistics.ended(event("feed", .ok, .abandoned, duration: .seconds(9), timeToHead: .milliseconds(20)))

        let row = try #require(statistics.snapshot().rows.first)

        let p50 = try #require(row.p50)
        #expect(p50 >= .milliseconds(10) && p50 < .milliseconds(10.1))
        #expect(row.p99 == .milliseconds(20))

        let cancelled = ExchangeStatistics()
        try cancelled.ended(event("feed", nil, .cancelled))
        let empty = try #require(cancelled.snapshot().rows.first)
        #expect(empty.cancelled == 1 && empty.p50 == nil)
    }

    @Test func `Routes beyond the limit share a row`() throws {
        let statistics = ExchangeStatistics(routeLimit: 3)
        for route in 0..<1000 {
            try statistics.ended(event("route \(route)"))
            try statistics.ended(event("route \(route)", scope: .attempt))
        }
        let rows = statistics.snapshot().rows
        #expect(rows.count == 5)
        #expect(rows.map(\.count).reduce(0, +) == 2000)
        #expect(rows.first { $0.route == "(other)" }?.method == "*")
        for limit in [0, -1] {
            let single = ExchangeStatistics(routeLimit: limit)
            try single.ended(event("feed"))
            #expect(single.snapshot().rows.map(\.route) == ["(other)"])
        }
    }

    @Test func `Hits, revalidations and retries are counted by route`() throws {
        let statistics = ExchangeStatistics()
        try statistics.ended(event("feed", source: .cache))
        try statistics.ended(event("feed", source: .revalidated))
        try statistics.ended(event("feed", retries: 2, source: .network))
        try statistics.ended(event("feed", .notFound, source: .cache))
        try statistics.ended(event("feed", nil, .failed(name: "timedOut"), retries: 3))
        try statistics.ended(event("feed", scope: .attempt, source: .network))

        let rows = statistics.snapshot().rows

        #expect(rows.map(\.hits) == [2, 0])
        #expect(rows.map(\.revalidations) == [1, 0])
        #expect(rows.map(\.retries) == [5, 0])
        let lines = statistics.description.split(separator: "\n")
        #expect(lines[0].contains("hits  revalidated  retries"))
        #expect(lines[1].contains("   2            1        5"))
    }

    @Test func `A route is cut by bytes, between characters`() throws {
        let statistics = ExchangeStatistics()
        let marks = String(repeating: "\u{301}", count: 1000)
        for route in ["a" + marks, String(repeating: "ä", count: 1000), String(repeating: "a", count: 128)] {
            try statistics.ended(event(route))
        }
        let routes = statistics.snapshot().rows.map(\.route)
        #expect(routes.map(\.utf8.count).sorted() == [127, 128, 128])
        #expect(!routes.contains { $0.contains("\u{FFFD}") })
    }

    @Test func `Many tasks count at the same time`() async throws {
        let statistics = ExchangeStatistics()
        let event = try event("feed")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<500 { statistics.ended(event) } }
            }
        }
        #expect(statistics.snapshot().rows.first?.count == 4000)
        statistics.reset()
        #expect(statistics.snapshot().rows.isEmpty)
    }
}
