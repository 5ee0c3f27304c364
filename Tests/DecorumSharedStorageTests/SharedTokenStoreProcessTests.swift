#if Signing && (os(macOS) || os(Linux))
import Decorum
import DecorumAuthentication
import DecorumSharedStorage
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

extension ProcessTests {
    /// Four processes with one token in Redis, of which some are killed while the engine stands still at times.
    @Suite(.timeLimit(.minutes(60))) struct SharedTokenTests {
        @Test(.enabled(if: EngineServer.hasRedis, "This machine has no redis-server."))
        func `No token is used twice, and nobody is signed out, but by a kill before the write`() async throws {
            let (engine, origin) = (try await EngineServer.redis(), try LoopbackOrigin(keepingBodiesUpTo: 100))
            let server = RotationLog()
            defer { origin.stop() }
            origin.route(.post, "/token") { request in
                try await SystemClock().sleep(for: .milliseconds(server.generator.uniform() * 60))
                return .init(body: server.answer(to: request.text))
            }
            origin.route(.post, "/written") { .init(body: server.note(written: $0.text)) }
            let store = try Self.store(port: engine.port)
            #expect(try await store.replace(nil, with: RotatingTokens.token("1")))
            let (port, url) = (engine.port, origin.url)
            await withTaskGroup(of: Void.self) { group in
                for lane in 0..<4 {
                    group.addTask {
                        while !server.isOver {
                            let (name, life) = server.begin(lane)
                            await #expect(processExitsWith: .signal(SIGKILL)) {
                                [port = port as Int, url = url as String, name = name as String, life = life as Double]
                                in
                                ProcessTests.begin(limit: 10)
                                Self.closePipes()
                                Thread.detachNewThread {
                                    usleep(UInt32(life * 1e6))
                                    kill(getpid(), SIGKILL)
                                }
                                try await Self.refresh(as: name, port: port, url: url)
                            }
                            server.noteEnd(of: name)
                        }
                    }
                }
                group.addTask {
                    while !server.isOver {
                        try? await SystemClock().sleep(for: .seconds(1 + server.generator.uniform() * 5))
                        // Ended and started again, it would have lost the token, since it writes nothing to a disk.
                        engine.pause()
                        try? await SystemClock().sleep(for: .seconds(0.2 + server.generator.uniform() * 2))
                        engine.resume()
                    }
                }
            }
            #expect(server.state.reused == [], "seed \(server.seed)")
            #expect(server.state.newest >= RotationLog.goal && server.state.lost <= server.state.ended.count)
            #expect(try await store.token() != nil)
            if Footprint.isSoak { print(server.state.newest, server.state.ended.count, server.state.lost) }
        }

        static func store(port: Int) throws -> SharedTokenStore {
            let client = RedisClient(port: port)
            return try SharedTokenStore(
                on: RedisStorage { try await client.reply(to: $0) }, named: "a", sealedBy: .test, leaseTime: .seconds(8)
            )
        }

        /// Closes the pipe to the test library, which keeps a thread until then for each process that it has started.
        ///
        /// On a machine with few cores, no thread would be left for the server.
        static func closePipes() {
            let null = unsafe open("/dev/null", O_WRONLY)
            for descriptor in (3 as Int32)..<200 where descriptor != null {
                var status = stat()
                if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO { dup2(null, descriptor) }
            }
        }

        /// Refreshes until the end, at which the process kills itself, too.
        static func refresh(as name: String, port: Int, url: String) async throws {
            let connection = SystemConnection()
            @Sendable func answer(at path: String, to text: String) async throws -> String {
                try await connection.send(.post(url + path, body: Body(text))).body.text(upTo: 100)
            }
            let source = RotatingTokens { try await answer(at: "/token", to: "\(name) \($0)") }
            let store = ReportingStore(base: try store(port: port)) { _ = try await answer(at: "/written", to: $0) }
            let policy = RefreshPolicy(minimumInterval: .zero, timeLimit: .seconds(3))
            let tokens = Tokens(in: store, from: source, policy: policy)
            while try await answer(at: "/written", to: "").isEmpty {
                do { _ = try await tokens.token() } catch is TokenRefreshError {}
                // The others get their turns meanwhile.
                try await SystemClock().sleep(for: .milliseconds(SystemGenerator().uniform() * 100))
            }
            kill(getpid(), SIGKILL)
        }
    }
}

/// Tells the server which tokens were written.
private struct ReportingStore: TokenStore {
    let base: SharedTokenStore
    let report: @Sendable (String) async throws -> Void

    func token() async throws -> Token? { try await base.token() }
    func changes() -> AsyncStream<Token?> { base.changes() }

    func replace(_ expected: Token?, with token: Token?) async throws -> Bool {
        guard try await base.replace(expected, with: token) else { return false }
        try await report(token?.refreshToken ?? "")
        return true
    }

    func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result { try await base.exclusively(work) }
}
#endif
