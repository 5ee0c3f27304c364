import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

@Suite struct ConnectionTests {
    let request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/"))

    @Test func `The last modifier applied sees the request first and the response last`() async throws {
        let passed = Mutex<[String]>([])
        @Sendable func note(_ text: String) { passed.withLock { $0.append(text) } }
        let connection = ClosureConnection { _ in
            note("transport")
            return Response(status: .ok)
        }
        .intercepting("inner") { request, base in
            note("inner request")
            defer { note("inner response") }
            return try await base.send(request)
        }
        .intercepting("outer") { request, base in
            note("outer request")
            defer { note("outer response") }
            return try await base.send(request)
        }

        _ = try await connection.send(request)

        #expect(
            passed.withLock(\.self) == [
                "outer request", "inner request", "transport", "inner response", "outer response",
            ])
        #expect(connection.layers.map(\.name) == ["outer", "inner", "ClosureConnection"])
    }

    @Test func `A decorator of ten lines names itself and its base`() async throws {
        let stub = StubConnection(Response(status: .ok))
        let connection = Tagging(base: stub)
        _ = try await connection.send(request)
        #expect(stub.requests[0].head.headerFields[.from] == "decorator")
        #expect(connection.layers.map(\.name) == ["Tagging", "StubConnection"])
        #expect(connection.layers.map(\.role) == [.other, .transport])
    }

    @Test func `A connection is printed as its layers, also as a part of another value`() throws {
        struct Client { let connection: any Connection }
        let connection = StubConnection().retrying().logging(to: .standardError)
        let text = "\(connection.layers)"
        var dumped = ""
        dump(Client(connection: connection), to: &dumped)
        #expect("\(connection)".contains("1 logging(") && String(reflecting: connection) == text)
        #expect("\(Client(connection: connection))".contains(text))
        #expect(dumped.contains("retrying") && dumped.utf8.count < 4000)
    }

    @Test func `A text keeps to its segment of a path`() throws {
        let names = ["octo/hello#1?a&b=c d", "../user", "ö%"]
        let paths = try names.map { try Request.get("repos/\(PercentCoding.encode($0))/x").head.path }
        #expect(paths == ["repos/octo%2Fhello%231%3Fa%26b%3Dc%20d/x", "repos/..%2Fuser/x", "repos/%C3%B6%25/x"])
    }
}

private struct Tagging<Base: Connection>: ComposedConnection {
    let base: Base

    func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.from] = "decorator"
        return try await base.send(request)
    }
}
