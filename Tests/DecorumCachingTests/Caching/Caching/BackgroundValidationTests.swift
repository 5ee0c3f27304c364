import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

/// Validations in the background of a server in trouble, with other requests around them.
@Suite(.timeLimit(.minutes(3))) final class BackgroundValidationTests: Sendable {
    private let clock = VirtualClock()
    private let spawner = TrackingSpawner()
    private let outcomes = Mutex<[Response?]>([])

    /// Answers the first request, and then with the outcomes; nil is a server that cannot be reached.
    private func cache() -> (some Connection, StubConnection) {
        let stub = StubConnection(answers: [{ [stale] _ in stale }]) { [self] _ in
            let outcome = outcomes.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            guard let outcome else { throw TransportError(.unreachable, at: .connecting) }
            return outcome
        }
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock, spawner: spawner)
        return (connection, stub)
    }

    private func get() throws -> Request { try .get("https://example.com/page") }

    private let stale = Response(
        status: .ok, fields: [.cacheControl: "max-age=1, stale-while-revalidate=100000", .eTag: #""1""#], body: "old")
    private let confirmation = Response(
        status: .notModified,
        fields: [.cacheControl: "max-age=1, stale-while-revalidate=100000", .eTag: #""1""#])

    /// Sends a request in each second, and returns the seconds in which the server was asked.
    private func askedSeconds(
        of connection: some Connection, _ stub: StubConnection, within seconds: Int
    ) async throws -> [Int] {
        var asked: [Int] = []
        for second in 0..<seconds {
            let count = stub.requests.count
            #expect(try await connection.send(get()).body == "old")
            try await spawner.finished()
            if stub.requests.count > count { asked.append(second) }
            clock.advance(by: .seconds(1))
        }
        return asked
    }

    /// What the server does at a validation.
    enum Outcome: Sendable {
        case unreachable, confirms, breaksOff
        case fails(HTTPResponse.Status, retryAfter: String? = nil)
    }

    private func response(_ outcome: Outcome) -> Response? {
        switch outcome {
        case .unreachable: return nil
        case .confirms: return confirmation
        case .fails(let status, let wait):
            var response = Response(status: status)
            response.head.headerFields[.retryAfter] = wait
            return response
        case .breaksOff:
            var broken = stale
            broken.body = Body(
                chunks: AsyncThrowingStream<Data, any Error> {
                    $0.finish(throwing: TransportError(.connectionLost, at: .body))
                })
            return broken
        }
    }

    @Test(
        arguments: [
            ([], 70, [0, 1, 3, 7, 15, 31, 63]), ([.breaksOff], 8, [0, 1, 3, 7]),
            ([.fails(.tooManyRequests, retryAfter: "20")], 25, [0, 20, 22]),
            // Failures at 0 and 1, a success at 3, after which it is fresh for a second, failures from 4 on.
            ([.fails(.serviceUnavailable), .unreachable, .confirms, .unreachable], 13, [0, 1, 3, 4, 5, 7, 11]),
        ] as [([Outcome], Int, [Int])])
    func `A server in trouble is asked less and less often, until it has confirmed`(
        answers: [Outcome], seconds: Int, asked: [Int]
    ) async throws {
        let (connection, stub) = cache()
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        outcomes.withLock { $0 = answers.map(response) }
        #expect(try await askedSeconds(of: connection, stub, within: seconds) == asked)
    }

    @Test func `A response to a request of the user ends the pause that a server has asked for`() async throws {
        let (connection, stub) = cache()
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        outcomes.withLock { [stale, confirmation] in
            $0 = [
                Response(status: .serviceUnavailable, fields: [.retryAfter: "3600"]), stale, confirmation,
            ]
        }
        #expect(try await askedSeconds(of: connection, stub, within: 20) == [0])

        var reload = try get()
        reload.head.headerFields[.cacheControl] = "no-cache"
        _ = try await connection.send(reload).body.text(upTo: 10)
        clock.advance(by: .seconds(10))
        #expect(try await askedSeconds(of: connection, stub, within: 1) == [0])
    }

    @Test func `Pauses double up to five minutes, and a server may ask for up to an hour`() {
        let pauses = (1...12).map { BackgroundValidations.pause(after: $0, asking: nil) }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300].map { .seconds($0) })
        #expect(BackgroundValidations.pause(after: .max, asking: nil) == .seconds(300))
        #expect(BackgroundValidations.pause(after: 1, asking: .seconds(90)) == .seconds(90))
        #expect(BackgroundValidations.pause(after: 10, asking: .seconds(90)) == .seconds(300))
        #expect(BackgroundValidations.pause(after: 1, asking: .seconds(1 << 40)) == .seconds(3600))
    }

    @Test func `Failures of many keys are remembered for a limited number`() throws {
        let validations = BackgroundValidations(rememberingFailuresOf: 10)
        let now = ContinuousClock.now
        let keys = try (0..<30).map { try #require(ResponseKey(.get("https://example.com/\($0)"))) }
        for (number, key) in keys.enumerated() {
            #expect(validations.begin(key, at: now))
            validations.end(key, as: .failure(asking: .seconds(2 + number)), at: now)
        }
        #expect(validations.count == 10)
        #expect(!validations.begin(keys[29], at: now))
    }

    @Test func `A cancelled validation neither begins a pause nor ends one`() throws {
        let validations = BackgroundValidations()
        let now = ContinuousClock.now
        let key = try #require(ResponseKey(.get("https://example.com/")))
        #expect(validations.begin(key, at: now))
        #expect(!validations.begin(key, at: now))
        validations.end(key, as: .cancelled, at: now)
        #expect(validations.count == 0)
        _ = validations.begin(key, at: now)
        validations.end(key, as: .failure(asking: nil), at: now)
        #expect(validations.begin(key, at: now + .seconds(1)))
        validations.end(key, as: .cancelled, at: now + .seconds(1))
        #expect(validations.begin(key, at: now + .seconds(1)))
        validations.end(key, as: .failure(asking: nil), at: now + .seconds(1))
        #expect(!validations.begin(key, at: now + .seconds(2)))
    }
}
