import Decorum
import DecorumTelemetry
import DecorumTesting
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(2))) struct RecentReportsTests {
    private func report(_ number: Int) -> CallReport { CallReport(callID: UInt64(number)) }

    @Test(
        arguments: [
            (3, 0, []), (3, 2, [1, 2]), (3, 3, [1, 2, 3]), (3, 4, [2, 3, 4]), (3, 8, [6, 7, 8]), (0, 3, [3]),
            (-5, 3, [3]),
        ] as [(Int, Int, [UInt64])])
    func `The last reports are kept in their order, at least one`(limit: Int, count: Int, kept: [UInt64]) {
        let recent = RecentReports(limit: limit)
        for number in 0..<count { recent.ended(report(number + 1)) }
        #expect(recent.reports.map(\.callID) == kept)
    }

    @Test func `A removal leaves nothing, and later reports are kept`() {
        let recent = RecentReports(limit: 2)
        for number in 1...3 { recent.ended(report(number)) }
        recent.removeAll()
        #expect(recent.reports.isEmpty)
        for number in 4...6 { recent.ended(report(number)) }
        #expect(recent.reports.map(\.callID) == [5, 6])
    }

    @Test func `Ten thousand calls at once lose no report`() async throws {
        let recent = RecentReports(limit: 10_000)
        let connection = StubConnection { _ in Response(status: .ok, body: "page") }.observing(recent)
        try await withThrowingTaskGroup { group in
            for number in 0..<10_000 {
                group.addTask {
                    _ = try await connection.send(.get("https://a.example/\(number)")).body.data(upTo: 10)
                }
            }
            try await group.waitForAll()
        }
        let reports = recent.reports
        #expect(Set(reports.map(\.url)).count == 10_000)
        #expect(Set(reports.map(\.callID)).count == 10_000)
        #expect(reports.allSatisfy { $0.statusCode == 200 && $0.bytesReceived == 4 })
    }

    @Test func `At both places, the reports of attempts give their times to the row of their call`() async throws {
        let recent = RecentReports()
        let clock = VirtualClock()
        let connection = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok)).observing(
            recent, as: .attempt, clock: clock
        ).retrying(clock: clock).observing(recent, clock: clock)
        async let response = connection.send(.get("https://a.example/"))
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(100))
        _ = try await response.body.data(upTo: 1)

        let reports = recent.reports
        #expect(reports.map(\.scope) == [.attempt, .attempt, .call])
        let text = Waterfall(reports).text(width: 80).split(separator: "\n")
        #expect(text.count == 5 && text[0].hasPrefix("1 call, 0 errors"))
        #expect(text[1].hasPrefix("GET https://a.example/") && text[1].contains(" 200 "))
        #expect(text[2].hasPrefix("  1 first: 503") && text[3].hasPrefix("  2 retry after "))
    }
}
