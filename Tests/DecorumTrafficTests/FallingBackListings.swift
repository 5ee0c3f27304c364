import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3)))
struct FallingBackListings {
    @Test func `Falling back`() throws {
        let connection = try SystemConnection()
            .retrying()
            .fallingBack(to: .origin(Origin("https://eu.example.com")), .response(Response(status: .ok, body: "[]")))
            .limitingTime()
        #expect(connection.layers.map(\.name).contains("fallingBack"))
    }

    @Test func `Injecting faults`() throws {
        let connection = SystemConnection()
            .injectingFaults(
                .delay(.milliseconds(50)...(.milliseconds(400))), .bandwidth(100_000), .loss(rate: 0.02),
                .status(.serviceUnavailable, rate: 0.05), generator: SeededGenerator(seed: 7)
            )
            .retrying()
        #expect(connection.layers.map(\.name).contains("injectingFaults"))
    }

    @Test func `Serving content`() throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let content = ServedContent("0123456789", lastModified: date)
        origin.route(.get, "/file", .serving(content))
        let stub = StubConnection(serving: content)
        #expect(stub.requests.isEmpty)
    }
}
