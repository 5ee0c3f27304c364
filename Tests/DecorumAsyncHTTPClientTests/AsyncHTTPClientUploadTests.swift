#if AsyncHTTPClient
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumAsyncHTTPClient

private typealias Content = AsyncHTTPClientContent

/// Content that is sent from memory, from files and from streams.
@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientUploadTests {
    struct SourceError: Error, Equatable {}

    let connection = AsyncHTTPClientConnection()
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

    @Test(arguments: [0, 1, 65_536, 65_537, 5_000_000], [true, false])
    func `A stream is sent whole, with its length or in chunks`(count: Int64, isKnown: Bool) async throws {
        let received = try await upload(.pattern(count, length: isKnown ? count : nil))

        #expect(received.bodyLength == count)
        #expect(received.isBodyPattern)
        #expect(received.fields.values(of: "Content-Length") == (isKnown ? ["\(count)"] : []))
        #expect(received.fields.values(of: "Transfer-Encoding") == (isKnown ? [] : ["chunked"]))
    }

    @Test(arguments: [0, 1, 65_536, 65_537, 5_000_000])
    func `Bytes and files are sent whole, with their length`(count: Int) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ahc-\(count)-\(origin.port)")
        defer { try? FileManager.default.removeItem(at: file) }
        try BytePattern.bytes(count).write(to: file)

        for body in [Body(BytePattern.bytes(count)), try Body(contentsOf: file)] {
            let received = try await upload(body)
            #expect(received.bodyLength == Int64(count))
            #expect(received.isBodyPattern)
            #expect(received.fields.values(of: "Content-Length") == ["\(count)"])
        }
    }

    @Test(arguments: [1, 65_536, 65_537, 5_000_000])
    func `Over TLS, content in memory is given to the client as bytes, and a file as a stream`(count: Int) async throws
    {
        let client = AsyncHTTPClientOwner(AsyncHTTPClientConnection.configuration(), clock: SystemClock())
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ahc-form-\(count)-\(origin.port)")
        defer { try? FileManager.default.removeItem(at: file) }
        try BytePattern.bytes(count).write(to: file)

        let watch = TimeLimitWatch(clock: SystemClock())
        let memory: Content = try await .make(
            Body(BytePattern.bytes(count)), for: client, isSecure: true, until: nil, on: watch)
        guard case .bytes(let bytes) = memory else {
            Issue.record("Content in memory is not given as bytes.")
            return
        }
        #expect(bytes.count == count)
        let stored: Content = try await .make(
            Body(contentsOf: file), for: client, isSecure: true, until: nil, on: watch)
        guard case .stream(_, length: Int64(count)) = stored else {
            Issue.record("A file is not given as a stream.")
            return
        }
    }

    @Test func `A stream goes up while it is made`() async throws {
        let gate = Gate()
        let (chunks, source) = AsyncStream<Data>.makeStream()
        origin.enqueue(
            .script(.receive(atLeast: 1), .wait(gate), .receiveBody, .head(.ok, ["Content-Length": "0"])),
            answering: .afterHead)
        let request = try Request.put(origin.url + "/", body: Body(chunks: chunks))
        let task = Task { [connection] in try await connection.send(request).status }
        source.yield(Data("a".utf8))

        try await gate.waitForWaiting(1)
        source.yield(Data("b".utf8))
        source.finish()
        gate.open()
        #expect(try await task.value == .ok)
        #expect(try await origin.waitForRequests(1).last?.text == "ab")
    }

    @Test func `A server that does not read holds the source back`() async throws {
        let produced = Mutex<Int64>(0)
        let gate = Gate()
        let body = Body(replay: .once) { _ in
            CountingReader { produced.withLock { $0 += 65_536 } }
        }
        origin.enqueue(.script(.receive(atLeast: 1), .wait(gate)), answering: .afterHead)
        let request = try Request.put(origin.url + "/", body: body)
        let task = Task { [connection] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        for _ in 0..<200 { _ = try await connection.send(.get(origin.url + "/small")).body.drain(upTo: 10) }

        #expect(produced.withLock { $0 } < 32 << 20)
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
    }

    @Test func `A stream that fails fails the request and keeps its error`() async throws {
        let request = try Request.put(origin.url + "/", body: .pattern(100_000, then: SourceError()))

        let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
        #expect(error?.code == .unreadableBody)
        #expect(error?.stage == .head)
        #expect(error?.underlying is SourceError)
        try await origin.waitForOpenConnections(0)
        #expect(origin.requests.allSatisfy { !$0.isComplete })
    }

    @Test func `A stream that cannot be opened sends nothing`() async throws {
        let request = try Request.put(origin.url + "/", body: Body(replay: .once) { _ in throw SourceError() })

        let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
        #expect(error?.code == .unreadableBody)
        #expect(error?.stage == .connecting)
        #expect(origin.connectionCount == 0)
    }

    @Test func `A stream that breaks its promise of a length is never sent as complete`() async throws {
        for length in [99_999, 100_001] as [Int64] {
            let request = try Request.put(origin.url + "/", body: .pattern(100_000, length: length))
            let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
            #expect(error?.underlying is BodyLengthError)
        }
        #expect(origin.requests.allSatisfy { !$0.isComplete })
    }

    @Test func `A body that was read once is not sent empty`() async throws {
        let body = Body.pattern(10)
        _ = try await upload(body)

        let error = await #expect(throws: TransportError.self) { try await upload(body) }
        #expect(error?.underlying is BodyReadTwiceError)
        #expect(origin.requests.count == 1)
    }

    @Test func `Cancelling within the content closes the connection and releases the source`() async throws {
        let ended = Gate()
        origin.enqueue(.script(.receive(atLeast: 1), .hang), answering: .afterHead)
        let body = Body(replay: .once) { _ in HangingReader(release: Release(opening: ended)) }
        let request = try Request.put(origin.url + "/", body: body)
        let task = Task { [connection] in try await connection.send(request) }
        try await origin.waitForHeads(1)

        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        try await ended.wait()
        try await origin.waitForOpenConnections(0)
    }
}

private struct CountingReader: BodyReader {
    let count: @Sendable () -> Void

    mutating func next() async throws -> Data? {
        count()
        return Data(count: 65_536)
    }

    var trailers: HTTPFields? { nil }
}

/// Returns one byte, and then waits.
private struct HangingReader: BodyReader {
    let release: Release
    var hasGiven = false

    mutating func next() async throws -> Data? {
        if hasGiven { try await Gate().wait() }
        hasGiven = true
        return Data("a".utf8)
    }

    var trailers: HTTPFields? { nil }
}

/// Opens a gate when it is released.
private final class Release: Sendable {
    private let gate: Gate

    init(opening gate: Gate) {
        self.gate = gate
    }

    deinit {
        gate.open()
    }
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
#endif
