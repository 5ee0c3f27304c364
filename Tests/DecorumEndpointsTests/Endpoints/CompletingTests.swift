import DecorumConformance
import DecorumEndpoints
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct CompletingTests {
    /// A field that no layer of these stacks sets.
    private static let ticket = HTTPField.Name.from

    /// An endpoint that fills in the number of the attempt.
    private func ticketed(_ base: Endpoint<Void> = .put("https://origin.example/x")) -> Endpoint<Void> {
        let count = Counter()
        return base.completed { request in
            request.head.headerFields.append(HTTPField(name: Self.ticket, value: "\(count.next())"))
        }
    }

    final class Counter: Sendable {
        private let value = Atomic(0)
        func next() -> Int { value.add(1, ordering: .relaxed).newValue }
    }

    @Test func `Each attempt has its own values and none of the last attempt`() async throws {
        let stub = StubConnection(
            Response(status: .serviceUnavailable), Response(status: .serviceUnavailable), Response(status: .noContent))
        let connection = stub.completing().retrying(.init(retries: 2, budget: .unlimited), clock: ImpatientClock())
        try await connection.value(of: ticketed())
        #expect(stub.requests.map { $0.head.headerFields[values: Self.ticket] } == [["1"], ["2"], ["3"]])
    }

    @Test func `Steps run in the order in which they were added`() async throws {
        let stub = StubConnection(Response(status: .noContent))
        try await stub.completing().value(of: ticketed(ticketed()))
        #expect(stub.requests[0].head.headerFields[values: Self.ticket] == ["1", "1"])
    }

    @Test func `A step that throws ends the attempt before it is sent`() async throws {
        struct NoTicket: Error {}
        let stub = StubConnection()
        let endpoint = Endpoint<Void>.get("https://origin.example/").completed { _ in throw NoTicket() }
        await #expect(throws: NoTicket.self) { try await stub.completing().value(of: endpoint) }
        #expect(stub.requests.isEmpty)
    }

    @Test func `A stack without the layer refuses the call`() async throws {
        let stub = StubConnection()
        await #expect {
            try await stub.retrying().value(of: ticketed())
        } throws: { error in
            (error as? InvalidRequestError)?.reason == .missingLayer && "\(error)".contains("completing()")
        }
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [("/y", ["1"], ["2"]), ("https://other.example/y", ["1"], [])])
    func `A redirection to another origin gets no late values`(
        location: String, first: [String], second: [String]
    ) async throws {
        let stub = StubConnection(
            Response(status: .temporaryRedirect, fields: [.location: location]), Response(status: .noContent))
        try await stub.completing().followingRedirects().value(of: ticketed())
        #expect(stub.requests.map { $0.head.headerFields[values: Self.ticket] } == [first, second])
    }

    @Test func `A step ends at the deadline`() async throws {
        let clock = VirtualClock()
        var endpoint = Endpoint<Void>.get("https://origin.example/").completed { _ in
            try await clock.sleep(until: clock.now.advanced(by: .seconds(100)), tolerance: nil)
        }
        endpoint.options.deadline = clock.now.advanced(by: .seconds(5))
        let stub = StubConnection()
        let call = Task { [endpoint] in try await stub.completing(clock: clock).value(of: endpoint) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(5))
        await #expect { try await call.value } throws: { ($0 as? TransportError)?.code == .deadlineExceeded }
        #expect(stub.requests.isEmpty)
    }
}

/// The layers of this module, held to the laws.
@Suite(.timeLimit(.minutes(5))) struct EndpointLayerLawTests {
    @Test(arguments: DecoratorLaw.all)
    func `Completing keeps the laws`(law: DecoratorLaw) async throws {
        let name = try #require(HTTPField.Name("X-Ticket"))
        var endpoint = Endpoint<Void>.put("https://origin.example/")
        endpoint = endpoint.completed { $0.head.headerFields[name] = "1" }
        let path = DecoratorLaw.ActivePath("a step", sending: try endpoint.request(), adding: [name]) { _, _ in
            Response(status: .ok)
        }
        try await law.check(answering: [path]) { base, conditions in base.completing(clock: conditions.clock) }
    }

    @Test(arguments: DecoratorLaw.all)
    func `Calling keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base in base.calling(.standard) }
    }
}
