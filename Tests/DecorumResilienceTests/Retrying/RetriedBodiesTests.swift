import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Bodies of requests and responses that are sent again.
@Suite(.timeLimit(.minutes(3))) struct RetriedBodiesTests {
    private let clock = VirtualClock()
    /// A policy that sends again without a wait.
    private let atOnce = RetryPolicy(baseDelay: .zero, budget: .unlimited)

    @Test func `A body that is read once is sent once`() async throws {
        let stub = StubConnection(answers: [
            { request in
                try await request.body.drain(upTo: 100)
                return .unavailable()
            }
        ])
        let body = GatedTransfer.open.body(chunks: 1, of: 10)

        let response = try await stub.retrying(clock: clock).send(.put("https://a.example/", body: body))

        #expect(response.status == 503)
        #expect(stub.requests.count == 1)
    }

    @Test func `A streamed body that can be read again is sent again`() async throws {
        let body = Body(replay: .fromStart) { _ in try await Body("content").open() }
        let contents = Mutex<[String]>([])
        let stub = StubConnection { request in
            let content = try await request.body.text(upTo: 100)
            let attempts = contents.withLock { contents in
                contents.append(content)
                return contents.count
            }
            return attempts == 1 ? .unavailable() : .ok
        }

        #expect(
            try await stub.retrying(atOnce, clock: clock).send(.put("https://a.example/", body: body)).status == .ok)
        #expect(contents.withLock { $0 } == ["content", "content"])
    }

    @Test(arguments: [("GET", 200), ("GET", 404), ("POST", 503)])
    func `A response that is not retried passes through with its body`(method: String, status: Int) async throws {
        let transfer = GatedTransfer.open
        let stub = StubConnection(answers: [
            { _ in Response(status: .init(code: status), body: transfer.body(chunks: 3, of: 10)) }
        ])
        let request = try Request(try #require(.init(method)), "https://a.example/")

        let response = try await stub.retrying(clock: clock).send(request)

        #expect(transfer.bytesRead == 0)
        #expect(try await response.body.data(upTo: 100).count == 30)
        #expect(response.metadata.attempts == 1)
        #expect(stub.requests == [request])
    }

    @Test(arguments: [(nil, 2, 2000), (nil, .max, 17_000), (1 << 40, .max, 0)] as [(Int64?, Int, Int)])
    func `A discarded body is drained or dropped before the wait`(
        length: Int64?, chunks: Int, bytesRead: Int
    ) async throws {
        let transfer = GatedTransfer.open
        let stub = StubConnection(answers: [
            { _ in .unavailable(body: transfer.body(length: length, chunks: chunks, of: 1000)) }, { _ in .ok },
        ])
        async let response = stub.retrying(clock: clock).send(.page)

        // The limit for reading the rest is a second, and the wait after it half a second at most.
        try await yield { clock.pendingSleeps.contains { $0 <= .milliseconds(500) } }
        #expect(transfer.isAlive == false)
        #expect(transfer.bytesRead == bytesRead)
        clock.advance(by: .seconds(1))

        #expect(try await response.status == .ok)
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
