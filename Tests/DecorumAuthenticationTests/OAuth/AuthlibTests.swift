#if os(macOS) || os(Linux)
import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A server by other authors, with rotation and detection of reuse, over a socket.
@Suite(
    .timeLimit(.minutes(Footprint.isSoak ? 120 : 10)),
    .enabled("authlib of PyPI cannot be installed on this machine") { await AuthlibServer.python() != nil })
struct AuthlibTests {
    private struct Facts: Decodable {
        let refreshes: Int
        let reuses: Int
    }

    @Test func `In many rounds of several callers, no refresh token is sent twice`() async throws {
        let python = try #require(await AuthlibServer.python())
        let program = [python, "-u", Fixtures.url("OAuth/authlib_server.py").path].map(RunningScript.quoted)
        let server = try RunningScript("exec \(program.joined(separator: " ")) 2>/dev/null")
        let line = try await server.waitForOutput(of: "\n")
        let port = try #require(Int(line.filter(\.isNumber)))
        let url = "http://127.0.0.1:\(port)"

        let transport = SystemConnection()
        let client = OAuthClient("app", of: try AuthorizationServer(token: url + "/token"), over: transport)
        let tokens = Tokens(
            in: MemoryTokenStore(try Token("access-1", refreshToken: "refresh-1")), from: client.refreshing(),
            policy: RefreshPolicy(minimumInterval: .zero))
        let connection = transport.authenticating(with: tokens, for: try Origin(url))
        let generator = SeededGenerator(seed: 3)
        let rounds = Footprint.isSoak ? 10_000 : 50
        for _ in 0..<rounds {
            _ = try await transport.send(.get(url + "/expire"))
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<5 {
                    let call = Task { try await connection.send(.get(url + "/notes")).status.code }
                    let isCancelled = number > 0 && generator.next() % 3 == 0
                    if isCancelled { call.cancel() }
                    group.addTask {
                        do { return try await call.value } catch is CancellationError where isCancelled { return 200 }
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
        }
        let data = try await transport.send(.get(url + "/facts")).body.data(upTo: 1000)
        let facts = try JSONDecoder().decode(Facts.self, from: data)
        #expect(facts.refreshes == rounds && facts.reuses == 0)
    }
}

/// The authorization server of authlib, a library of PyPI for Python, in a process of its own.
///
/// Its virtual environment is made once for a machine, in the directory for temporary files.
private enum AuthlibServer {
    private static let version = "1.9.9"
    private static let environment = FileManager.default.temporaryDirectory
        .appending(path: "decorum-authlib-\(version)-\(getuid())")

    /// The interpreter with the library; nil where the library cannot be installed.
    static func python() async -> String? {
        let python = environment.appending(path: "bin/python").path
        let program = RunningScript.quoted(python)
        let works = "\(program) -c 'import authlib.oauth2.rfc6749'"
        let install = """
            python3 -m venv \(RunningScript.quoted(environment.path))
            \(program) -m pip install --quiet --retries 1 --timeout 20 authlib==\(version)
            """
        let output = try? await RunningScript.output(of: "\(works) || { \(install)\n\(works); }")
        return output == nil ? nil : python
    }
}
#endif
