import DecorumTesting
import HTTPTypes
import Testing

@testable import Decorum

/// Whose requests may use a remembered redirection.
@Suite(.timeLimit(.minutes(3))) struct RedirectionUsersTests {
    private let memory = PermanentRedirections(limit: 10, lifetime: .seconds(100))
    private let clock = VirtualClock()
    private let start = "https://a.example/start"

    private func moved() -> StubConnection {
        StubConnection { request in
            request.head.path == "/start"
                ? Response(status: .movedPermanently, fields: [.location: "/new"]) : Response(status: .ok)
        }
    }

    private func remembering(_ stub: StubConnection) -> some Connection {
        stub.followingRedirects(remembering: memory, clock: clock)
    }

    private func paths(_ stub: StubConnection) -> [String?] { stub.requests.map(\.head.path) }

    @Test func `The redirection of one user is not followed for another`() async throws {
        let stub = moved()
        for user in ["alice", "bob", "alice", "bob"] {
            _ = try await remembering(stub).acting(for: Principal(user)).send(.get(start))
        }
        _ = try await remembering(stub).send(.get(start))
        _ = try await remembering(stub).send(.get(start, fields: [.authorization: "Bearer s"]))
        #expect(paths(stub).filter { $0 == "/start" }.count == 4)

        memory.removeRedirections(of: Principal("alice"))
        #expect(memory.count == 2)
        memory.removeRedirections(of: nil)
        #expect(memory.count == 1)
        memory.removeAll()
        #expect(memory.count == 0)
    }

    @Test func `Where a layer further in identifies the user, nothing is remembered without a principal`() async throws
    {
        let connection = moved()
            .intercepting { request, base in
                var request = request
                request.head.headerFields[.authorization] = "Bearer s"
                return try await base.send(request)
            }
            .followingRedirects(remembering: memory, clock: clock)
        _ = try await connection.send(.get(start))
        #expect(memory.count == 0)
        _ = try await connection.acting(for: Principal("ann")).send(.get(start))
        #expect(memory.count == 1)
    }

    @Test(arguments: [.authorization, .cookie, HTTPField.Name("X-Api-Key")])
    func `The redirection of a request with a credential is not kept`(name: HTTPField.Name?) async throws {
        let stub = moved()
        let name = try #require(name)
        for _ in 1...2 {
            _ = try await remembering(stub).send(.get(start, fields: [name: "s"]))
            _ = try await remembering(stub).acting(for: Principal("ann")).send(.get(start, fields: [name: "s"]))
        }
        #expect(memory.count == 0)
        #expect(paths(stub).filter { $0 == "/start" }.count == 4)
    }

    @Test func `A request with a credential does not use the redirection of one without`() async throws {
        let stub = moved()
        _ = try await remembering(stub).send(.get(start))
        _ = try await remembering(stub).send(.get(start, fields: [.authorization: "Bearer s"]))
        #expect(paths(stub) == ["/start", "/new", "/start", "/new"])
        #expect(memory.count == 1)
    }

    @Test func `A field that a layer further in declares secret is as good as a known one`() async throws {
        let ticket = try #require(HTTPField.Name("X-Ticket"))
        let stub = moved()
        let connection = stub.addingDefaultFields(secretFields: [ticket]) { _ in [:] }
            .followingRedirects(remembering: memory, clock: clock)
        for value in ["a", "b"] { _ = try await connection.send(.get(start, fields: [ticket: value])) }
        #expect(memory.count == 0)
        _ = try await connection.send(.get(start))
        _ = try await connection.send(.get(start, fields: [ticket: "a"]))
        #expect(paths(stub).filter { $0 == "/start" }.count == 4)
    }

    @Test func `Many users at the same time are led by their own redirections`() async throws {
        let stub = StubConnection { request in
            guard request.head.path == "/start" else {
                return Response(status: .ok, body: Body(request.head.path ?? ""))
            }
            let user = request.options.principal?.name ?? ""
            return Response(status: .movedPermanently, fields: [.location: "/of/\(user)"])
        }
        let connection = remembering(stub)
        let start = start
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let user = "user\(number % 5)"
                    var request = try Request.get(start)
                    request.options.principal = Principal(user)
                    return try await connection.send(request).body.text(upTo: 100) == "/of/\(user)"
                }
            }
            for try await isOwn in group { #expect(isOwn) }
        }
        #expect(memory.count == 5)
    }
}
