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
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "tokens-\(UInt64.random(in: 0 ... .max))")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer {
                origin.stop()
                try? FileManager.default.removeItem(at: folder)
            }
            let server = RotationLog(folder: folder)
            origin.route(.post, "/token") { request in
                try await SystemClock().sleep(for: .milliseconds(server.generator.uniform() * 60))
                return .init(body: server.answer(to: request.text))
            }
            let store = try Self.store(port: engine.port)
            #expect(try await store.replace(nil, with: Self.token("1")))
            let (port, url, path) = (engine.port, origin.url, folder.path)
            await withTaskGroup(of: Void.self) { group in
                for lane in 0..<4 {
                    group.addTask {
                        while !server.isOver {
                            let (name, life) = server.begin(lane)
                            await #expect(processExitsWith: .signal(SIGKILL)) {
                                [
                                    port = port as Int, url = url as String, path = path as String,
                                    name = name as String, life = life as Double
                                ] in
                                ProcessTests.begin(limit: 10)
                                Self.closePipes()
                                Thread.detachNewThread {
                                    usleep(UInt32(life * 1e6))
                                    kill(getpid(), SIGKILL)
                                }
                                try await Self.refresh(as: name, port: port, url: url, path: path)
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

        static func token(_ number: String) throws -> Token {
            try Token("access-\(number)", expiry: Date(timeIntervalSince1970: 0), refreshToken: number)
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
        static func refresh(as name: String, port: Int, url: String, path: String) async throws {
            let source = RemoteRotation(url: url + "/token", name: name)
            let store = ReportingStore(base: try store(port: port), path: path + "/" + name)
            let policy = RefreshPolicy(minimumInterval: .zero, timeLimit: .seconds(3))
            let tokens = Tokens(in: store, from: source, policy: policy)
            while !FileManager.default.fileExists(atPath: path + "/end") {
                do { _ = try await tokens.token() } catch is TokenRefreshError {}
                // The others get their turns meanwhile.
                try await SystemClock().sleep(for: .milliseconds(SystemGenerator().uniform() * 100))
            }
            kill(getpid(), SIGKILL)
        }
    }
}

/// The log of an authorization server that rotates refresh tokens, which are numbers.
private final class RotationLog: Sendable {
    struct State {
        var newest = 1
        /// The last token that was used, and the process that has got the answer.
        var last = (used: "", name: "")
        var reused: [String] = []
        var lost = 0
        var ended: Set<String> = []
        var begun = 0
    }

    static let goal = Footprint.isSoak ? 1000 : 40
    let seed = UInt64.random(in: 0...999)
    let generator: SeededGenerator
    private let folder: URL
    private let log = Mutex(State())

    init(folder: URL) { (self.folder, generator) = (folder, SeededGenerator(seed: seed)) }

    var state: State { log.withLock { $0 } }
    var isOver: Bool { state.newest >= Self.goal || !state.reused.isEmpty }

    /// The name and the life of the next process; in the short form, two are killed early.
    func begin(_ lane: Int) -> (String, Double) {
        let number = log.withLock { log in
            log.begun += 1
            return log.begun
        }
        let life = Footprint.isSoak ? 1 + generator.uniform() * 20 : number <= 2 ? 0.5 + generator.uniform() : 300
        return ("\(lane)-\(number)", life)
    }

    func noteEnd(of name: String) { log.withLock { _ = $0.ended.insert(name) } }

    /// Answers "name token" with the next token, or with nothing.
    func answer(to text: String) -> String {
        let (name, used) = (String(text.prefix { $0 != " " }), String(text.drop { $0 != " " }.dropFirst()))
        return log.withLock { log in
            if used != "\(log.newest)" {
                // Its process was killed after the answer and before it had written the new token.
                let written = try? String(contentsOf: folder.appending(path: log.last.name), encoding: .utf8)
                let isLost = used == log.last.used && log.ended.contains(log.last.name)
                guard isLost, written?.split(separator: "\n").contains("\(log.newest)") != true else {
                    log.reused.append("\(text) after \(log.last) gave \(log.newest)")
                    return ""
                }
                log.lost += 1
            }
            log.last = (used, name)
            log.newest += 1
            if log.newest >= Self.goal { try? Data().write(to: folder.appending(path: "end")) }
            return "\(log.newest)"
        }
    }
}

/// The source of a process.
private struct RemoteRotation: TokenSource {
    let layers: [Layer] = []
    let url: String
    let name: String
    private let connection = SystemConnection()

    init(url: String, name: String) { (self.url, self.name) = (url, name) }

    func token(replacing token: Token?) async throws -> Token {
        let request = try Request.post(url, body: Body("\(name) \(token?.refreshToken ?? "")"))
        let answer = try await connection.send(request).body.text(upTo: 100)
        guard !answer.isEmpty else { throw OAuthError(.invalidGrant) }
        return try ProcessTests.SharedTokenTests.token(answer)
    }
}

/// Notes in a file which tokens were written.
private struct ReportingStore: TokenStore {
    let base: SharedTokenStore
    let path: String

    func token() async throws -> Token? { try await base.token() }
    func changes() -> AsyncStream<Token?> { base.changes() }

    func replace(_ expected: Token?, with token: Token?) async throws -> Bool {
        guard try await base.replace(expected, with: token) else { return false }
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(file) }
        let line = Array("\(token?.refreshToken ?? "")\n".utf8)
        _ = unsafe write(file, line, line.count)
        return true
    }

    func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result { try await base.exclusively(work) }
}
#endif
