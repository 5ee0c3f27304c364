import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Content that is sent from memory, from files and from streams.
@Suite(.timeLimit(.minutes(3))) struct URLSessionUploadTests {
    struct SourceError: Error, Equatable {}

    let connection = URLSessionConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
    }

    private func upload(_ body: Body) async throws -> ReceivedRequest {
        let response = try await connection.send(.put(origin.url + "/", body: body))
        #expect(try await response.body.text(upTo: 10) == "ok")
        return try #require(origin.requests.last)
    }

    @Test func `A large file is sent whole`() async throws {
        let received = try await upload(.pattern(32 << 20))

        #expect(received.bodyLength == 32 << 20)
        #expect(received.isBodyPattern)
    }

    @Test func `A stream that pauses is sent whole, and delays no other request`() async throws {
        let gate = Gate()
        let body = Body(replay: .once) { _ in PausingReader(gate: gate) }
        let request = try Request.put(origin.url + "/", body: body)
        let task = Task { [connection] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        for connection in [connection, URLSessionConnection()] {
            #expect(try await connection.send(.get(origin.url + "/")).status == .ok)
        }
        gate.open()

        #expect(try await task.value.status == .ok)
        #expect(origin.requests.map(\.bodyLength) == [0, 0, 200])
    }

    #if canImport(FoundationNetworking)
    // On Apple's systems a stream is sent while it is read, and the length of a file is checked at its start only.
    @Test func `A stream that is cancelled sends nothing`() async throws {
        let gate = Gate()
        let body = Body(replay: .once) { _ in
            gate.open()
            try await Gate().wait()
            return EndlessReader()
        }
        let request = try Request.put(origin.url + "/", body: body)
        let task = Task { [connection] in try await connection.send(request) }
        try await gate.wait()

        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(origin.connectionCount == 0)
    }

    @Test func `An endless stream can be cancelled while it is read`() async throws {
        let request = try Request.put(origin.url + "/", body: Body(replay: .once) { _ in EndlessReader() })
        let task = Task { [connection] in try await connection.send(request) }
        await Task.yield()

        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(origin.connectionCount == 0)
    }

    @Test func `A file that becomes shorter while it is sent fails the request`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("short-\(origin.port)")
        defer { try? FileManager.default.removeItem(at: file) }
        try BytePattern.bytes(64 << 20).write(to: file)
        let gate = Gate()
        origin.enqueue(
            .script(.receive(atLeast: 1), .wait(gate), .receiveBody, .hang), answering: .afterHead)
        let request = try Request.put(origin.url + "/", body: Body(contentsOf: file))
        let task = Task { [connection] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        try FileHandle(forWritingTo: file).truncate(atOffset: 1 << 20)
        gate.open()

        let error = await #expect(throws: TransportError.self) { _ = try await task.value }
        #expect(error?.code == .unreadableBody)
        #expect(error?.underlying is BodyLengthError)
    }
    #endif

    @Test func `Cancelling within the content closes the connection`() async throws {
        origin.enqueue(.script(.receive(atLeast: 1 << 20), .hang), answering: .afterHead)
        let request = try Request.put(origin.url + "/", body: .pattern(16 << 20))
        let task = Task { [connection] in try await connection.send(request) }
        try await origin.waitForHeads(1)

        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
    }
}

private struct EndlessReader: BodyReader {
    mutating func next() async throws -> Data? {
        await Task.yield()
        return BytePattern.bytes(100)
    }

    var trailers: HTTPFields? { nil }
}

private struct PausingReader: BodyReader {
    let gate: Gate
    var rest = 2

    mutating func next() async throws -> Data? {
        if rest == 1 { try await gate.wait() }
        rest -= 1
        return rest >= 0 ? BytePattern.bytes(100) : nil
    }

    var trailers: HTTPFields? { nil }
}

private struct PatternReader: BodyReader {
    var offset: Int64 = 0
    let count: Int64
    let failure: (any Error)?

    mutating func next() async throws -> Data? {
        guard offset < count else {
            if let failure { throw failure }
            return nil
        }
        let chunk = BytePattern.bytes(Int(min(count - offset, 100_000)), at: offset)
        offset += Int64(chunk.count)
        return chunk
    }

    var trailers: HTTPFields? { nil }
}

extension Body {
    fileprivate static func pattern(_ count: Int64, length: Int64? = nil, then failure: (any Error)? = nil) -> Body {
        Body(length: length, replay: .once) { _ in PatternReader(count: count, failure: failure) }
    }
}
