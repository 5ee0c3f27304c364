import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// What goes wrong where retries stand at the wrong place of a stack, and that it goes well at the right one.
@Suite(.timeLimit(.minutes(3))) struct PlaceOfRetriesTests {
    private let clock = ImpatientClock()
    private let busy = StubConnection { _ in Response(status: .serviceUnavailable) }

    @Test func `Retries around retries multiply, and one budget for both ends that`() async throws {
        let unlimited = RetryPolicy(budget: .unlimited)
        let twice = busy.retrying(unlimited, clock: clock).retrying(unlimited, clock: clock)
        let response = try await twice.send(.page)
        #expect(response.metadata.attempts == 16 && busy.requests.count == 16)

        let limited = RetryPolicy(budget: RetryBudget())
        let shared = busy.retrying(limited, clock: clock).retrying(limited, clock: clock)
        #expect(try await shared.send(.page).metadata.attempts == 2)
        let layers = shared.layers
        #expect(layers[0].memory.state == layers[1].memory.state && !layers[0].memory.state.isEmpty)
        let product = layers.prefix(2).reduce(1) { $0 * $1.sending.times.upperBound }
        #expect(product == 25, "Three retries, and one of a request that no server has processed.")
    }

    @Test func `Retries outside of redirections begin again at the first URL, and inside repeat the hop`() async throws
    {
        func server() -> StubConnection {
            let isFirst = Mutex(true)
            return StubConnection { request in
                if request.head.path == "/" { return Response(status: .found, fields: [.location: "/2"]) }
                let status: HTTPResponse.Status =
                    isFirst.withLock { isFirst in
                        defer { isFirst = false }
                        return isFirst
                    } ? .serviceUnavailable : .ok
                return Response(status: status)
            }
        }
        let (outside, inside) = (server(), server())

        _ = try await outside.followingRedirects().retrying(clock: clock).send(.page)
        _ = try await inside.retrying(clock: clock).followingRedirects().send(.page)

        #expect(outside.requests.map(\.head.path) == ["/", "/2", "/", "/2"])
        #expect(inside.requests.map(\.head.path) == ["/", "/2", "/2"])
    }

    @Test func `A status that became an error further in is not tried again`() async throws {
        let inside = busy.validatingStatus().retrying(clock: clock)
        await #expect(throws: StatusError.self) { try await inside.send(.page) }
        #expect(busy.requests.count == 1)

        let outside = busy.retrying(clock: clock).validatingStatus()
        await #expect(throws: StatusError.self) { try await outside.send(.page) }
        #expect(busy.requests.count > 2)
    }

    @Test func `Content that breaks after the head is not asked for again, so that no two parts are joined`()
        async throws
    {
        let stub = StubConnection { _ in
            Response(
                status: .ok,
                body: Body(
                    chunks: AsyncThrowingStream<Data, any Error> { continuation in
                        continuation.yield(Data("part".utf8))
                        continuation.finish(throwing: TransportError(.connectionLost, at: .body))
                    }))
        }
        let response = try await stub.retrying(clock: clock).send(.page)

        var reader = try await response.body.open()
        #expect(try await reader.next() == Data("part".utf8))
        await #expect(throws: TransportError.self) { _ = try await reader.next() }
        #expect(stub.requests.count == 1)
    }
}
