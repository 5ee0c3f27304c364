import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct RetryBudgetTests {
    private let clock = ImpatientClock()

    @Test func `A new client has one retry, and five answers earn another`() async throws {
        let stub = StubConnection { $0.head.path == "/bad" ? .unavailable : .ok }
        let connection = stub.retrying(RetryPolicy(baseDelay: .zero), clock: clock)

        #expect(try await attempts(of: "/bad", over: connection) == 2)
        for _ in 0..<4 { _ = try await connection.send(.get("https://a.example/")) }
        #expect(try await attempts(of: "/bad", over: connection) == 1)
        _ = try await connection.send(.get("https://a.example/"))
        #expect(try await attempts(of: "/bad", over: connection) == 2)
    }

    @Test func `The budget holds a fifth of the calls of ten seconds, and ten retries at most`() async throws {
        let stub = StubConnection { $0.head.path == "/bad" ? .unavailable : .ok }
        let connection = stub.retrying(RetryPolicy(retries: 50, baseDelay: .zero), clock: clock)

        for _ in 0..<30 { _ = try await connection.send(.get("https://a.example/")) }
        #expect(try await attempts(of: "/bad", over: connection) == 7)
        for _ in 0..<500 { _ = try await connection.send(.get("https://a.example/")) }
        #expect(try await attempts(of: "/bad", over: connection) == 11)

        for _ in 0..<500 { _ = try await connection.send(.get("https://a.example/")) }
        try await clock.sleep(for: .seconds(10))
        #expect(try await attempts(of: "/bad", over: connection) == 2)
    }

    @Test func `Stacks share a budget, and origins do not`() async throws {
        let budget = RetryBudget()
        let policy = RetryPolicy(baseDelay: .zero, budget: budget)
        let stub = StubConnection { _ in .unavailable }
        let one = stub.retrying(policy, clock: clock)
        let other = stub.retrying(policy, clock: clock)

        #expect(try await attempts(of: "/", over: one) == 2)
        #expect(try await attempts(of: "/", over: other) == 1)
        #expect(try await other.send(.get("https://b.example/")).metadata.attempts == 2)
        #expect(try await one.send(.get("https://b.example/")).metadata.attempts == 1)
    }

    @Test func `retrying without arguments shares the budget of the process`() async throws {
        // Another test has no call to this origin.
        let request = try Request.get("https://shared-budget.example/")
        let stub = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        let first = await #expect(throws: TransportError.self) { try await stub.retrying().send(request) }
        let second = await #expect(throws: TransportError.self) { try await stub.retrying().send(request) }

        #expect(first?.attempts == 2)
        #expect(second?.attempts == 1)
        let server = await #expect(throws: TransportError.self) {
            try await stub.retrying(.server).send(request)
        }
        #expect(server?.attempts == 1)
    }

    @Test func `After a timeout only an origin that has answered lately is asked again`() async throws {
        let stub = StubConnection { request in
            guard request.head.path == "/slow" else { return .ok }
            throw TransportError(.timedOut, at: .head)
        }
        let call = CallContext(keepingHistory: 10)
        var slow = try Request.get("https://a.example/slow")
        slow.options.callContext = call
        let connection = stub.retrying(RetryPolicy(baseDelay: .zero), clock: clock)

        let cold = await #expect(throws: TransportError.self) { try await connection.send(slow) }
        #expect(cold?.attempts == 1)
        #expect(call.history.filter { $0.layer == "retrying" }.map(\.kind) == [.givesUp])
        _ = try await connection.send(.get("https://a.example/"))
        let warm = await #expect(throws: TransportError.self) { try await connection.send(slow) }
        #expect(warm?.attempts == 2)

        for _ in 0..<5 { _ = try await connection.send(.get("https://a.example/")) }
        try await clock.sleep(for: .seconds(31))
        let late = await #expect(throws: TransportError.self) { try await connection.send(slow) }
        #expect(late?.attempts == 1)
    }

    @Test func `The accounts of many origins are bounded, and the busy one stays`() async throws {
        let stub = StubConnection { $0.head.path == "/bad" ? .unavailable : .ok }
        let connection = stub.retrying(RetryPolicy(retries: 50, baseDelay: .zero), clock: clock)

        for number in 0..<2000 {
            _ = try await connection.send(.get("https://a.example/"))
            _ = try await connection.send(.get("https://a\(number).example/"))
            try await clock.sleep(for: .milliseconds(1))
        }

        #expect(try await attempts(of: "/bad", over: connection) == 11)
    }

    @Test func `Many calls at once take no more than there is`() async throws {
        let stub = StubConnection { _ in .unavailable }
        let connection = stub.retrying(RetryPolicy(baseDelay: .zero), clock: clock)

        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await connection.send(.get("https://a.example/")) } }
            try await group.waitForAll()
        }

        #expect(stub.requests.count == 101)
    }

    private func attempts(of path: String, over connection: some Connection) async throws -> Int {
        try await connection.send(.get("https://a.example" + path)).metadata.attempts
    }
}

extension Response {
    fileprivate static let unavailable = Response(status: .serviceUnavailable)
}
