import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Durations and counts of any size, in each type and function that takes one: none ends the process.
@Suite(.timeLimit(.minutes(3))) struct LongDurationTests {
    private static let durations: [Duration] = [
        Duration(attoseconds: .max), .seconds(Int64.max), .seconds(1 << 31), .zero, .seconds(-1), .seconds(Int64.min),
        Duration(attoseconds: .min),
    ]
    private static let counts = [Int.max, 1, 0, -1, .min]

    @Test(arguments: durations) func `A stack is described, bounded and used with any duration`(duration: Duration)
        async throws
    {
        let times = TimePolicy(call: duration, body: duration, idle: .seconds(1))
        let retries = RetryPolicy(
            retries: 1, baseDelay: duration, factor: .infinity, maximumDelay: duration, maximumRetryAfter: duration,
            budget: .unlimited)
        let pacing = PacingPolicy(longestWait: duration, longestPause: duration)
        var caching = CachingPolicy()
        (caching.heuristicLimit, caching.staleIfError, caching.staleIfSlow) = (duration, duration, duration)
        caching.staleIfUnreachable = duration
        let clock = ImpatientClock()
        let connection = StubConnection(
            Response(status: .serviceUnavailable), Response(status: .badGateway, fields: [.retryAfter: "1"]),
            Response(status: .serviceUnavailable, fields: [.retryAfter: "9"]),
            Response(
                status: .movedPermanently, fields: [.location: "https://a.example/b", .cacheControl: "max-age=9"]),
            Response(status: .ok, fields: [.lastModified: "Tue, 14 Nov 2023 21:13:20 GMT"], body: "x")
        )
        .limitingTime(AttemptTimePolicy(duration, idle: .seconds(1)), as: .attempt, clock: clock)
        .pacing(pacing, clock: clock)
        .retrying(retries, clock: clock)
        .coalescing(clock: clock)
        .caching(in: MemoryResponseStore(), policy: caching, clock: clock)
        .followingRedirects(remembering: PermanentRedirections(lifetime: duration), clock: clock)
        .limitingTime(times, clock: clock)
        .observing(ExchangeStatistics(), clock: clock)

        for _ in 0..<6 {
            var request = try Request.get("https://a.example/")
            request.options.staleIfUnreachable = duration
            _ = await Result { try await connection.send(request).body.data(upTo: 9) }
        }

        #expect(!"\(connection.findings)".isEmpty)
        #expect(!"\(connection.bounds)".isEmpty)
        #expect(!"\(connection.layers)".isEmpty)
    }

    @Test(arguments: durations) func `A value with any duration has a text`(duration: Duration) async throws {
        let cause = PacingError.Cause(
            status: 503, asked: duration, isRateLimit: false)
        let error = PacingError(
            origin: nil, instant: .now, date: .distantFuture, wait: duration, routeName: nil, cause: cause)
        #expect(error.description.hasPrefix("The request to the server was not sent"))

        var lateness = TransportError(idleFor: duration, at: .head)
        lateness.elapsed = duration
        #expect(!lateness.description.isEmpty)
        var status = CacheStatus(cache: "a")
        status.timeToLive = duration
        #expect(status.description.hasPrefix("a"))
        #expect(TransferTimings(total: duration).total ?? .zero >= .zero)
        let statistics = ExchangeStatistics()
        var report = CallReport(method: .get, statusCode: 200, duration: duration)
        (report.timeToHead, report.timings) = (duration, TransferTimings(total: duration))
        statistics.ended(report)
        #expect(!statistics.description.isEmpty && !report.explain().isEmpty)
        let coded = try JSONEncoder().encode(report)
        #expect(throws: Never.self) { try JSONDecoder().decode(CallReport.self, from: coded) }
    }

    @Test(arguments: durations) func `A clock sleeps for any duration`(duration: Duration) async throws {
        let far = ContinuousClock.now + min(duration, .seconds(Int64.max))
        let clock = VirtualClock()
        let sleeper = Task { try await clock.sleep(until: far, tolerance: nil) }
        clock.advance(by: duration)
        clock.advance(by: duration)
        sleeper.cancel()
        _ = await sleeper.result
        if duration < .seconds(1) { _ = try? await clock.waitForSleepers(1, within: duration) }

        let waiting = Task {
            try await SystemClock().sleep(until: far, tolerance: nil)
        }
        waiting.cancel()
        _ = await waiting.result
        let recorded = CassetteRules.Remainder(bytes: 1, time: duration)
        #expect(recorded.time == duration)
    }

    @Test(arguments: durations) func `A transport takes any idle timeout`(duration: Duration) async throws {
        let origin = try LoopbackOrigin()
        let transports: [any Connection] = [
            SystemConnection(idleTimeout: duration), URLSessionConnection(idleTimeout: duration),
        ]
        for connection in transports {
            origin.enqueue("ab")
            let answer = await Result { try await connection.send(.get(origin.url)).body.data(upTo: 9) }
            #expect((try? answer.get()) == (duration > .zero ? Data("ab".utf8) : nil))
        }
    }

    @Test(arguments: counts) func `A stack takes any count`(count: Int) async throws {
        let clock = ImpatientClock()
        let connection = StubConnection(
            Response(status: .serviceUnavailable), Response(status: .found, fields: [.location: "/b"]),
            Response(status: .ok, fields: [.cacheControl: "max-age=9"], body: "xyz")
        )
        .decompressing(.init(limits: .init(maximumRatio: count, maximumLength: Int64(count), maximumCodings: count)))
        .retrying(RetryPolicy(retries: count, budget: .perCall(count)), clock: clock)
        .coalescing(clock: clock)
        .caching(in: MemoryResponseStore(byteLimit: count, countLimit: count), clock: clock)
        .followingRedirects(upTo: count, remembering: PermanentRedirections(limit: count), clock: clock)
        .logging(to: LogSink { _ in }, detail: .bodies(upTo: count), clock: clock)
        .observing(ExchangeStatistics(routeLimit: count), clock: clock)
        for _ in 0..<3 {
            _ = await Result { try await connection.send(.get("https://a.example/")).body.data(upTo: count) }
        }
        #expect(!"\(connection.bounds)".isEmpty && !"\(connection.findings)".isEmpty)

        let statistics = ExchangeStatistics()
        for _ in 0..<2 {
            var report = CallReport(method: .get, duration: .zero)
            (report.bytesSent, report.bytesReceived) = (Int64(count), Int64(count))
            (report.attemptCount, report.retries) = (count, count)
            statistics.ended(report)
        }
        #expect(!statistics.description.isEmpty)
        #expect(!URLSessionConnection.Backlog(memory: count, disk: Int64(count)).description.isEmpty)
        #expect(StrictTransportField(maximumAge: count).maximumAge >= 0)
    }
}

extension Result where Failure == any Error {
    /// The outcome of work, which may fail.
    fileprivate init(_ work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
