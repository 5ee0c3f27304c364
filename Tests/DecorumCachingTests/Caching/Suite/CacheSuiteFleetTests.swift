#if os(macOS) || os(Linux)
import Decorum
import DecorumSharedStorage
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

extension ProcessTests {
    /// The cases through two caches in turn, of which the other one is in a process of its own, over one Redis.
    @Suite(.timeLimit(.minutes(10)), .enabled(if: EngineServer.hasRedis, "redis-server is not installed"))
    struct CacheSuiteFleetTests {
        @Test(arguments: CacheCaseFile.present)
        func `Two processes that share a Redis pass as many cases as one`(of file: CacheCaseFile) async throws {
            let engine = try await EngineServer.redis()
            let cases = try file.cases().enumerated().filter { Footprint.isSoak || $0.offset % 16 == 0 }.map(\.element)
            let (redis, clock, spawner) = (RedisClient(port: engine.port), VirtualClock(), TrackingSpawner())
            let present = Mutex<CacheCaseOrigin?>(nil)
            let origin = ClosureConnection { request in
                request.reportSending()
                return try await #require(present.withLock(\.self)).answer(request)
            }
            let cache = RemoteConnection(redis: redis, clock: clock, list: "cache")
            let server = RemoteConnection(redis: redis, clock: clock, list: "origin")
            let here = origin.caching(in: Self.store(redis), clock: clock, spawner: spawner)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(processExitsWith: .success) { [port = engine.port as Int] in
                        ProcessTests.begin(limit: 10)
                        try await Self.serve(RedisClient(port: port))
                    }
                }
                group.addTask { try await server.serve(origin) }
                var passed: [Set<String>] = []
                for connections in [[here], [here, cache]] as [[any Connection]] {
                    let turn = Atomic(0)
                    passed.append([])
                    let inTurn = ClosureConnection { request in
                        let number = turn.add(1, ordering: .relaxed).newValue
                        return try await connections[number % connections.count].send(request)
                    }
                    for test in cases {
                        let run = CacheCaseRun(test: test, clock: clock, spawner: spawner) { clock.advance(by: $0) }
                        let origin = run.origin
                        present.withLock { $0 = origin }
                        let verdict = try await run.verdict(through: inTurn, from: origin)
                        if verdict == .passed { passed[passed.count - 1].insert(test.id) }
                    }
                }
                let failed = Set(cases.filter { $0.kind != .check }.map(\.id)).subtracting(passed[1])
                #expect(passed[0] == passed[1])
                #expect(failed == Self.exceptions.intersection(cases.map(\.id)))
                for remote in [cache, server] { try await remote.push(.init(), to: remote.list) }
                try await group.waitForAll()
            }
            withExtendedLifetime(engine) {}
        }

        /// Their responses or requests hold secrets, except for the response to a POST.
        private static let exceptions: Set = [
            "store-authorization", "store-set-cookie", "method-query-again", "fields-kept", "method-POST",
            "headers-store-Set-Cookie2", "other-set-cookie",
        ]

        /// A store whose clock stands still, so that no call is too slow on a busy machine.
        private static func store(_ redis: RedisClient) -> SharedResponseStore {
            SharedResponseStore(on: RedisStorage { try await redis.reply(to: $0) }, clock: VirtualClock())
        }

        /// Serves the cache of the other process.
        static func serve(_ redis: RedisClient) async throws {
            let (clock, spawner) = (VirtualClock(), TrackingSpawner())
            let cache = RemoteConnection(redis: redis, clock: clock, list: "origin")
                .caching(in: store(redis), clock: clock, spawner: spawner)
            try await RemoteConnection(redis: redis, clock: clock, list: "cache").serve(cache, spawner)
        }
    }
}

/// A connection in another process, which takes requests from a list of Redis; both processes have one time.
private struct RemoteConnection: Connection {
    /// A request, or the answer to it; neither ends the serving.
    struct Message: Codable {
        var request: HTTPRequest?
        var response: HTTPResponse?
        var body = Data()
        var date = Date.distantPast
        var reply = "\(UUID())"
    }

    let redis: RedisClient
    let clock: VirtualClock
    let list: String

    func send(_ request: Request) async throws -> Response {
        request.reportSending()
        let body = try await request.body.data(upTo: 1 << 20)
        let message = Message(request: request.head, body: body, date: clock.date)
        try await push(message, to: list)
        let answer = try await next(in: message.reply)
        guard let head = answer.response else { throw TransportError(.connectionLost, at: .head) }
        return Response(head: head, body: Body(answer.body))
    }

    /// Answers requests until the end.
    func serve(_ connection: some Connection, _ spawner: TrackingSpawner = TrackingSpawner()) async throws {
        while true {
            let message = try await next(in: list)
            guard let head = message.request else { return }
            let response = try? await connection.send(Request(head: head, body: Body(message.body)))
            var answer = Message(response: response?.head, body: try await response?.body.data(upTo: 1 << 20) ?? Data())
            try await spawner.finished()
            answer.date = clock.date
            try await push(answer, to: message.reply)
        }
    }

    func push(_ message: Message, to list: String) async throws {
        _ = try await redis("RPUSH", list, String(decoding: try JSONEncoder().encode(message), as: UTF8.self))
    }

    private func next(in list: String) async throws -> Message {
        for _ in 0..<120 {
            try Task.checkCancellation()
            guard let content = try await redis("BLPOP", list, "1").last ?? nil else { continue }
            let message = try JSONDecoder().decode(Message.self, from: content)
            clock.advance(by: .seconds(message.date.timeIntervalSince(clock.date)))
            return message
        }
        throw TransportError(.connectionLost, at: .head)
    }
}
#endif
