import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Keys and identifiers of calls, among signatures and layers that share responses.
@Suite(.timeLimit(.minutes(3))) struct AddedFieldsTests {
    @Test func `Identifiers do not keep requests apart that are sent as one`() async throws {
        let gate = Gate()
        let stub = StubConnection { _ in
            try await gate.wait()
            return Response(status: .ok, body: "page")
        }
        let connection = stub.coalescing().addingRequestID()
        let calls = await Callers.start(25) { _ in try await connection.send(.page).body.text(upTo: 10) }
        try await gate.waitForWaiting(1)
        calls[7].cancel()
        gate.open()

        for (number, call) in calls.enumerated() where number != 7 { #expect(try await call.value == "page") }
        #expect(stub.requests.count == 1)
    }
}
