import DecorumEndpoints
import DecorumTesting
import Testing

@Suite struct ExportTests {
    @Test func `One import gives the types of the core and of HTTP`() async throws {
        let connection: any Connection = StubConnection(Response(status: .ok, fields: [.server: "x"]))
        let response = try await connection.send(.get("https://example.com/"))
        #expect(response.head.headerFields == [.server: "x"] as HTTPFields)
    }
}
