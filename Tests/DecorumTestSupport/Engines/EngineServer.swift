#if os(macOS) || os(Linux)
import DecorumTesting
import Foundation

/// An engine of another author that runs on a free port of 127.0.0.1, keeps nothing, and ends with the value.
package struct EngineServer: Sendable {
    package let port: Int
    private let script: RunningScript
    private let process: pid_t

    /// Starts a program, whose arguments are made of two ports, and once more if another process takes one of them meanwhile.
    ///
    /// - Throws: ``MissingEngine`` on a machine without the program.
    private init(
        _ name: String, variable: String, saying words: String, _ arguments: ([Int]) -> String
    ) async throws {
        guard let program = RunningScript.program(name, variable: variable) else {
            throw MissingEngine(name: name)
        }
        func start() throws -> (Int, RunningScript) {
            let bound = try (0..<2).map { _ in try Socket.bound() }
            for (socket, _) in bound { socket.release() }
            let script = try RunningScript("exec \(RunningScript.quoted(program)) \(arguments(bound.map(\.1)))")
            return (bound[0].1, script)
        }
        var (port, script) = try start()
        do { _ = try await script.waitForOutput(of: words) } catch {
            (port, script) = try start()
            _ = try await script.waitForOutput(of: words)
        }
        (self.port, self.script) = (port, script)
        let text = try String(contentsOf: script.folder.appendingPathComponent("pid"), encoding: .utf8)
        process = pid_t(text.filter(\.isNumber)) ?? 0
    }

    package static let hasRedis = RunningScript.program("redis-server", variable: "DECORUM_REDIS_SERVER") != nil
    package static let hasEtcd = RunningScript.program("etcd", variable: "DECORUM_ETCD") != nil

    package static func redis() async throws -> EngineServer {
        try await EngineServer("redis-server", variable: "DECORUM_REDIS_SERVER", saying: "Ready to accept connections")
        {
            "--port \($0[0]) --bind 127.0.0.1 --save '' --appendonly no"
        }
    }

    package static func etcd() async throws -> EngineServer {
        try await EngineServer("etcd", variable: "DECORUM_ETCD", saying: "ready to serve client requests") {
            let (client, peer) = ("http://127.0.0.1:\($0[0])", "http://127.0.0.1:\($0[1])")
            return """
                --data-dir data --listen-client-urls \(client) --advertise-client-urls \(client) \
                --listen-peer-urls \(peer) --initial-advertise-peer-urls \(peer) --initial-cluster default=\(peer)
                """
        }
    }

    /// Stops the process, which keeps its connections and answers nothing.
    package func pause() { signal(SIGSTOP) }

    /// Continues the process.
    package func resume() { signal(SIGCONT) }

    private func signal(_ number: Int32) {
        // A process of number 0 would be every process of the group.
        guard process > 0 else { return }
        _ = kill(process, number)
    }
}

/// A machine lacks the program of an engine, so the tests that need it cannot run here.
package struct MissingEngine: Error { let name: String }
#endif
