#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Reusing pooled connections, and the wait for `100 Continue`.
    @Suite(.timeLimit(.minutes(3))) struct CurlPoolTests {
        private let connection: CurlConnection
        private let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
        }

        private func warmUp() async throws {
            origin.enqueue("warm")
            try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
        }

        @Test func `A request that gets 417 for its Expect is sent once`() async throws {
            try await warmUp()
            origin.enqueue(.init(.init(code: 417), body: "no"), answering: .afterHead)
            // libcurl sends the content after a second without an answer. Here it has no content to send, so the 417 always
            // comes first.
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            defer { feed.finish() }
            let body = Body(chunks: chunks, length: 5)
            let request = try Request.post(origin.url + "/", fields: [.expect: "100-continue"], body: body)

            let response = try await connection.send(request)
            #expect(origin.requests.count == 2)
            #expect(response.status.code == 417)
            let error = await #expect(throws: TransportError.self) { try await response.body.text(upTo: 100) }
            #expect(error?.code == .expectationFailed)
            #expect(error?.stage == .body)
        }

        @Test func `Content waits for 100 Continue where the request has Expect`() async throws {
            origin.route(.post, "/", "ok")
            let request = try Request.post(origin.url + "/", fields: [.expect: "100-continue"], body: "hello")
            let response = try await connection.send(request)

            #expect(response.status == .ok)
            // libcurl waits for at most one second.
            #expect(response.metadata.informational.allSatisfy { $0.status == .continue })
            #expect(origin.requests.first?.text == "hello")
        }

        @Test(
            arguments: [
                (.init(idleLifetime: .zero), 3), (.init(lifetime: .zero), 3),
                (.init(idleLifetime: .milliseconds(1)), 1),
                (.init(lifetime: nil), 1), (.init(idleLifetime: .seconds(Int64.max), lifetime: .seconds(Int64.max)), 1),
                (.init(idleLifetime: .seconds(-1), lifetime: .seconds(-1)), 3),
            ] as [(CurlConnection.Pool, Int)])
        func `A connection is used again within its lifetimes`(pool: CurlConnection.Pool, count: Int) async throws {
            let connection = try CurlConnection(pool: pool)
            origin.route(nil, "*", "ok")
            for _ in 0..<3 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            // libcurl rounds an idle lifetime up to a second, which may pass on a busy machine.
            #expect(count == 3 ? origin.connectionCount == 3 : origin.connectionCount < 3)
        }

        @Test func `A busy connection is replaced after its lifetime`() async throws {
            let connection = try CurlConnection(pool: .init(lifetime: .seconds(1)))
            // libcurl measures the time with its own clock.
            origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok").after(.pause(.milliseconds(20))))
            while origin.connectionCount < 2 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            #expect(origin.requests.count > 2)
            try await origin.waitForOpenConnections(1)
        }
    }
}
#endif
