#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Reusing pooled connections; where one turns out to be dead, no request is sent twice in silence.
    @Suite(.timeLimit(.minutes(3))) struct CurlPoolTests {
        enum Content: CaseIterable, Sendable {
            case none
            case bytes
            case manyBytes
            case stream

            var body: Body {
                switch self {
                case .none: .empty
                case .bytes: "hello"
                case .manyBytes: Body(BytePattern.bytes(300_000))
                case .stream: Body(replay: .fromStart) { _ in ProducedBytes().reader(count: 300_000) }
                }
            }
        }

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

        @Test(arguments: [HTTPRequest.Method.get, .post, .put, .delete], Content.allCases)
        func `A request is not sent again when the server closes its connection`(
            method: HTTPRequest.Method, content: Content
        ) async throws {
            for answer in [LoopbackOrigin.Answer.closing, .resetting] {
                origin.forgetRequests()
                try await warmUp()
                origin.enqueue(answer)
                let request = try Request(method, origin.url + "/", body: content.body)

                let error = await #expect(throws: TransportError.self) { try await connection.send(request) }

                #expect(error?.code == .connectionLost)
                #expect(error?.stage == .head)
                #expect(origin.requests.count == 2)
            }
        }

        @Test(arguments: [Duration(attoseconds: .max), .seconds(Int64.max), .seconds(-1), Duration(attoseconds: .min)])
        func `An unused connection may be kept for any time`(duration: Duration) async throws {
            let connection = try CurlConnection(pool: .init(idleLifetime: duration, lifetime: duration))
            for _ in 0..<2 {
                origin.enqueue("kept")
                #expect(try await connection.send(.get(origin.url + "/")).body.text(upTo: 100) == "kept")
            }
        }

        @Test func `A connection that the server closed while idle is not reused`() async throws {
            for _ in 0..<5 {
                origin.enqueue(.script(.head(.ok, ["Content-Length": "0"]), .close))
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
                try await origin.waitForOpenConnections(0)
                origin.enqueue("taken")
                let response = try await connection.send(.post(origin.url + "/", body: "hello"))
                #expect(try await response.body.text(upTo: 100) == "taken")
            }
            #expect(origin.requests.count == 10)
        }

        @Test func `A request that gets 417 for its Expect is sent once`() async throws {
            try await warmUp()
            origin.enqueue(.init(.init(code: 417), body: "no"), answering: .afterHead)
            // libcurl sends the content after a second without an answer. Here there is none to send, so the 417 always
            // comes first.
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            defer { feed.finish() }
            let body = Body(chunks: chunks, length: 5)
            let request = try Request.post(origin.url + "/", fields: [.expect: "100-continue"], body: body)

            let result = await Result.catching { try await connection.send(request) }

            #expect(origin.requests.count == 2)
            let response = try result.get()
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

        @Test func `A connection with no idle lifetime is not reused`() async throws {
            let connection = try CurlConnection(pool: .init(idleLifetime: .zero))
            origin.route(nil, "*", "ok")
            for _ in 0..<3 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            #expect(origin.connectionCount == 3)
            try await origin.waitForOpenConnections(0)
        }

        @Test func `A busy connection is replaced after its lifetime`() async throws {
            let connection = try CurlConnection(pool: .init(lifetime: .seconds(1)))
            origin.route(nil, "*", "ok")
            // libcurl measures the time with its own clock.
            while origin.connectionCount < 2 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            #expect(origin.requests.count > 2)
            try await origin.waitForOpenConnections(1)
        }

        @Test func `The lifetime is five minutes by default, and never negative`() {
            #expect(CurlConnection.Pool().lifetime == .seconds(300))
            #expect(CurlConnection.Pool(lifetime: nil).lifetime == nil)
            #expect(CurlConnection.Pool(lifetime: .seconds(-1)).lifetime == .zero)
        }

        @Test(arguments: [nil, .seconds(Int64.max)] as [Duration?])
        func `A connection without a lifetime, or with a very long one, is reused`(lifetime: Duration?) async throws {
            let connection = try CurlConnection(pool: .init(lifetime: lifetime))
            origin.route(nil, "*", "ok")
            for _ in 0..<3 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            #expect(origin.connectionCount < 3)
        }

        @Test func `An idle lifetime of less than a second is rounded up`() async throws {
            let connection = try CurlConnection(pool: .init(idleLifetime: .milliseconds(1)))
            origin.route(nil, "*", "ok")
            for _ in 0..<3 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            #expect(origin.requests.count == 3)
            #expect(origin.connectionCount < 3)
        }
    }
}

extension Result where Failure == any Error {
    fileprivate static func catching(_ body: () async throws -> Success) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
#endif
