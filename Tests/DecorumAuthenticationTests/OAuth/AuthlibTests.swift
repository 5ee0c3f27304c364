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
    .enabled("authlib of PyPI cannot be installed on this machine") { await python() != nil })
struct AuthlibTests {
    private struct Facts: Decodable {
        let refreshes: Int
        let reuses: Int
    }

    @Test func `In many rounds of several callers, no refresh token is sent twice`() async throws {
        let interpreter = try #require(await python())
        let program = [interpreter, "-u", Fixtures.url("OAuth/authlib_server.py").path].map(RunningScript.quoted)
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

private func python() async -> String? {
    await PythonLibraries.interpreter(with: "authlib==1.9.9", importing: "authlib.oauth2.rfc6749")
}
#endif
