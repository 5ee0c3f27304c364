#if os(Linux)
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Bodies that are under way: back-pressure, early ends and cancellation, both ways.
    @Suite(.timeLimit(.minutes(1))) struct CurlStreamingTests {
        let connection: CurlConnection
        let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
        }

        private func read(_ body: Body) async throws -> Int64 {
            var offset: Int64 = 0
            for try await chunk in body {
                guard BytePattern.matches(chunk, at: offset) else { return -1 }
                offset += Int64(chunk.count)
            }
            return offset
        }

        @Test(arguments: [false, true])
        func `A large body arrives whole`(isChunked: Bool) async throws {
            origin.enqueue(.generated(count: 20 << 20, chunked: isChunked))
            let response = try await connection.send(.get(origin.url + "/"))

            #expect(response.body.length == (isChunked ? nil : 20 << 20))
            #expect(try await read(response.body) == 20 << 20)
        }

        @Test func `A server is held back while its body is not read`() async throws {
            let sent = Gate()
            origin.enqueue(
                .script(.head(.ok, ["Content-Length": String(64 << 20)]), .generated(64 << 20), .wait(sent)))
            let response = try await connection.send(.get(origin.url + "/"))
            var reader = try await response.body.open()
            #expect(try await reader.next() != nil)

            // Other exchanges take as long as the socket's buffers take to fill, many times over.
            origin.route(.get, "/small", "small")
            for _ in 0..<200 {
                let small = try await connection.send(.get(origin.url + "/small"))
                try await small.body.drain(upTo: 100)
            }
            #expect(sent.waitingCount == 0)

            while try await reader.next() != nil {}
            try await sent.waitForWaiting(1)
        }

        @Test func `Content is read only as fast as the server takes it`() async throws {
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

        @Test(arguments: [nil, Int64(3 << 20)])
        func `A stream is sent while it is read`(length: Int64?) async throws {
            origin.route(.post, "/", "ok")
            let body = Body(length: length, replay: .once) { _ in ProducedBytes().reader(count: 3 << 20) }
            let response = try await connection.send(.post(origin.url + "/", body: body))

            #expect(response.status == .ok)
            let received = try #require(origin.requests.first)
            #expect(received.bodyLength == 3 << 20)
            #expect(received.isBodyPattern)
            #expect(received.fields["Content-Length"] == length.map(String.init))
            #expect(received.fields["Transfer-Encoding"] == (length == nil ? "chunked" : nil))
        }

        @Test func `An empty stream of unknown length is sent`() async throws {
            origin.route(.post, "/", "ok")
            let body = Body(replay: .once) { _ in ProducedBytes().reader(count: 0) }
            _ = try await connection.send(.post(origin.url + "/", body: body))

            #expect(origin.requests.first?.isComplete == true)
            #expect(origin.requests.first?.bodyLength == 0)
        }

        @Test func `Trailer fields of the request are sent`() async throws {
            origin.route(.post, "/", "ok")
            let trailers: HTTPFields = [.init("Digest") ?? .eTag: "x", .init("X-Count") ?? .eTag: "3"]
            let body = Body(replay: .once) { _ in ProducedBytes().reader(count: 100_000, trailers: trailers) }
            _ = try await connection.send(.post(origin.url + "/", body: body))

            let received = try #require(origin.requests.first)
            #expect(received.bodyLength == 100_000)
            #expect(received.trailers.lines.map(\.name) == ["Digest", "X-Count"])
            #expect(received.trailers.lines.map(\.value) == ["x", "3"])
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

        @Test func `A file is sent`() async throws {
            let file = FileManager.default.temporaryDirectory.appending(
                path: "decorum-\(UInt64.random(in: 0 ... .max))")
            try BytePattern.bytes(1 << 20).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            origin.route(.put, "/", "ok")
            _ = try await connection.send(.put(origin.url + "/", body: Body(contentsOf: file)))

            #expect(origin.requests.first?.bodyLength == 1 << 20)
            #expect(origin.requests.first?.isBodyPattern == true)
        }

        @Test func `A file that is gone fails before anything is sent`() async throws {
            let file = FileManager.default.temporaryDirectory.appending(
                path: "decorum-\(UInt64.random(in: 0 ... .max))")
            try Data("hello".utf8).write(to: file)
            let body = try Body(contentsOf: file)
            try FileManager.default.removeItem(at: file)

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.put(origin.url + "/", body: body))
            }
            #expect(error?.code == .unreadableBody)
            #expect(error?.stage == .connecting)
            #expect(origin.connectionCount == 0)
        }

        @Test func `Content that fails ends the exchange`() async throws {
            struct Broken: Error {}
            origin.route(.post, "/", "ok")
            let body = Body(length: 10, replay: .once) { _ in FailingReader(error: Broken()) }

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.post(origin.url + "/", body: body))
            }
            #expect(error?.code == .unreadableBody)
            #expect(error?.underlying is Broken)
            #expect(!origin.requests.contains { $0.isComplete })
            try await origin.waitForOpenConnections(0)
        }

        @Test func `Content that cannot be opened fails before anything is sent`() async throws {
            struct Broken: Error {}
            let body = Body(length: 10, replay: .once) { _ in throw Broken() }

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.post(origin.url + "/", body: body))
            }
            #expect(error?.code == .unreadableBody)
            #expect(error?.stage == .connecting)
            #expect(origin.connectionCount == 0)
        }

        @Test(arguments: [Int64(9), 11])
        func `Content of another length than promised ends the exchange`(count: Int64) async throws {
            origin.route(.post, "/", "ok")
            let body = Body(length: 10, replay: .once) { _ in ProducedBytes().reader(count: count) }

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.post(origin.url + "/", body: body))
            }
            #expect(error?.code == .unreadableBody)
            #expect(!origin.requests.contains { $0.isComplete })
        }

        @Test func `An answer that comes before the content is taken`() async throws {
            origin.enqueue(
                .script(
                    .raw("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"), .receiveBody),
                answering: .afterHead)
            let body = Body(length: 64 << 20, replay: .once) { _ in ProducedBytes().reader(count: 64 << 20) }
            let response = try await connection.send(.post(origin.url + "/", body: body))

            #expect(response.status.code == 413)
            #expect(try await response.body.text(upTo: 10) == "big")
        }

        @Test func `Both bodies are under way at the same time`() async throws {
            origin.enqueue(
                .script(
                    .head(.ok, ["Transfer-Encoding": "chunked"]), .receive(atLeast: 1), .chunk("1"),
                    .receive(atLeast: 2), .chunk("2"), .receiveBody, .chunk("3"), .lastChunk()), answering: .afterHead)
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            let response = try await connection.send(.post(origin.url + "/", body: Body(chunks: chunks)))
            var reader = try await response.body.open()

            feed.yield(Data("a".utf8))
            #expect(try await reader.next() == Data("1".utf8))
            feed.yield(Data("b".utf8))
            #expect(try await reader.next() == Data("2".utf8))
            feed.finish()
            #expect(try await reader.next() == Data("3".utf8))
            #expect(try await reader.next() == nil)
            #expect(origin.requests.first?.text == "ab")
        }

        @Test func `A body that is dropped unread closes its connection`() async throws {
            origin.enqueue(.generated(count: 1 << 30))
            do {
                _ = try await connection.send(.get(origin.url + "/"))
            }
            try await origin.waitForOpenConnections(0)
        }

        @Test func `A reader that is dropped closes its connection`() async throws {
            origin.enqueue(.generated(count: 1 << 30))
            do {
                let response = try await connection.send(.get(origin.url + "/"))
                var reader = try await response.body.open()
                #expect(try await reader.next() != nil)
            }
            try await origin.waitForOpenConnections(0)
        }

        @Test func `Cancelling before the head ends the exchange at once`() async throws {
            origin.enqueue(.hanging)
            let request = try Request.get(origin.url + "/")
            let task = Task { [connection] in try await connection.send(request) }
            try await origin.waitForRequests(1)

            let start = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(ContinuousClock.now - start < .seconds(1))
            try await origin.waitForOpenConnections(0)
        }

        @Test func `Cancelling within the body ends the exchange at once`() async throws {
            origin.enqueue(.script(.head(.ok, ["Content-Length": "9"]), .raw("hal"), .hang))
            let response = try await connection.send(.get(origin.url + "/"))
            let body = response.body
            let begun = Gate()
            let task = Task {
                var reader = try await body.open()
                _ = try await reader.next()
                begun.open()
                return try await reader.next()
            }
            try await begun.wait()

            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await origin.waitForOpenConnections(0)
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

        @Test func `A task that is cancelled already sends nothing`() async throws {
            let request = try Request.get(origin.url + "/")
            let task = Task { [connection] in
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                return try await connection.send(request)
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(origin.connectionCount == 0)
        }

        @Test func `A thousand exchanges are under way at the same time`() async throws {
            let connection = try CurlConnection(pool: .init(connectionsPerHost: 1000, idleConnections: 1000))
            let gate = Gate()
            for _ in 0..<1000 {
                origin.enqueue(LoopbackOrigin.Answer(body: BytePattern.bytes(1000)).after(.wait(gate)))
            }
            let url = origin.url + "/"
            let whole = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<1000 {
                    group.addTask {
                        BytePattern.matches(try await connection.send(.get(url)).body.data(upTo: 1000))
                    }
                }
                try await gate.waitForWaiting(1000)
                gate.open()
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(whole == 1000)
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
