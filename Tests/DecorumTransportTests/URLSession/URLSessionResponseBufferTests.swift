import Foundation
import Testing

@testable import Decorum

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
                data += try await file.chunk(count, at: offset)
                buffer.drop(count)
            case .nothing: await buffer.wait()
            case .end: return data
            }
        }
    }

    @Test func `Beyond the bound of the memory, bytes wait in a file, and beyond its bound they fail`() async throws {
        let buffer = buffer(memory: 8, disk: 6)
        for count in [8, 5, 1] { try buffer.append(Data(count: count)) }
        #expect(buffer.waiting.memory == 8 && buffer.waiting.disk == 6)
        let error = #expect(throws: TransportError.self) { try buffer.append(Data(count: 1)) }
        #expect(error?.code == .limitExceeded && error?.stage == .body)
        // One chunk always fits.
        try self.buffer(memory: -1, disk: -1).append(Data(count: 100))
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

@Suite struct OpenFileTests {
    @Test func `Bytes that were written can be read from any offset`() async throws {
        let file = try OpenFile()
        try file.write(Data("hello "), at: 0)
        try file.write(Data("world"), at: 6)

        #expect(try file.length() == 11)
        #expect(try await file.chunk(11, at: 0) == Data("hello world"))
        #expect(try await file.chunk(2, at: 4) == Data("o "))
        #expect(try await file.chunk(12, at: 6) == Data("world"))
        #expect(try await file.chunk(1, at: 11).isEmpty)
    }

    @Test func `An existing file can be read and not written`() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("open-\(SystemGenerator().next())")
        defer { try? FileManager.default.removeItem(at: url) }
        try Data("hello").write(to: url)

        let file = try OpenFile(reading: url)
        #expect(try await file.chunk(5, at: 0) == Data("hello"))
        #expect(throws: POSIXError.self) { try file.write(Data("x"), at: 0) }
    }
}

extension Data {
    fileprivate init(_ text: String) {
        self.init(text.utf8)
    }
}
