import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Token endpoints over a socket that never answer, or never end.
@Suite(.timeLimit(.minutes(2))) struct HostileEndpointTests {
    private func tokens(_ origin: LoopbackOrigin, in store: some TokenStore) throws -> Tokens {
        let client = OAuthClient(
            "app", of: try AuthorizationServer(token: origin.url + "/token"), over: SystemConnection(),
            timeLimit: .milliseconds(300))
        return Tokens(in: store, from: client.refreshing(), policy: RefreshPolicy(timeLimit: .seconds(20)))
    }

    @Test(arguments: ["never", "drip", "flood", "portal", "redirect", "close", "noise"])
    func `A hostile answer fails the refresh and keeps the token`(kind: String) async throws {
        let origin = try LoopbackOrigin()
        let json: RawFields = ["Content-Type": "application/json"]
        let answer: LoopbackOrigin.Answer =
            switch kind {
            case "never": .hanging
            case "drip":
                .script(.head(.ok, ["Content-Type": "application/json", "Content-Length": "9"]), .raw("{"), .hang)
            case "flood": .init(fields: json, body: "{\"access_token\":\"" + String(repeating: "x", count: 4 << 20))
            case "portal": .init(fields: ["Content-Type": "text/html"], body: "<html>Please sign in</html>")
            case "redirect": .init(.found, fields: ["Location": "http://192.0.2.1/login"])
            case "close": .closing
            default: .script(.raw("\u{0}\u{1}garbage\r\n\r\n"), .close)
            }
        origin.route(.post, "/token", answer)
        let old = try Token("old", expiry: .distantPast, refreshToken: "r")
        let store = MemoryTokenStore(old)
        let tokens = try tokens(origin, in: store)
        await #expect(throws: TokenRefreshError.self) { try await tokens.token() }
        #expect(await store.token() == old)
        origin.stop()
    }
}
