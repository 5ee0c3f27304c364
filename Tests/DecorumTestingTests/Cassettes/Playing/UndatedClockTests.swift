import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A clock that skips waits has no date of its own, and dates no recording.
@Suite struct UndatedClockTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func record(clock: some DatedClock) async throws -> Interaction {
        let cassette = try Cassette(at: folder.path("a.json"), mode: .rewrite, clock: clock)
        let stub = StubConnection(Response(status: .ok, body: "a"))
        _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/"))
        try await cassette.finish()
        return try #require(try Cassette(at: folder.path("a.json"), mode: .replay).interactions().first)
    }

    @Test func `A recording has the date of the day, whatever the clock skips`() async throws {
        let before = SystemClock().date.addingTimeInterval(-86_400)
        let clock = ImpatientClock()
        try await clock.sleep(for: .seconds(400 * 86_400))
        let date = try #require(try await record(clock: clock).recordedAt)
        #expect(date >= before && date <= SystemClock().date)
    }

    @Test func `A clock with a date dates recordings`() async throws {
        let date = Date(timeIntervalSince1970: 86_400 * 20_000)
        #expect(try await record(clock: ImpatientClock(date: date)).recordedAt == date)
        #expect(try await record(clock: VirtualClock(date: date)).recordedAt == date)
    }

    @Test func `A recording that is too old by the day is recorded anew with a clock without a date`() async throws {
        try folder.write(
            #"{"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/"},"#
                + #" "response": {"status": 200}, "at": "2020-01-01"}]}"#, to: "a.json")
        var rules = CassetteRules()
        rules.expiry = .init(after: .seconds(86_400), .recordAnew)
        let cassette = try Cassette(at: folder.path("a.json"), mode: .once, rules: rules, clock: ImpatientClock())
        #expect(cassette.mode == .rewrite)
    }
}
