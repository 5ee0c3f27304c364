import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Layers that hold content, each alone: they hold as many bytes as they declare, and no more.
@Suite(.timeLimit(.minutes(3))) struct BytesHeldTests {
    /// A body that counts the bytes that were taken of it.
    private final class Source: Sendable {
        let chunk: Int
        let length: Int
        let taken = Atomic(0)

        init(length: Int, chunk: Int = 16 << 10) {
            self.length = length
            self.chunk = chunk
        }

        var body: Body {
            let source = self
            return Body(length: nil, replay: .once) { _ in Reader(source: source) }
        }

        private struct Reader: BodyReader {
            let source: Source
            let trailers: HTTPFields? = nil

            mutating func next() async throws -> Data? {
                let count = min(source.chunk, source.length - source.taken.load(ordering: .relaxed))
                guard count > 0 else { return nil }
                source.taken.wrappingAdd(count, ordering: .relaxed)
                return Data(repeating: UInt8(ascii: "x"), count: count)
            }
        }
    }

    private func bound(of connection: some Connection) throws -> Int {
        let layer = try #require(connection.layers.first)
        guard case .atMost(let bytes) = layer.memory.bytes else { return .max }
        return bytes
    }

    @Test func `Coalescing holds a backlog for a reader that does not read`() async throws {
        let clock = VirtualClock()
        let source = Source(length: 8 << 20, chunk: 64 << 10)
        let gate = Gate()
        let connection = ClosureConnection { request in
            request.reportSending()
            try await gate.wait()
            return Response(status: .ok, body: source.body)
        }
        .coalescing(clock: clock)
        let callers = await Callers.start(2) { _ in try await connection.send(.get("https://example.com/")) }
        gate.open()
        let (quick, slow) = (try await callers[0].value, try await callers[1].value)

        let reading = Task { try await quick.body.data(upTo: 8 << 20).count }
        try await clock.waitForSleepers()
        let held = source.taken.load(ordering: .relaxed)
        // The chunk that is passed on is not yet held for anybody.
        #expect(held - source.chunk == (try bound(of: connection)))

        reading.cancel()
        _ = await reading.result
        #expect(try await slow.body.data(upTo: 8 << 20).count == 8 << 20)
    }

    @Test func `A log holds the beginning of both bodies`() async throws {
        let text = Mutex("")
        let connection = ClosureConnection { request in
            _ = try await request.body.data(upTo: 1 << 20)
            return Response(
                status: .ok, fields: [.contentType: "text/plain"], body: Body(String(repeating: "b", count: 5000)))
        }
        .logging(to: LogSink { entry in text.withLock { $0 += entry } }, detail: .bodies(upTo: 1000), redacting: .none)
        let body = Body(String(repeating: "a", count: 5000))
        let request = try Request.post("https://example.com/", fields: [.contentType: "text/plain"], body: body)
        _ = try await connection.send(request).body.data(upTo: 1 << 20)

        let entry = text.withLock { $0 }
        let held = entry.matches(of: /a{100,}|b{100,}/).reduce(0) { $0 + $1.output.count }
        let bound = try bound(of: connection)
        #expect(held == bound, "\(entry)")
    }

    @Test func `Compressing holds the whole of content in memory, up to its limit`() async throws {
        let sent = Mutex(0)
        let connection = ClosureConnection { request in
            sent.withLock { $0 = request.body.bytes?.count ?? 0 }
            return Response(status: .ok)
        }
        .compressing()
        let bound = try bound(of: connection)
        // Letters at random need six bits of eight.
        let chance = SeededGenerator(seed: 1)
        for excess in [0, 1] {
            let content = Data((0..<bound + excess).map { _ in UInt8(truncatingIfNeeded: 0x20 + chance.next() % 200) })
            _ = try await connection.send(.put("https://example.com/", body: Body(content)))
            let held = sent.withLock { $0 }
            #expect(excess == 0 ? held <= bound && held * 10 >= bound * 9 : held == 0)
        }
    }
}
