import DecorumAuthentication
import DecorumTestingTraits
import Testing

private let notesClock = ImpatientClock()

struct NotesTests {
    @Test(.cassette(clock: notesClock)) func notes() async throws {
        let source = try NotesTokenSource(connection: CassetteConnection(), clock: notesClock)
        let tokens = Tokens(in: MemoryTokenStore(), from: source, clock: notesClock)
        let connection = try StandardStack(for: "https://api.example.com/").composed(
            over: CassetteConnection(), authentication: .with(tokens), clock: notesClock)

        try await tokens.signIn(with: source.token(from: "login", for: ["user": "ada", "password": "hunter2"]))
        let first = try await connection.send(.get("notes"))
        #expect(try await first.body.text(upTo: 1 << 20) == "Buy milk")

        try await notesClock.sleep(for: .seconds(3600))  // passes at once; the token expires
        let second = try await connection.send(.get("notes"))
        #expect(try await second.body.text(upTo: 1 << 20) == "Buy milk and bread")
    }
}
