import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct BodyTests {
    @Test func `Bytes are read any number of times, from any offset`() async throws {
        let body = Body("hello")
        #expect(body.length == 5)
        #expect(body.replay == .fromAnyOffset)
        for _ in 1...2 { #expect(try await body.text(upTo: 5) == "hello") }
        #expect(try await body.rest(from: 3) == Data("lo".utf8))
        #expect(try await body.rest(from: 5).isEmpty)
        #expect(Body.empty.isEmpty)
    }

    @Test(arguments: [-1, 6, .max]) func `An offset that a body does not have throws`(offset: Int64) async throws {
        await #expect(throws: BodyOffsetError.self) { _ = try await Body("hello").open(at: offset) }
    }

    @Test func `An offset within a body that starts at the front throws`() async throws {
        let body = Body(replay: .fromStart) { _ in ChunkReader(chunks: ["a", "b"]) }
        await #expect(throws: BodyOffsetError.self) { _ = try await body.open(at: 1) }
        for _ in 1...2 { #expect(try await body.text(upTo: 2) == "ab") }
    }

    @Test func `A body for one reading throws at the second, even if nothing was read`() async throws {
        let body = Body(chunks: Self.stream("a", "b"))
        #expect(body.replay == .once)
        _ = try await body.open()
        await #expect(throws: BodyReadTwiceError.self) { try await body.data(upTo: 10) }
        await #expect(throws: BodyReadTwiceError.self) { for try await _ in body {} }
    }

    @Test func `Of many readers of a body for one reading, one gets the content`() async throws {
        let body = Body(chunks: Self.stream("a"))
        let texts = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<50 { group.addTask { try? await body.text(upTo: 10) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts.compactMap(\.self) == ["a"])
    }

    @Test func `Collecting stops at the limit`() async throws {
        #expect(try await Body("hello").data(upTo: 5).count == 5)
        let streamed = Body(chunks: Self.stream("hel", "lo"))
        await #expect(throws: BodyLimitError(limit: 4)) { try await streamed.data(upTo: 4) }
        await #expect(throws: BodyLimitError(limit: 4, length: 5)) { try await Body("hello").text(upTo: 4) }
        await #expect(throws: BodyLimitError(limit: -1, length: 0)) { try await Body.empty.data(upTo: -1) }
        let announced = Body(length: .max, replay: .once) { _ in ChunkReader(chunks: []) }
        await #expect(throws: BodyLimitError(limit: 4, length: .max)) { try await announced.data(upTo: 4) }
    }

    @Test(arguments: [["abc"], ["a"], [], ["a", "bc"]]) func `A stream that differs from its length throws`(
        chunks: [String]
    ) async throws {
        let body = Body(length: 2, replay: .fromStart) { _ in ChunkReader(chunks: chunks) }
        await #expect(throws: BodyLengthError.self) { try await body.data(upTo: 100) }
    }

    @Test func `Trailer fields come after the end`() async throws {
        let body = Body(replay: .fromStart) { _ in ChunkReader(chunks: ["a"], trailers: [.eTag: "\"1\""]) }
        #expect(try await body.collect(upTo: 10).trailers == [.eTag: "\"1\""])
        #expect(try await body.observed { _ in }.collect(upTo: 10).trailers == [.eTag: "\"1\""])
        #expect(try await Body("a").collect(upTo: 10).trailers.isEmpty)
    }

    @Test func `The captures of a body for one reading are released with the body or with its reader`() async throws {
        weak var lease: Lease?
        do {
            let body = Self.leased(&lease)
            #expect(lease != nil)
            _ = body
        }
        #expect(lease == nil)

        let opened = Self.leased(&lease)
        do {
            var reader: (any BodyReader)? = try await opened.open()
            #expect(try await reader?.next() != nil)
            #expect(lease != nil)
            reader = nil
        }
        #expect(lease == nil)
        #expect(opened.replay == .once)
    }

    @Test func `Draining reads at most up to its limit`() async throws {
        #expect(try await Body(chunks: Self.stream("ab")).drain(upTo: 2))
        #expect(try await !Body(chunks: Self.stream("ab", "c")).drain(upTo: 2))
        let failing = Body(replay: .once) { _ in throw TransportError(.connectionLost, at: .body) }
        #expect(try await !failing.drain(upTo: 2))
        let cancelled = Body(replay: .once) { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await cancelled.drain(upTo: 2) }
    }

    @Test func `Equality is by bytes, by file and by stream`() throws {
        let stream = Body(chunks: Self.stream("a"))
        let copy = stream
        #expect(stream == copy)
        #expect(stream != Body(chunks: Self.stream("a")))
        #expect(stream != "a")
        #expect(Body("a") == Body(Data([0x61])))
        #expect(Body("a") != "b")
    }

    private static func stream(_ chunks: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
            continuation.finish()
        }
    }

    private static func leased(_ reference: inout Lease?) -> Body {
        let lease = Lease()
        reference = lease
        return Body(replay: .once) { _ in LeasedReader(lease: lease) }
    }
}

private final class Lease: Sendable {}

private struct LeasedReader: BodyReader {
    let lease: Lease
    mutating func next() -> Data? { Data([1]) }

    var trailers: HTTPFields? { nil }
}

struct ChunkReader: BodyReader {
    var chunks: [String]
    var trailers: HTTPFields?

    mutating func next() -> Data? {
        chunks.isEmpty ? nil : Data(chunks.removeFirst().utf8)
    }
}

extension Body {
    func rest(from offset: Int64) async throws -> Data {
        var reader = try await open(at: offset)
        var data = Data()
        while let chunk = try await reader.next() { data += chunk }
        return data
    }
}
