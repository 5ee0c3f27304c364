import Decorum
import DecorumTesting
import HTTPTypes
import Testing

@Suite struct FieldsTests {
    let stub = StubConnection { _ in Response(status: .ok) }

    private func list(_ pairs: (HTTPField.Name, String)...) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in pairs { fields.append(HTTPField(name: name, value: value)) }
        return fields
    }

    private func sent(_ fields: HTTPFields = [:], through connection: some Connection) async throws -> [String] {
        _ = try await connection.send(.get("https://api.example.com/", fields: fields))
        return try #require(stub.requests.last).head.headerFields.map(\.description)
    }

    @Test func `Default fields are added if a request lacks them`() async throws {
        let connection = stub.addingDefaultFields([.accept: "text/html", .from: "a"])
        #expect(try await sent(through: connection) == ["Accept: text/html", "From: a"])
        #expect(try await sent([.from: "own"], through: connection) == ["From: own", "Accept: text/html"])
        #expect(try await sent([.from: ""], through: connection) == ["From: ", "Accept: text/html"])
    }

    @Test func `Repeated default fields keep their number and order`() async throws {
        let connection = stub.addingDefaultFields(list((.via, "1 a"), (.accept, "x"), (.via, "1 b")))
        #expect(try await sent(through: connection) == ["Via: 1 a", "Accept: x", "Via: 1 b"])
        #expect(try await sent([.via: "own"], through: connection) == ["Via: own", "Accept: x"])
    }

    @Test func `Fields may depend on the request`() async throws {
        let connection = stub.addingDefaultFields { request in
            request.head.path == "/" ? [.from: "root"] : [:]
        }
        _ = try await connection.send(.get("https://api.example.com/"))
        _ = try await connection.send(.get("https://api.example.com/x"))
        _ = try await connection.send(.get("https://api.example.com/", fields: [.from: "own"]))
        let overriding = stub.overridingFields { request in [.from: request.head.path ?? ""] }
        _ = try await overriding.send(.get("https://api.example.com/x", fields: [.from: "own"]))
        #expect(stub.requests.map { $0.head.headerFields[.from] } == ["root", nil, "own", "/x"])
    }

    @Test func `Names are compared in any letter case`() async throws {
        let shouting = try #require(HTTPField.Name("ACCEPT"))
        let defaults = stub.addingDefaultFields([.accept: "text/html"])
        #expect(try await sent([shouting: "own"], through: defaults) == ["ACCEPT: own"])
        let overrides = stub.overridingFields(with: [.accept: "text/html"])
        #expect(try await sent([shouting: "own"], through: overrides) == ["Accept: text/html"])
    }

    @Test func `Overriding fields replace all of their name`() async throws {
        let connection = stub.overridingFields(with: list((.via, "1 a"), (.via, "1 b")))
        #expect(try await sent(through: connection) == ["Via: 1 a", "Via: 1 b"])

        let own = list((.via, "1 x"), (.accept, "own"), (.via, "1 y"), (.via, "1 z"))
        #expect(try await sent(own, through: connection) == ["Via: 1 a", "Accept: own", "Via: 1 b"])
    }

    @Test func `An empty list of fields changes nothing`() async throws {
        let connection = stub.addingDefaultFields([:]).overridingFields(with: [:])
        #expect(try await sent([.accept: "own"], through: connection) == ["Accept: own"])
    }

    @Test func `The request's own fields replace defaults, and overrides replace both`() async throws {
        let connection = stub.overridingFields(with: [.accept: "override"]).addingDefaultFields([
            .accept: "default", .from: "default", .via: "default",
        ])
        #expect(
            try await sent([.accept: "own", .from: "own"], through: connection) == [
                "Accept: override", "From: own", "Via: default",
            ])
    }

    @Test func `The outer of two default layers wins, and the inner of two overriding ones`() async throws {
        let defaults = stub.addingDefaultFields([.from: "inner"]).addingDefaultFields([.from: "outer"])
        #expect(try await sent(through: defaults) == ["From: outer"])

        let overrides = stub.overridingFields(with: [.from: "inner"]).overridingFields(with: [.from: "outer"])
        #expect(try await sent(through: overrides) == ["From: inner"])
    }

    @Test func `A line break is never sent`() async throws {
        let connection = stub.addingDefaultFields([.accept: "a\r\nX-Evil: 1"]).overridingFields(with: [.from: "b\nc\0"])
        #expect(try await sent(through: connection) == ["From: b c", "Accept: a  X-Evil: 1"])
    }

    @Test func `A closure's error reaches the caller, and nothing is sent`() async throws {
        struct NoTenantError: Error {}
        for connection: any Connection in [
            stub.addingDefaultFields { _ in throw NoTenantError() },
            stub.overridingFields { _ in throw NoTenantError() },
        ] {
            await #expect(throws: NoTenantError.self) { try await connection.send(.get("https://api.example.com/")) }
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `The layers show names and no values`() {
        let connection =
            stub
            .addingDefaultFields { _ in [:] }
            .overridingFields(with: [.accept: "hunter2", .from: "hunter2"])
            .addingDefaultFields([.via: "hunter2"])

        var dumped = ""
        dump(connection, to: &dumped)
        #expect(!dumped.contains("hunter2"))
        #expect(!String(reflecting: connection).contains("hunter2"))
        #expect(
            connection.layers.map(\.description) == [
                "addingDefaultFields(fields: Via)", "overridingFields(fields: Accept, From)",
                "addingDefaultFields(fields: computed)", "StubConnection",
            ])
        #expect(connection.layers.dropLast().allSatisfy { $0.role == .preparation })
    }
}
