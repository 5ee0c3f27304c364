import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Tests how bodies are stored, shared, and served in parts.
@Suite(.timeLimit(.minutes(3))) struct CachedBodyTests {
    let store = MemoryResponseStore(byteLimit: 1 << 20)
    let spawner = TrackingSpawner()
    let gate = Gate()

    struct BrokenOff: Error {}

    private func cache(_ base: some Connection) -> some Connection {
        base.caching(in: store, spawner: spawner)
    }

    private func get(_ fields: HTTPFields = [:]) throws -> Request {
        try .get("https://example.com/film", fields: fields)
    }

    private func film(chunks: Int = 3) -> Response {
        Response(
            status: .ok, fields: [.cacheControl: "max-age=60", .eTag: #""1""#],
            body: GatedTransfer.open.body(chunks: chunks))
    }

    @Test func `A body is stored while it is read, and is found only after its end`() async throws {
        let stub = StubConnection { [self] _ in film() }
        let connection = cache(stub)

        var iterator = try await connection.send(get()).body.makeAsyncIterator()
        _ = try await iterator.next()
        #expect(store.count == 0)
        while try await iterator.next() != nil {}
        #expect(store.count == 1)

        let hit = try await connection.send(get())
        #expect(hit.metadata.source == .cache)
        #expect(try await hit.body.data(upTo: 3000) == BytePattern.bytes(3000))
        #expect(try await hit.body.data(upTo: 3000) == BytePattern.bytes(3000))
    }

    @Test func `A body that is dropped, fails or is too long is not stored`() async throws {
        let broken = Response(
            status: .ok, fields: [.cacheControl: "max-age=60"],
            body: Body(
                chunks: AsyncThrowingStream<Data, any Error> { continuation in
                    continuation.yield(Data("half".utf8))
                    continuation.finish(throwing: BrokenOff())
                }))
        let connection = cache(StubConnection(film(), broken, film(chunks: 400)))

        var iterator = try await connection.send(get()).body.makeAsyncIterator()
        _ = try await iterator.next()
        iterator = Body.empty.makeAsyncIterator()
        await #expect(throws: BrokenOff.self) { try await connection.send(get()).body.data(upTo: 3000) }
        let long = try await connection.send(get()).body.data(upTo: 1 << 20)

        #expect(long == BytePattern.bytes(400_000))
        #expect(store.count == 0)
    }

    @Test(arguments: [true, false])
    func `A response that is too long to store removes the one that it replaces`(isStream: Bool) async throws {
        let long = Response(
            status: .ok, fields: [.cacheControl: "max-age=60"],
            body: isStream ? GatedTransfer.open.body(chunks: 400) : Body(BytePattern.bytes(400_000)))
        let stub = StubConnection(film(), long, film())
        let connection = cache(stub)
        _ = try await connection.send(get()).body.data(upTo: 3000)
        #expect(store.count == 1)

        var reload = try get()
        reload.options.cacheUse = .reload
        let response = try await connection.send(reload)
        #expect(try await response.body.data(upTo: 1 << 20) == BytePattern.bytes(400_000))

        #expect(store.count == 0)
        #expect(try await connection.send(get()).metadata.source == .stub)
    }

    @Test func `Fifty concurrent misses share one request and one stored response`() async throws {
        let stub = StubConnection { [gate, self] _ in
            try await gate.wait()
            return film()
        }
        let connection = cache(stub)
        let request = try get()
        let callers = await Callers.start(50) { _ in
            let response = try await connection.send(request)
            return (response.metadata.cacheStatus?.isCollapsed == true, try await response.body.data(upTo: 3000))
        }
        callers[0].cancel()
        gate.open()

        var collapsed = 0
        for caller in callers.dropFirst() {
            let (isCollapsed, data) = try await caller.value
            #expect(data == BytePattern.bytes(3000))
            collapsed += isCollapsed ? 1 : 0
        }
        // The second caller has sent the request again, since the first one was cancelled.
        #expect(collapsed == 48)
        #expect(stub.requests.count == 2)
        try await spawner.finished()
        #expect(try await connection.send(get()).metadata.source == .cache)
    }

    @Test func `Fifty callers that find a stale response make one validation`() async throws {
        let clock = VirtualClock()
        let stub = StubConnection(answers: [{ [self] _ in film() }]) { [gate] _ in
            try await gate.wait()
            return Response(status: .notModified, fields: [.eTag: #""1""#, .cacheControl: "max-age=60"])
        }
        let connection = stub.caching(in: store, clock: clock, spawner: spawner)
        _ = try await connection.send(get()).body.data(upTo: 3000)
        clock.advance(by: .seconds(100))
        let request = try get()
        let callers = await Callers.start(50) { _ in
            let response = try await connection.send(request)
            return (response.metadata.source, try await response.body.data(upTo: 3000))
        }
        gate.open()
        for caller in callers {
            let (source, data) = try await caller.value
            #expect(source == .revalidated)
            #expect(data == BytePattern.bytes(3000))
        }
        #expect(stub.requests.count == 2)
    }

    private func part(_ bounds: Range<Int>, of length: Int = 3000, tag: String = #""1""#) -> Response {
        Response(
            status: .partialContent,
            fields: [
                .cacheControl: "max-age=60", .eTag: tag,
                .contentRange: "bytes \(bounds.lowerBound)-\(bounds.upperBound - 1)/\(length)",
            ], body: Body(BytePattern.bytes(length)[bounds]))
    }

    @Test func `Parts with one strong validator are combined, and the rest completes them`() async throws {
        let stub = StubConnection(part(0..<1000), part(1000..<2000), part(2000..<3000))
        let connection = cache(stub)
        _ = try await connection.send(get([.range: "bytes=0-999"])).body.data(upTo: 3000)
        _ = try await connection.send(get([.range: "bytes=1000-1999"])).body.data(upTo: 3000)

        let inside = try await connection.send(get([.range: "bytes=500-1499"]))
        #expect(try await inside.body.data(upTo: 3000) == BytePattern.bytes(3000)[500..<1500])
        #expect(stub.requests.count == 2)

        let whole = try await connection.send(get())
        #expect(stub.requests[2].head.headerFields == [.range: "bytes=2000-", .ifRange: #""1""#])
        #expect(whole.status == .ok)
        #expect(whole.head.headerFields[.contentRange] == nil)
        #expect(whole.metadata.cacheStatus?.forwardReason == .partial)
        #expect(try await whole.body.data(upTo: 3000) == BytePattern.bytes(3000))
        #expect(try await connection.send(get()).body.data(upTo: 3000) == BytePattern.bytes(3000))
        #expect(stub.requests.count == 3)
    }

    @Test func `A slow reader holds the transfer back and gets every byte`() async throws {
        let transfer = GatedTransfer()
        let response = Response(
            status: .ok, fields: [.cacheControl: "max-age=60"], body: transfer.body(chunks: 3))
        let connection = cache(StubConnection(response))
        var iterator = try await connection.send(get()).body.makeAsyncIterator()
        var data = Data()
        for count in 1...3 {
            transfer.gate.admit()
            data += try await #require(iterator.next())
            #expect(transfer.chunksRead == count)
        }
        transfer.gate.open()
        #expect(try await iterator.next() == nil)
        #expect(data == BytePattern.bytes(3000))
        #expect(store.count == 1)
    }

    @Test func `A confirmation is not shared if the response varies between the callers`() async throws {
        let clock = VirtualClock()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: #""1""#, .vary: "X-Request-ID"]
        let stub = StubConnection(answers: [{ _ in Response(status: .ok, fields: fields, body: "page") }]) {
            [gate] _ in
            try await gate.wait()
            return Response(status: .notModified, fields: fields)
        }
        let connection = stub.caching(in: store, clock: clock, spawner: spawner)
        _ = try await connection.send(get(HTTPFields(lines: "X-Request-ID: a")))
        clock.advance(by: .seconds(100))
        let requests = try (0..<3).map { try get(HTTPFields(lines: "X-Request-ID: \($0)")) }
        let callers = await Callers.start(3) { try await connection.send(requests[$0]).body.text(upTo: 100) }
        gate.open()
        for caller in callers { #expect(try await caller.value == "page") }
        #expect(stub.requests.count == 4)
    }

    @Test func `A caller without a range or condition gets no other caller's part or 304`() async throws {
        let stub = StubConnection { [gate] request in
            try await gate.wait()
            if request.head.headerFields.contains(.ifNoneMatch) { return Response(status: .notModified) }
            if request.head.headerFields.contains(.range) {
                return Response(status: .partialContent, fields: [.contentRange: "bytes 5-9/10"], body: "56789")
            }
            return Response(status: .ok, body: "0123456789")
        }
        let key = try #require(ResponseKey(get()))
        let start = HTTPResponse(
            status: .partialContent, headerFields: [.cacheControl: "max-age=60", .contentRange: "bytes 0-4/10"])
        await store.store(
            StoredResponse(head: start, body: "01234", request: try get().head, date: .now), for: key)
        let connection = cache(stub)
        let requests = try [get([.range: "bytes=5-"]), get([.ifNoneMatch: #""1""#]), get()]
        let callers = await Callers.start(3) { number in
            let response = try await connection.send(requests[number])
            return (response.status, try await response.body.text(upTo: 100))
        }
        gate.open()
        let answers = [try await callers[0].value, try await callers[1].value, try await callers[2].value]
        #expect(answers.map(\.0) == [.partialContent, .notModified, .ok])
        #expect(answers.map(\.1) == ["56789", "", "0123456789"])
    }
}
