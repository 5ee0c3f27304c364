import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct RecordedTimingTests {
    let folder = TemporaryFolder()
    let clock = VirtualClock()

    static let events =
        #"{"request": {"method": "GET", "url": "https://example.com/events"}, "response": {"status": 200, "headers": {"Content-Type": "text/event-stream"}, "text": ["data: 1", "", "data: 2", "", "data: 3", "", ""], "chunks": [[0, 9], [60000, 9], [3600000, 9]]}}"#

    func response(
        _ timing: CassetteRules.Timing, _ prepare: (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Response {
        try folder.write(#"{"cassette": 1, "interactions": [\#(Self.events)]}"#, to: "events.json")
        let cassette = try Cassette(
            at: folder.path("events.json"), mode: .replay, rules: CassetteRules(timing: timing), clock: clock)
        var request = try Request.get("https://example.com/events")
        prepare(&request.options)
        return try await CassetteConnection(cassette).send(request)
    }

    @Test(arguments: [
        (CassetteRules.Timing.recorded, [Duration.seconds(60), .seconds(3600)]),
        (.scaled(0.1), [.seconds(6), .seconds(360)]), (.scaled(2), [.seconds(120), .seconds(7200)]),
    ])
    func `An hour of events takes no time`(timing: CassetteRules.Timing, pauses: [Duration]) async throws {
        let start = clock.now
        var reader = try await response(timing).body.open()
        #expect(try await reader.next() == Data("data: 1\n\n".utf8))
        for (index, pause) in pauses.enumerated() {
            let clock = clock
            async let advanced: Void = {
                try await clock.waitForSleepers()
                #expect(clock.pendingSleeps == [pause])
                clock.advance(by: pause)
            }()
            #expect(try await reader.next() == Data("data: \(index + 2)\n\n".utf8))
            try await advanced
        }
        #expect(try await reader.next() == nil)
        #expect(start.duration(to: clock.now) == pauses.reduce(.zero, +))
    }

    @Test(arguments: [
        CassetteRules.Timing.immediate, .scaled(0), .scaled(-1), .scaled(.nan),
    ])
    func `Without a factor nothing waits, and chunks stay apart`(timing: CassetteRules.Timing) async throws {
        var reader = try await response(timing).body.open()
        var chunks = 0
        while try await reader.next() != nil { chunks += 1 }
        #expect(chunks == 3)
        #expect(clock.pendingSleeps == [])
    }

    @Test func `A body that is replayed with its pauses ends at its deadline, as over a network`() async throws {
        let deadline = clock.now + .seconds(70)
        let response = try await response(.recorded) { options in
            // The deadline of a head does not bound the body.
            options.deadline = deadline - .seconds(69)
            options.bodyDeadline = deadline
            options.routeName = "events"
        }
        let task = Task { try await response.body.text(upTo: 100) }
        for pause in [60, 10] {
            try await clock.waitForSleepers()
            #expect(clock.pendingSleeps == [.seconds(pause)])
            clock.advance(by: .seconds(pause))
        }
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.code == .deadlineExceeded && error?.stage == .body)
        #expect(error?.origin == (try Origin("https://example.com")) && error?.routeName == "events")
        #expect(clock.now == deadline)
    }

    @Test func `A pause that is longer than the request's idle timeout ends the body`() async throws {
        let response = try await response(.recorded) { $0.idleTimeout = .seconds(61) }
        let task = Task { try await response.body.text(upTo: 100) }
        for pause in [60, 61] {
            try await clock.waitForSleepers()
            #expect(clock.pendingSleeps == [.seconds(pause)])
            clock.advance(by: .seconds(pause))
        }
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.code == .timedOut && error?.idleTimeout == .seconds(61))
    }

    @Test func `A recorded cancellation waits no longer than the deadline of an attempt, and each caller its own`()
        async throws
    {
        let entry =
            #"{"request": {"method": "GET", "url": "https://example.com/slow"}, "error": {"kind": "cancelled", "after": "head"}}"#
        let entries = [String](repeating: entry, count: 3).joined(separator: ", ")
        try folder.write(#"{"cassette": 1, "interactions": [\#(entries)]}"#, to: "slow.json")
        let cassette = try Cassette(at: folder.path("slow.json"), mode: .replay, clock: clock)
        func call(within seconds: Int?) -> Task<Response, any Error> {
            Task { [clock] in
                var request = try Request.get("https://example.com/slow")
                request.options.attemptTimePolicy = seconds.map { AttemptTimePolicy(.seconds($0)) }
                let times = AttemptTimePolicy(nil)
                return try await CassetteConnection(cassette).limitingTime(times, as: .attempt, clock: clock)
                    .send(request)
            }
        }
        let calls = [call(within: 5), call(within: 7), call(within: nil)]
        try await clock.waitForSleepers(2)
        calls[0].cancel()
        await #expect(throws: CancellationError.self) { try await calls[0].value }
        clock.advance(by: .seconds(7))
        let error = await #expect(throws: TransportError.self) { try await calls[1].value }
        #expect(error?.code == .deadlineExceeded && error?.stage == .head)
        calls[2].cancel()
        await #expect(throws: CancellationError.self) { try await calls[2].value }
    }

    @Test func `Cancellation ends the wait between chunks`() async throws {
        let response = try await response(.recorded)
        let task = Task { try await response.body.text(upTo: 100) }
        try await clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.pendingSleeps == [])
    }

    @Test func `The cassette's date drives the clock of a client, for which a date of then is to come`() async throws {
        let date = #""Date": "Fri, 20 Nov 2026 10:00:00 GMT", "Retry-After": "Fri, 20 Nov 2026 10:00:20 GMT""#
        let busy =
            #"{"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 503, "headers": {\#(date)}}}"#
        let ready =
            #"{"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 200, "text": "news"}}"#
        try folder.write(#"{"cassette": 1, "interactions": [\#(busy), \#(ready)]}"#, to: "feed.json")
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay, clock: clock)
        let recordedAt = try #require(cassette.recordedAt)
        #expect(recordedAt == Date(timeIntervalSince1970: 1_795_168_800))

        let then = VirtualClock(date: recordedAt)
        async let response = CassetteConnection(cassette).retrying(clock: then).send(.get("https://example.com/a"))
        try await then.waitForSleepers()
        let wait = try #require(then.pendingSleeps.first)
        #expect(wait >= .seconds(20) && wait <= .seconds(30))
        then.advance(by: wait)
        #expect(try await response.body.text(upTo: 100) == "news")
        try await cassette.finish()
    }

    @Test func `Without a Date field, the day of the recording counts`() throws {
        let entry =
            #"{"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 200}, "at": "2026-11-20"}"#
        try folder.write(#"{"cassette": 1, "interactions": [\#(entry)]}"#, to: "feed.json")
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay)
        #expect(cassette.recordedAt == Date(timeIntervalSince1970: 1_795_132_800))
    }
}

/// A clock that skips waits has no date of its own, and dates no recording.
@Suite struct UndatedClockTests {
    let folder = TemporaryFolder()

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

/// A server needs its time while a cassette is recorded, also where the clock of the test skips waits.
@Suite struct MachineTimeTests {
    @Test(arguments: [CassetteMode.once, .rewrite, .live])
    func `A server has the whole time of a request, although the clock of the test stands still`(mode: CassetteMode)
        async throws
    {
        let folder = TemporaryFolder()
        let clock = ImpatientClock()
        let start = ContinuousClock.now
        let stub = StubConnection(Response(status: .ok))
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode)
        let connection = CassetteConnection(cassette, recording: stub)
            .limitingTime(TimePolicy(call: .seconds(30)), clock: clock)
        _ = try await connection.send(.get("https://example.com/"))
        let deadline = try #require(stub.requests.first?.options.deadline)
        #expect(deadline >= start + .seconds(30))
    }
}
