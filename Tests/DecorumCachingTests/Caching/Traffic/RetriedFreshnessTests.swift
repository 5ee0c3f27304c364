import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The age of a response that did not come at the first attempt.
@Suite(.timeLimit(.minutes(3))) struct RetriedFreshnessTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    private func get() throws -> Request { try .get("https://example.com/page") }

    @Test func `The wait before a retry does not count as age`() async throws {
        let fresh = Response(status: .ok, fields: [.cacheControl: "max-age=30"], body: "page")
        let stub = StubConnection(
            Response(status: .serviceUnavailable, fields: [.retryAfter: "45"]), fresh, fresh)
        let connection = stub.retrying(clock: clock).caching(in: store, clock: clock, spawner: spawner)

        let callers = await Callers.start { _ in try await connection.send(get()).body.text(upTo: 100) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(65))
        #expect(try await callers[0].value == "page")
        clock.advance(by: .seconds(20))
        let second = try await connection.send(get())

        #expect(second.metadata.source == .cache)
        #expect(second.head.headerFields[.age] == "20")
        #expect(stub.requests.count == 2)
    }

    @Test func `The time that the answered attempt takes counts as age`() async throws {
        let stub = StubConnection { [clock] _ in
            try await clock.sleep(for: .seconds(20))
            return Response(status: .ok, fields: [.cacheControl: "max-age=30"], body: "page")
        }
        let connection = stub.retrying(clock: clock).caching(in: store, clock: clock, spawner: spawner)
        let callers = await Callers.start { _ in try await connection.send(get()).body.text(upTo: 100) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(20))
        _ = try await callers[0].value

        #expect(try await connection.send(get()).head.headerFields[.age] == "20")
        clock.advance(by: .seconds(11))
        let late = await Callers.start { _ in try await connection.send(get()).metadata.source }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(20))
        #expect(try await late[0].value != .cache)
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let age = HTTPField.Name("Age")!
}
