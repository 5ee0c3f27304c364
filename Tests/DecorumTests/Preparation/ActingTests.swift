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

    @Test func `A request without a principal gets that of the stack`() async throws {
        #expect(try await principals(stub.acting(for: Principal("ann"))) == [Principal("ann")])
    }

    @Test func `The principal of a request wins`() async throws {
        let connection = stub.acting(for: Principal("ann"))
        #expect(try await principals(connection, own: Principal("bob")) == [Principal("bob")])
    }

    @Test func `Of two such layers, the outer one decides`() async throws {
        let connection = stub.acting(for: Principal("inner")).acting(for: Principal("outer"))
        #expect(try await principals(connection) == [Principal("outer")])
    }

    @Test func `The layer states its fact, and does not show the user`() {
        let layer = stub.acting(for: Principal("ann@a.example")).layers.first
        #expect(layer?.facts == [.setsPrincipal])
        #expect(layer?.description == "acting(for: principal)")
    }

    @Test func `Each hop of a redirection is made for the user`() async throws {
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "https://b.example/"]), Response(status: .ok))
        let connection = stub.followingRedirects().acting(for: Principal("ann"))
        _ = try await connection.send(.get("https://a.example/"))
        #expect(stub.requests.map(\.options.principal) == [Principal("ann"), Principal("ann")])
    }
}
