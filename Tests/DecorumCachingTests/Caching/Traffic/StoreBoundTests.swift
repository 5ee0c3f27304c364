#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// The bounds of stores while bodies are being received.
    @Suite(.timeLimit(.minutes(5))) struct StoreBoundTests {
        static let downloads = 60
        static let chunks = 28

        /// Starts downloads that are all but whole, and returns their readers.
        static func download(through connection: some Connection) async throws -> [Body.AsyncIterator] {
            var readers: [Body.AsyncIterator] = []
            for number in 0..<downloads {
                var reader = try await connection.send(.get("https://example.com/\(number)")).body
                    .makeAsyncIterator()
                for _ in 1..<chunks { _ = try await reader.next() }
                readers.append(reader)
            }
            return readers
        }

        /// A server of large bodies, which are fresh for a minute.
        static func origin(chunkLength: Int) -> some Connection {
            ClosureConnection { request in
                request.reportSending()
                return Response(
                    status: .ok, fields: [.cacheControl: "max-age=60"],
                    body: Body(length: nil, replay: .once) { _ in RepeatingReader(rest: chunks, length: chunkLength) })
            }
        }

        @Test func `Downloads under way take no more memory than the store allows`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let limit = 32 << 20
                let store = MemoryResponseStore(byteLimit: limit)
                let connection = StoreBoundTests.origin(chunkLength: 256 << 10).caching(in: store)
                let before = ProcessMemory.peak
                let readers = try await StoreBoundTests.download(through: connection)
                let held = ProcessMemory.peak - before
                // Half as much again for what a growing buffer leaves behind.
                #expect(held < limit * 3 / 2)
                withExtendedLifetime(readers) {}
            }
        }
    }
}

private struct RepeatingReader: BodyReader {
    var rest: Int
    let length: Int
    var trailers: HTTPFields? { nil }

    mutating func next() -> Data? {
        guard rest > 0 else { return nil }
        rest -= 1
        return Data(repeating: 0x5A, count: length)
    }
}
#endif
