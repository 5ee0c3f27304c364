#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Bodies during their transfer: back-pressure, early ends and cancellation, in both directions.
    @Suite(.timeLimit(.minutes(3))) struct CurlStreamingTests {
        let connection: CurlConnection
        let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
        }

        @Test(.enabled(if: SecureServer.missingForHTTP2 == nil, "nginx or openssl is not installed"))
        func `Over HTTP/2 too, a server learns that content has ended too soon`() async throws {
            let server = try await SecureServer.nginx(before: origin)
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            let connection = try CurlConnection(protocols: .http2, tls: tls)
            origin.enqueue(.script(.receiveBody, .hang), answering: .afterHead)
            let (chunks, continuation) = AsyncStream.makeStream(of: Data.self)
            continuation.yield(BytePattern.bytes(50_000))
            let task = Task {
                try await connection.send(.put(server.url + "/", body: Body(chunks: chunks, length: 100_000)))
            }
            try await origin.waitForHeads(1)
            continuation.finish()
            await #expect(throws: TransportError.self) { try await task.value }
            #expect(origin.requests.filter(\.isComplete).isEmpty)
            try await origin.waitForOpenConnections(0)
        }

        @Test func `Content is read only as fast as the server receives it`() async throws {
            let gate = Gate()
            origin.enqueue(
                .script(.wait(gate), .receiveBody, .head(.ok, ["Content-Length": "5"]), .raw("taken")),
                answering: .afterHead)
            let produced = ProducedBytes()
            let body = Body(length: 64 << 20, replay: .once) { _ in produced.reader(count: 64 << 20) }
            async let response = connection.send(.post(origin.url + "/", body: body))
            try await gate.waitForWaiting(1)
            origin.route(.get, "/small", "small")
            for _ in 0..<200 {
                let small = try await connection.send(.get(origin.url + "/small"))
                try await small.body.drain(upTo: 100)
            }
            #expect(produced.count < 32 << 20)

            gate.open()
            #expect(try await response.body.text(upTo: 100) == "taken")
            #expect(produced.count == 64 << 20)
            #expect(origin.requests.contains { $0.bodyLength == 64 << 20 && $0.isBodyPattern })
        }

        @Test func `An empty stream of unknown length is sent`() async throws {
            origin.route(.post, "/", "ok")
            let body = Body(replay: .once) { _ in ProducedBytes().reader(count: 0) }
            _ = try await connection.send(.post(origin.url + "/", body: body))

            #expect(origin.requests.first?.isComplete == true)
            #expect(origin.requests.first?.bodyLength == 0)
        }

        @Test func `Streams follow each other on one connection`() async throws {
            origin.route(.post, "/", "ok")
            for number in 1...20 {
                let trailers: HTTPFields? = number % 2 == 0 ? [.eTag: "x"] : nil
                let body = Body(replay: .once) { _ in ProducedBytes().reader(count: 200_000, trailers: trailers) }
                try await connection.send(.post(origin.url + "/", body: body)).body.drain(upTo: 100)
            }
            #expect(origin.requests.allSatisfy { $0.bodyLength == 200_000 && $0.isBodyPattern })
            #expect(origin.connectionCount == 1)
        }

        @Test func `A body that cannot be opened fails before anything is sent`() async throws {
            struct Broken: Error {}
            let body = Body(length: 10, replay: .once) { _ in throw Broken() }

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.post(origin.url + "/", body: body))
            }
            #expect(error?.code == .unreadableBody)
            #expect(error?.stage == .connecting)
            #expect(origin.connectionCount == 0)
        }

        @Test func `Cancelling while content is sent stops its reader`() async throws {
            origin.enqueue(.hanging, answering: .afterHead)
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            let stopped = Gate()
            feed.onTermination = { _ in stopped.open() }
            let request = try Request.post(origin.url + "/", body: Body(chunks: chunks))
            let task = Task { [connection] in try await connection.send(request) }
            feed.yield(Data("a".utf8))
            try await origin.waitForHeads(1)

            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await stopped.wait()
            try await origin.waitForOpenConnections(0)
        }

        @Test func `A limit on connections is kept`() async throws {
            let connection = try CurlConnection(pool: .init(connectionsPerHost: 3))
            origin.route(.get, "/", .init(body: "ok"))
            let url = origin.url + "/"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask { _ = try await connection.send(.get(url)).body.data(upTo: 10) }
                }
                try await group.waitForAll()
            }
            #expect(origin.connectionCount <= 3)
            #expect(origin.requests.count == 100)
        }
    }
}
#endif
