import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct SampleTests {
    private let endpoint = Endpoint<Item>.item(1).sampled(.json(Item(id: 1, name: "one")))

    @Test func `One line answers each call with the sample beside it`() async throws {
        let connection = SampleConnection()
        let answer = try await connection.response(of: endpoint)
        #expect(answer.value == Item(id: 1, name: "one"))
        #expect(answer.metadata.source == .stub)
        #expect(
            try await connection.value(of: Endpoint<Item>.item(2).sampled(.content(#"{"id":2,"name":"x"}"#))).id == 2)
    }

    @Test func `A sample passes the layers, and a stub remembers the requests`() async throws {
        let stub = StubConnection { try await SampleConnection().send($0) }
        let connection = try stub.retrying().validatingStatus().calling(at: "https://example.com/v1")
        #expect(try await connection.value(of: endpoint).id == 1)
        #expect(stub.requests.map { $0.url?.absoluteString } == ["https://example.com/v1/items/1"])
    }

    @Test func `A refusal can be a sample`() async throws {
        let refused = Endpoint<Item>.item(1).sampled(.json(["message": "gone"], status: .gone))
        let error = try #require(
            await #expect(throws: RefusalError.self) { try await SampleConnection().value(of: refused) })
        #expect(error.status == .gone)
    }

    @Test func `A call without a sample says which`() async {
        await #expect {
            try await SampleConnection().value(of: .item(1))
        } throws: { error in
            error is MissingSampleError && "\(error)".contains("GET items/{id}")
        }
    }

    @Test func `A sample can be late`() async throws {
        let clock = VirtualClock()
        let connection = SampleConnection(after: .seconds(2), clock: clock)
        async let item = connection.value(of: endpoint)
        try await clock.waitForSleepers()
        #expect(clock.pendingSleeps == [.seconds(2)])
        clock.advance(by: .seconds(2))
        #expect(try await item.id == 1)
    }
}
