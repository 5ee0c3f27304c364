import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct AnsweringChallengesTests {
    private struct Handler: ChallengeHandler {
        let asked: Counter
        let give: @Sendable (ChallengedRequest) throws -> Credentials?

        func answer(_ request: ChallengedRequest) async throws -> Credentials? {
            asked.add(1)
            return try give(request)
        }
    }

    private let asked = Counter()
    private let api = StubConnection { request in
        request.head.headerFields[.authorization] == "Basic dTpw"
            ? Response(status: .ok, body: "in")
            : Response(status: .unauthorized, fields: [.wwwAuthenticate: #"Basic realm="door""#], body: "out")
    }

    private func handler(_ give: @escaping @Sendable (ChallengedRequest) throws -> Credentials?) -> Handler {
        Handler(asked: asked, give: give)
    }

    @Test func `Handlers are asked in order until one answers`() async throws {
        let connection = api.answeringChallenges(
            with: [
                handler { _ in nil },
                handler { request in
                    #expect(request.challenges.first?.realm == "door")
                    return try .basic(user: "u", password: "p")
                },
                handler { _ in throw CancellationError() },
            ], for: [try .api()])
        let response = try await connection.send(.get(RotatingServer.apiURL))
        #expect(response.status == .ok && asked.value == 2 && response.metadata.attempts == 2)
    }

    @Test func `When all decline, the 401 has its body`() async throws {
        let connection = api.answeringChallenges(with: [handler { _ in nil }], for: [try .api()])
        let response = try await connection.send(.get(RotatingServer.apiURL))
        #expect(try await response.body.text(upTo: 10) == "out")
    }

    @Test func `The caller gets the error of a handler`() async throws {
        let connection = api.answeringChallenges(
            with: [handler { _ in throw TokenStoreError(.isLocked) }, handler { _ in nil }], for: [try .api()])
        await #expect(throws: TokenStoreError(.isLocked)) { try await connection.send(.get(RotatingServer.apiURL)) }
        #expect(asked.value == 1)
    }

    @Test func `A second 401 is returned`() async throws {
        let connection = api.answeringChallenges(
            with: [handler { _ in try .basic(user: "u", password: "wrong") }], for: [try .api()])
        let response = try await connection.send(.get(RotatingServer.apiURL))
        #expect(response.status == .unauthorized && asked.value == 1 && api.requests.count == 2)
    }

    @Test func `Another origin asks no handler`() async throws {
        let connection = api.answeringChallenges(
            with: [handler { _ in try .basic(user: "u", password: "p") }], for: [try .api()])
        let response = try await connection.send(.get("https://evil.example/"))
        #expect(response.status == .unauthorized && asked.value == 0)
        #expect(api.requests.allSatisfy { $0.head.headerFields[.authorization] == nil })
    }

    @Test(arguments: [
        "Digest nonce=\"" + String(repeating: "x", count: 100_000) + "\"", "Basic realm=\"a", "Basic a=\u{1}", "=,=,\"",
        "",
        String(repeating: "Basic a=b,", count: 10_000), "Bearer error=\"\u{7F}\"",
        String(repeating: "a", count: 100_000),
    ])
    func `A challenge that is huge or malformed ends with the 401, whatever the handler answers`(
        challenge: String
    ) async throws {
        let api = StubConnection { _ in
            Response(status: .unauthorized, fields: [.wwwAuthenticate: challenge], body: "why")
        }
        let giving = handler { _ in try .basic(user: "u", password: "p") }
        let tokens = Tokens(in: MemoryTokenStore(try Token("t")), from: RotatingServer(clock: VirtualClock()))
        for connection: any Connection in [
            api.answeringChallenges(with: [giving], for: [try .api()]),
            api.authenticating(with: tokens, for: try .api()),
        ] {
            let before = api.requests.count
            let response = try await connection.send(.get(RotatingServer.apiURL))
            #expect(response.status == .unauthorized && api.requests.count - before <= 2)
            #expect(try await response.body.text(upTo: 10) == "why")
        }
        #expect(asked.value <= 1)
    }
}
