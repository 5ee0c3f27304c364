import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumAuthentication

/// Tokens, challenges and cookies in the standard stack, and the account of the documentation.
@Suite(.timeLimit(.minutes(3))) struct StandardStackTests {
    private let clock = VirtualClock()
    private let user = Principal("user-42")

    @Test(arguments: StandardStack.Preset.allCases)
    func `A stack with tokens, cookies and ends has no finding, and shows each`(preset: StandardStack.Preset) throws {
        let server = RotatingServer(clock: clock)
        let tokens = Tokens(
            in: MemoryTokenStore(try server.token(1)), from: server, servesOneUser: true, clock: clock)
        let connection = try StandardStack(preset, for: "https://api.example.com/").composed(
            over: server.api, authentication: .with(tokens), principal: user,
            adding: [.keepingCookies(in: CookieJar(clock: clock)), .ending(with: RequestsUnderWay())], clock: clock)
        #expect(connection.findings.isEmpty, "\(connection.findings)")
        #expect(connection.composition.unknownLayers.isEmpty)
        let names = connection.layers.map(\.name)
        let places = ["acting", "ending", "followingRedirects", "keepingCookies", "retrying", "authenticating"]
            .map { names.firstIndex(of: $0) }
        #expect(places.allSatisfy { $0 != nil } && places.compactMap { $0 } == places.compactMap { $0 }.sorted())
        let layer = try #require(connection.layers.first { $0.name == "authenticating" })
        #expect("\(layer)" == "authenticating(with: tokens, for: https://api.example.com) {refresh: [RotatingServer]}")
    }

    @Test func `Tokens are for the origin of the base URL, unless they name others`() async throws {
        let server = RotatingServer(clock: clock)
        let tokens = Tokens(in: MemoryTokenStore(try server.token(1)), from: server, clock: clock)
        let stack = StandardStack(.server, for: "https://api.example.com/")
        for (origins, isSent) in [([], true), ([try Origin("https://other.example.com")], false)] {
            let api = StubConnection(Response(status: .ok))
            let connection = try stack.composed(
                over: api, authentication: .with(tokens, for: Set(origins)), clock: clock)
            _ = try await connection.send(.get("notes"))
            #expect((api.requests.first?.head.headerFields[.authorization] == "Bearer access-1") == isSent)
        }
        #expect(throws: StackSettingsError.self) { try StandardStack(.server).composed(authentication: .with(tokens)) }
    }

    @Test func `Handlers of challenges are given in the same way`() async throws {
        let api = StubConnection { request in
            request.head.headerFields[.authorization] == "Basic dTpw"
                ? Response(status: .ok)
                : Response(status: .unauthorized, fields: [.wwwAuthenticate: #"Basic realm="door""#])
        }
        let connection = try StandardStack(.server, for: "https://api.example.com/").composed(
            over: api, authentication: .answeringChallenges(with: [Door()]), clock: clock)
        #expect(try await connection.send(.get("notes")).status == .ok)
        #expect(connection.findings.isEmpty, "\(connection.findings)")
    }

    @Test func `The account of the documentation has no finding`() throws {
        let folder = TokenFolder()
        let connection = try Account(directory: folder.url).connection
        #expect(connection.findings.isEmpty, "\(connection.findings)")
    }

    @Test func `One call removes tokens, cookies and stored responses, and ends what is under way`() async throws {
        let folder = TokenFolder()
        let server = RotatingServer(clock: clock)
        let store = MemoryTokenStore(try server.token(1))
        let tokens = Tokens(in: store, from: server, servesOneUser: true, clock: clock)
        let file = PrivateFile(folder.url.appending(path: "cookies.json"))
        let cookies = CookieJar(file: file, of: user, suffixes: .conservative, clock: clock)
        let responses = MemoryResponseStore()
        let requests = RequestsUnderWay()
        let gate = Gate()
        let api = StubConnection { request in
            if request.head.path == "/slow" { try await gate.wait() }
            return Response(
                status: .ok,
                fields: [.cacheControl: "private, max-age=600", .setCookie: "id=1; Path=/; Max-Age=3600"], body: "mine")
        }
        let connection = try StandardStack(for: "https://api.example.com/").composed(
            over: api, authentication: .with(tokens), principal: user, store: responses,
            adding: [.keepingCookies(in: cookies), .ending(with: requests)], clock: clock)
        _ = try await connection.send(.get("notes")).body.data(upTo: 100)
        await cookies.waitUntilSaved()
        #expect(try saved(in: file).contains("\"id\"") && cookies.count == 1)
        let slow = Task { try await connection.send(.get("slow")) }
        try await gate.waitForWaiting(1)

        try await SigningOut(requests, tokens, cookies, responses).signOut(user)

        await #expect(throws: SignedOutError(.signedOut)) { try await slow.value }
        #expect(await store.token() == nil && cookies.count == 0 && requests.count == 0)
        #expect(try !saved(in: file).contains("\"id\""))
        gate.open()
        try await tokens.signIn(with: server.token(1))
        let count = api.requests.count
        _ = try await connection.send(.get("notes")).body.data(upTo: 100)
        // The stored response is gone, so the server is asked, without the cookie of the earlier session.
        #expect(api.requests.count == count + 1 && api.requests.last?.head.headerFields[.cookie] == nil)
    }

    private func saved(in file: PrivateFile) throws -> String {
        String(decoding: try #require(try file.contents(upTo: 10_000)), as: UTF8.self)
    }
}

private struct Door: ChallengeHandler {
    func answer(_ request: ChallengedRequest) async throws -> Credentials? {
        try .basic(user: "u", password: "p")
    }
}
