#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// The memory that large bodies take, each measured in its own process.
    ///
    /// With `DECORUM_SOAK=1` in the environment, a gibibyte goes down and up, and otherwise a part of it.
    @Suite(.timeLimit(.minutes(10))) struct URLSessionMemoryTests {
        @Test func `A large body comes down in little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count: Int64 = Footprint.isSoak ? 1 << 30 : 96 << 20
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", .generated(count: count))
                let response = try await URLSessionConnection().send(.get(origin.url + "/"))

                var offset: Int64 = 0
                for try await chunk in response.body { offset += Int64(chunk.count) }

                #expect(offset == count)
                #expect(ProcessMemory.peak < 64 << 20)
            }
        }

        #if canImport(FoundationNetworking)
        // Where a slow reader holds the server back, the one connection stays busy.
        @Test func `A large body that is not read yet takes little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count: Int64 = Footprint.isSoak ? 1 << 30 : 96 << 20
                let origin = try LoopbackOrigin()
                origin.enqueue(.generated(count: count), .init())
                let connection = URLSessionConnection(connectionsPerHost: 1)
                let response = try await connection.send(.get(origin.url + "/"))
                // The one connection serves the next request once all of the first response has arrived.
                _ = try await connection.send(.get(origin.url + "/"))
                #expect(ProcessMemory.peak < 96 << 20)

                var offset: Int64 = 0
                for try await chunk in response.body {
                    #expect(BytePattern.matches(chunk, at: offset))
                    offset += Int64(chunk.count)
                }
                #expect(offset == count)
                #expect(ProcessMemory.peak < 96 << 20)
            }
        }
        #endif

        @Test func `A large stream goes up in little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count: Int64 = Footprint.isSoak ? 1 << 30 : 96 << 20
                let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
                origin.route(.put, "/", LoopbackOrigin.Answer(body: "ok"))
                let body = Body(length: count, replay: .fromStart) { _ in BlockReader(rest: count) }
                let response = try await URLSessionConnection().send(.put(origin.url + "/", body: body))

                #expect(try await response.body.text(upTo: 10) == "ok")
                #expect(origin.requests.map(\.bodyLength) == [count])
                #expect(ProcessMemory.peak < 64 << 20)
            }
        }
    }
}

private struct BlockReader: BodyReader {
    private static let block = Data(count: 256 << 10)

    var rest: Int64

    mutating func next() async throws -> Data? {
        guard rest > 0 else { return nil }
        let chunk = Self.block.prefix(Int(min(rest, Int64(Self.block.count))))
        rest -= Int64(chunk.count)
        return chunk
    }

    var trailers: HTTPFields? { nil }
}
#endif
