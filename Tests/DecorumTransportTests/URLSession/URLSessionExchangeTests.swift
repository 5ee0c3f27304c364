import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The requests that a server receives, and responses that the platform would act upon or that are read slowly.
@Suite(.timeLimit(.minutes(3))) struct URLSessionExchangeTests {
    let connection = URLSessionConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(nil, "*", "ok")
    }

    @Test(arguments: [HTTPRequest.Method.get, .head])
    func `GET and HEAD with content are refused before anything is sent`(method: HTTPRequest.Method) async throws {
        let request = try Request(method, origin.url + "/", body: "hello")

        let error = await #expect(throws: InvalidRequestError.self) { try await connection.send(request) }
        #expect(error?.reason == .invalidBody)
        #expect(origin.connectionCount == 0)
    }

    @Test func `A stream that pauses is sent whole, and delays no other request`() async throws {
        let gate = Gate()
        let body = Body(replay: .once) { _ in
            try await gate.wait()
            return try await Body("late").open()
        }
        let request = try Request.put(origin.url + "/", body: body)
        let task = Task { [connection] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        for connection in [connection, URLSessionConnection()] {
            #expect(try await connection.send(.get(origin.url + "/")).status == .ok)
        }
        gate.open()

        #expect(try await task.value.status == .ok)
        #expect(origin.requests.map(\.text) == ["", "", "late"])
    }

    #if canImport(FoundationNetworking)
    @Test(arguments: ["[::1]", "[::1]:80", "[fe80::1]"])
    func `An IPv6 address is refused before anything is sent`(authority: String) async throws {
        let error = await #expect(throws: InvalidRequestError.self) {
            try await connection.send(.get("http://\(authority)/"))
        }
        #expect(error?.reason == .invalidHost)
    }

    // On Apple's systems the length of a file is checked at its start only.
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

    private func response(
        to answer: LoopbackOrigin.Answer, as method: HTTPRequest.Method = .get
    ) async throws -> Response {
        origin.enqueue(answer)
        return try await connection.send(Request(method, origin.url + "/"))
    }

    @Test func `A 401 with a Basic challenge that is cut short is an error`() async throws {
        let response = try await response(
            to:
                .script(
                    .head(.unauthorized, ["WWW-Authenticate": "Basic", "Content-Length": "9"]), .raw("who"), .close))

        let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }
        #expect(error?.code == .truncated)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `A redirection to nowhere is a response`(code: Int) async throws {
        let response = try await response(to: .init(.init(code: code)))

        #expect(response.status.code == code)
        #expect(try await response.body.data(upTo: 100).isEmpty)
    }

    private func get() throws -> Request { try .get(origin.url + "/") }

    #if canImport(FoundationNetworking)
    // Where a slow reader holds the server back, the one connection stays busy, and nothing overflows.
    @Test func `A body whose reader is slow waits in the file and is read whole`() async throws {
        let connection = URLSessionConnection(connectionsPerHost: 1, backlog: .init(memory: 64 << 10))
        origin.enqueue(.generated(count: 8 << 20))
        let response = try await connection.send(get())
        // The one connection serves the next request once all of the first response has arrived.
        origin.enqueue(LoopbackOrigin.Answer())
        _ = try await connection.send(get())

        #expect(try await response.body.patternLength() == 8 << 20)
    }

    @Test func `A reader that is too far behind gets an error, and the transfer ends`() async throws {
        let connection = URLSessionConnection(backlog: .init(memory: 64 << 10, disk: 1 << 20))
        origin.enqueue(.generated(count: 1 << 40))
        let response = try await connection.send(get())
        try await origin.waitForOpenConnections(0)

        let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: .max) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.stage == .body)
    }
    #endif
}

extension Body {
    /// Reads the body and returns how many of its bytes match the pattern.
    fileprivate func patternLength() async throws -> Int64 {
        var offset: Int64 = 0
        for try await chunk in self {
            guard BytePattern.matches(chunk, at: offset) else { return offset }
            offset += Int64(chunk.count)
        }
        return offset
    }
}

@Suite(.timeLimit(.minutes(3))) struct URLSessionResponseBufferTests {
    private func buffer(memory: Int = 8, disk: Int64 = 64) -> URLSessionResponseBuffer {
        URLSessionResponseBuffer(memoryBound: memory, diskBound: disk)
    }

    private func readAll(_ buffer: URLSessionResponseBuffer) async throws -> Data {
        var data = Data()
        while true {
            switch try buffer.take() {
            case .chunks(let chunks): data += chunks.joined()
            case .filed(let file, let count, let offset):
                data += try file.read(count, at: offset)
                buffer.drop(count)
            case .nothing: await buffer.wait()
            case .end: return data
            }
        }
    }

    @Test func `Beyond the bound of the memory, bytes wait in a file`() throws {
        let buffer = buffer(memory: 8, disk: 64)
        try buffer.append(Data(count: 8))
        try buffer.append(Data(count: 5))
        try buffer.append(Data(count: 1))

        #expect(buffer.waiting.memory == 8)
        #expect(buffer.waiting.disk == 6)
    }

    @Test func `Bytes that arrive after those in the file are read after them`() async throws {
        let buffer = buffer(memory: 4, disk: 64)
        try buffer.append(Data([1, 2, 3, 4]))
        try buffer.append(Data([5, 6]))
        guard case .chunks = try buffer.take() else { return #expect(Bool(false)) }
        try buffer.append(Data([7]))
        buffer.finish(.success(()))

        #expect(buffer.waiting.memory == 0)
        #expect(try await readAll(buffer) == Data([5, 6, 7]))
    }

    @Test func `A full disk fails with limitExceeded`() throws {
        let buffer = buffer(memory: 4, disk: 4)
        try buffer.append(Data(count: 4))
        try buffer.append(Data(count: 4))

        let error = #expect(throws: TransportError.self) { try buffer.append(Data(count: 1)) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.stage == .body)
    }

    @Test func `One chunk always fits, however small the bounds are`() throws {
        let buffer = buffer(memory: -1, disk: -1)

        try buffer.append(Data(count: 100))
        #expect(throws: TransportError.self) { try buffer.append(Data(count: 1)) }
    }

    @Test func `A failure is thrown after the bytes that arrived before it`() async throws {
        let buffer = buffer()
        try buffer.append(Data([1]))
        buffer.finish(.failure(TransportError(.truncated, at: .body)))

        guard case .chunks(let chunks) = try buffer.take() else { return #expect(Bool(false)) }
        #expect(chunks == [Data([1])])
        #expect(throws: TransportError.self) { try buffer.take() }
        #expect(throws: TransportError.self) { try buffer.take() }
    }

    @Test func `Only the first end counts`() async throws {
        let buffer = buffer()
        buffer.finish(.success(()))
        buffer.finish(.failure(CancellationError()))
        try buffer.append(Data([1]))

        #expect(try await readAll(buffer).isEmpty)
    }

    @Test func `Discarding drops the bytes that wait and resumes the reader`() async throws {
        let buffer = buffer(memory: 1)
        try buffer.append(Data([1]))
        try buffer.append(Data([2]))
        buffer.discard(CancellationError())

        #expect(buffer.waiting == (0, 0))
        await buffer.wait()
        #expect(throws: CancellationError.self) { try buffer.take() }
    }

    @Test func `A reader and a writer at the same time lose nothing`() async throws {
        let buffer = buffer(memory: 1000, disk: 1 << 24)
        let generator = SeededGenerator(seed: 7)
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

        async let writing: Void = {
            var rest = content
            while !rest.isEmpty {
                let chunk = rest.prefix(Int(generator.next() % 700) + 1)
                rest = rest.dropFirst(chunk.count)
                try buffer.append(chunk)
                if generator.next() % 8 == 0 { await Task.yield() }
            }
            buffer.finish(.success(()))
        }()
        let read = try await readAll(buffer)
        try await writing

        #expect(read == content)
    }
}

@Suite struct URLSessionSpoolFileTests {
    @Test func `Bytes that were written can be read from any offset`() throws {
        let file = try URLSessionSpoolFile()
        try file.write(Data("hello "), at: 0)
        try file.write(Data("world"), at: 6)

        #expect(try file.length() == 11)
        #expect(try file.read(11, at: 0) == Data("hello world"))
        #expect(try file.read(2, at: 4) == Data("o "))
        #expect(try file.read(12, at: 6) == Data("world"))
        #expect(try file.read(1, at: 11).isEmpty)
    }

    @Test func `An existing file can be read and not written`() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("spool-\(SystemGenerator().next())")
        defer { try? FileManager.default.removeItem(at: url) }
        try Data("hello").write(to: url)

        let file = try URLSessionSpoolFile(reading: url)
        #expect(try file.read(5, at: 0) == Data("hello"))
        #expect(throws: POSIXError.self) { try file.write(Data("x"), at: 0) }
    }
}

extension Data {
    fileprivate init(_ text: String) {
        self.init(text.utf8)
    }
}
