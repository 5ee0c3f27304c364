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

    private func get(_ call: CallContext? = nil) throws -> Request {
        var request = try Request.get("https://example.com/page")
        request.options.callContext = call
        return request
    }

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

    @Test func `A server that cannot be reached is asked less and less often`() async throws {
        let (connection, stub) = cache()
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        #expect(try await askedSeconds(of: connection, stub, within: 70) == [0, 1, 3, 7, 15, 31, 63])
    }

    @Test func `A response whose body breaks off is a failure, too`() async throws {
        let (connection, stub) = cache()
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        let chunks = AsyncThrowingStream<Data, any Error> {
            $0.finish(throwing: TransportError(.connectionLost, at: .body))
        }
        outcomes.withLock { [stale] in
            var broken = stale
            broken.body = Body(chunks: chunks)
            $0 = [broken]
        }
        #expect(try await askedSeconds(of: connection, stub, within: 8) == [0, 1, 3, 7])
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

    @Test func `A success ends the pauses, and a later failure begins with the shortest one`() async throws {
        let (connection, stub) = cache()
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        outcomes.withLock { $0 = [Response(status: .serviceUnavailable), nil, confirmation, nil] }
        // Failures at 0 and 1, a success at 3, after which it is fresh for a second, failures from 4 on.
        #expect(try await askedSeconds(of: connection, stub, within: 13) == [0, 1, 3, 4, 5, 7, 11])
    }

    @Test func `A Retry-After that is longer than the pause is kept`() async throws {
        let (connection, stub) = cache()
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        outcomes.withLock { $0 = [Response(status: .tooManyRequests, fields: [.retryAfter: "20"])] }
        #expect(try await askedSeconds(of: connection, stub, within: 25) == [0, 20, 22])
    }

    @Test func `Callers during a pause send nothing, and are told so`() async throws {
        let (connection, stub) = cache()
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        let call = CallContext(keepingHistory: 10)
        for _ in 0..<2 {
            let response = try await connection.send(get(call))
            #expect(response.metadata.cacheStatus?.detail == "stale-while-revalidate (RFC 5861, 3)")
            try await spawner.finished()
        }
        let words = "caching: with a response that is stale for 9 s, and validates it "
        #expect(
            call.history.map(\.description) == [
                words + "in the background", words + "later, since validations have failed",
            ])
        #expect(stub.requests.count == 2)
    }

    @Test func `A request of a caller is sent during a pause, and other keys have pauses of their own`() async throws {
        let (connection, stub) = cache()
        outcomes.withLock { $0 = [stale] }
        for path in ["page", "other"] { _ = try await connection.send(.get("https://example.com/\(path)")) }
        clock.advance(by: .seconds(10))
        for path in ["page", "other", "page", "other"] {
            _ = try await connection.send(.get("https://example.com/\(path)"))
            try await spawner.finished()
        }
        #expect(stub.requests.map(\.head.path) == ["/page", "/other", "/page", "/other"])

        var own = try get()
        own.head.headerFields[.cacheControl] = "no-cache"
        _ = try? await connection.send(own)
        #expect(stub.requests.count == 5)
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
            #expect(validations.begin(key, at: now) == .begins)
            validations.end(key, as: .failure(asking: .seconds(2 + number)), at: now)
        }
        #expect(validations.count == 10)
        #expect(validations.begin(keys[29], at: now) == .pausing)
    }

    @Test func `A cancelled validation neither begins a pause nor ends one`() throws {
        let validations = BackgroundValidations()
        let now = ContinuousClock.now
        let key = try #require(ResponseKey(.get("https://example.com/")))
        #expect(validations.begin(key, at: now) == .begins)
        #expect(validations.begin(key, at: now) == .underWay)
        validations.end(key, as: .init(CancellationError()), at: now)
        #expect(validations.count == 0)
        _ = validations.begin(key, at: now)
        validations.end(key, as: .failure(asking: nil), at: now)
        #expect(validations.begin(key, at: now + .seconds(1)) == .begins)
        validations.end(key, as: .cancelled, at: now + .seconds(1))
        #expect(validations.begin(key, at: now + .seconds(1)) == .begins)
        validations.end(key, as: .failure(asking: nil), at: now + .seconds(1))
        #expect(validations.begin(key, at: now + .seconds(2)) == .pausing)
    }
}
