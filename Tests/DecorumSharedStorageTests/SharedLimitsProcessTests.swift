#if os(macOS) || os(Linux)
import Decorum
import DecorumSharedStorage
import DecorumTestSupport
import DecorumTesting
import DecorumTraffic
import Foundation
import Synchronization
import Testing

extension ProcessTests {
    /// Processes that keep one rate together.
    @Suite(.timeLimit(.minutes(10))) struct SharedLimitsProcessTests {
        @Test(.enabled(if: EngineServer.hasRedis, "This machine has no redis-server."))
        func `Eight processes at a limit of 100 a second begin at most 110 in any, and use 90 %`() async throws {
            let seconds = Footprint.isSoak ? 60 : 4
            var (used, most) = (0, 0)
            // On a busy machine, processes pause: they leave a part unused, and note a begin later than it was allowed.
            for _ in 0..<3 where used < 90 * seconds || most > 110 { (used, most) = try await begins(in: seconds) }
            #expect(used >= 90 * seconds)
            #expect(most <= 110)
        }

        private func begins(in seconds: Int) async throws -> (used: Int, most: Int) {
            let server = try await EngineServer.redis()
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { [port = server.port] in
                        await #expect(processExitsWith: .success) { [port = port as Int, seconds = seconds as Int] in
                            ProcessTests.begin(limit: 2)
                            try await Self.sendRequests(for: .seconds(seconds), on: RedisClient(port: port))
                        }
                    }
                }
            }
            let text = try #require(await RedisClient(port: server.port)("GET", "begins").first ?? nil)
            let times = String(decoding: text, as: UTF8.self).split(separator: " ").compactMap { Double($0) }.sorted()
            let most = times.indices.map { first in times[first...].prefix { $0 < times[first] + 1 }.count }.max() ?? 0
            let used = times.prefix { $0 < times[0] + Double(seconds) }.count
            return (used, most)
        }

        /// Sends as many requests as the limit lets through, once all processes are there, and tells when they began.
        static func sendRequests(for time: Duration, on client: RedisClient) async throws {
            let begins = Mutex<[String]>([])
            let clock = SystemClock()
            // On a busy machine, a pause of a process is no failure of the engine.
            let limits = SharedLimits(
                on: RedisStorage { try await client.reply(to: $0) }, named: "test", machines: 8, deadline: .seconds(5))
            let connection = StubConnection { _ in
                // All processes have this clock.
                begins.withLock { $0.append("\(ProcessInfo.processInfo.systemUptime)") }
                return Response(status: .ok)
            }
            .limiting(LimitPolicy(Limits(rate: .init(100, per: .seconds(1)))), sharedBy: limits)
            _ = try await client("INCR", "ready")
            while try await client("GET", "ready") != [Data("8".utf8)] {
                try await clock.sleep(for: .milliseconds(5))
            }
            let end = clock.now + time
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 {
                    group.addTask {
                        while clock.now < end { _ = try await connection.send(.get("https://a.example/")) }
                    }
                }
                try await group.waitForAll()
            }
            _ = try await client("APPEND", "begins", begins.withLock { $0.joined(separator: " ") + " " })
        }
    }
}
#endif
