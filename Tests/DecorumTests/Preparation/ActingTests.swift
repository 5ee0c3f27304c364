import Decorum
import DecorumTesting
import Testing

@Suite struct ActingTests {
    let stub = StubConnection { _ in Response(status: .ok) }

    private func principals(_ connection: some Connection, own: Principal? = nil) async throws -> [Principal?] {
        var request = try Request.get("https://a.example/")
        request.options.principal = own
        _ = try await connection.send(request)
        return stub.requests.map(\.options.principal)
    }

    @Test func `A request without a principal gets that of the outer layer, and keeps its own`() async throws {
        let connection = stub.acting(for: Principal("inner")).acting(for: Principal("outer"))
        #expect(try await principals(connection) == [Principal("outer")])
        #expect(try await principals(connection, own: Principal("bob")).last == Principal("bob"))
    }

    @Test func `The layer states its fact, and does not show the user`() {
        let layer = stub.acting(for: Principal("ann@a.example")).layers.first
        #expect(layer?.facts == [.setsPrincipal])
        #expect(layer?.description == "acting(for: principal)")
    }
}
