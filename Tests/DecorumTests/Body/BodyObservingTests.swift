import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct BodyObservingTests {
    @Test func `An observer sees each chunk and one end, at each reading`() async throws {
        let events = Events()
        let body = Body(replay: .fromStart) { _ in ChunkReader(chunks: ["a", "b"]) }.observed(by: events.append)
        for _ in 1...2 { #expect(try await body.text(upTo: 2) == "ab") }
        #expect(events.names == ["a", "b", "finished", "a", "b", "finished"])
    }

    @Test func `A body that is dropped while it is read is abandoned`() async throws {
        let events = Events()
        do {
            let body = Body(replay: .once) { _ in ChunkReader(chunks: ["a", "b"]) }.observed(by: events.append)
            for try await _ in body { break }
        }
        #expect(events.names == ["a", "abandoned"])
    }

    @Test func `A body that is dropped unread is abandoned`() {
        let events = Events()
        _ = Body(replay: .once) { _ in ChunkReader(chunks: ["a"]) }.observed(by: events.append)
        #expect(events.names == ["abandoned"])
    }

    @Test func `A body that cannot be opened or read is reported as failed once`() async throws {
        let bodies = [
            Body(replay: .once) { _ in TruncatedReader() },
            Body(replay: .once) { _ in throw TransportError(.connectionLost, at: .body) },
        ]
        for body in bodies {
            let events = Events()
            await #expect(throws: TransportError.self) { try await body.observed(by: events.append).data(upTo: 9) }
            #expect(events.names == ["failed"])
        }
    }

    @Test func `A tee has the whole content before the reader reaches the end`() async throws {
        let kept = Mutex<[Data]>([])
        let body = Body(replay: .once) { _ in ChunkReader(chunks: ["a", "bc"]) }
            .teed(upTo: 3) { content, _ in kept.withLock { $0.append(content) } }
        var iterator = body.makeAsyncIterator()
        _ = try await iterator.next()
        _ = try await iterator.next()
        #expect(kept.withLock(\.count) == 0)
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        #expect(kept.withLock(\.self) == [Data("abc".utf8)])
    }

    @Test(arguments: [["abcd"], ["ab", "cd"]]) func `A tee keeps nothing above its limit`(chunks: [String]) async throws
    {
        let kept = Mutex(0)
        let body = Body(replay: .once) { _ in ChunkReader(chunks: chunks) }
            .teed(upTo: 3) { _, _ in kept.withLock { $0 += 1 } }
        #expect(try await body.text(upTo: 9) == "abcd")
        #expect(kept.withLock(\.self) == 0)
    }

    @Test func `A gibibyte passes through twenty layers with one chunk in memory`() async throws {
        let chunkSize = 1 << 20
        let live = Live()
        var body = Body(length: 1 << 30, replay: .once) { _ in
            CountedReader(remaining: 1 << 30, chunkSize: chunkSize, live: live)
        }
        let seen = Mutex(0)
        for _ in 1...10 {
            body = body.observed { event in
                if case .chunk(let chunk) = event { seen.withLock { $0 += chunk.count } }
            }
            body = body.teed(upTo: 1000) { _, _ in }
        }

        var count = 0
        for try await chunk in body { count += chunk.count }

        #expect(count == 1 << 30)
        #expect(seen.withLock(\.self) == 10 << 30)
        #expect(live.peak <= 3)
        #expect(live.current == 0)
    }
}

private final class Events: Sendable {
    private let list = Mutex<[String]>([])

    var names: [String] { list.withLock(\.self) }

    @Sendable func append(_ event: BodyEvent) {
        let name =
            switch event {
            case .chunk(let chunk): String(decoding: chunk, as: UTF8.self)
            case .finished: "finished"
            case .failed: "failed"
            case .abandoned: "abandoned"
            }
        list.withLock { $0.append(name) }
    }
}

private struct TruncatedReader: BodyReader {
    mutating func next() throws -> Data? { throw TransportError(.truncated, at: .body) }

    var trailers: HTTPFields? { nil }
}

/// Counts the chunks whose memory is in use.
private final class Live: Sendable {
    private let counts = Mutex((current: 0, peak: 0))

    var current: Int { counts.withLock(\.current) }
    var peak: Int { counts.withLock(\.peak) }

    func change(by difference: Int) {
        counts.withLock { counts in
            counts.current += difference
            counts.peak = max(counts.peak, counts.current)
        }
    }
}

private struct CountedReader: BodyReader {
    var remaining: Int
    let chunkSize: Int
    let live: Live

    mutating func next() -> Data? {
        guard remaining > 0 else { return nil }
        remaining -= chunkSize
        let memory = UnsafeMutableRawPointer.allocate(byteCount: chunkSize, alignment: 16)
        live.change(by: 1)
        let deallocator = unsafe Data.Deallocator.custom { [live] pointer, _ in
            unsafe pointer.deallocate()
            live.change(by: -1)
        }
        return unsafe Data(bytesNoCopy: memory, count: chunkSize, deallocator: deallocator)
    }

    var trailers: HTTPFields? { nil }
}
