#if AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// Memory, descriptors and random cancellation, each in its own process.
    ///
    /// With `DECORUM_SOAK=1` in the environment, the numbers are those of the long form.
    @Suite(.timeLimit(.minutes(10))) struct AsyncHTTPClientEnduranceTests {
        @Test func `A client that is dropped leaves nothing behind and does not trap`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", LoopbackOrigin.Answer(body: "ok"))
                origin.route(.get, "/hang", .script(.head(.ok, ["Content-Length": "9"]), .hang))
                _ = try await AsyncHTTPClientConnection().send(.get(origin.url + "/")).body.drain(upTo: 10)
                _ = AsyncHTTPClientConnection()
                try await origin.waitForOpenConnections(0)
                let before = Footprint.descriptors

                for _ in 0..<300 {
                    let connection = AsyncHTTPClientConnection()
                    _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)
                    _ = try await connection.send(.get(origin.url + "/hang")).status
                }

                try await origin.waitForOpenConnections(0)
                try await yield { Footprint.descriptors <= before }
                #expect(Footprint.threads < 50)
            }
        }

        @Test func `A process without free descriptors fails with a limit, at the stage of connecting`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                let other = try LoopbackOrigin()
                origin.route(.get, "/", LoopbackOrigin.Answer(body: "ok"))
                let connection = AsyncHTTPClientConnection()
                // SwiftNIO starts its threads with the first request, and ends the process where it cannot.
                for _ in 0..<100 { _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10) }
                var held: [Int32] = []
                while let descriptor = Optional(dup(0)), descriptor >= 0 { held.append(descriptor) }

                let error = await #expect(throws: TransportError.self) {
                    try await connection.send(.post(other.url + "/", body: "hello"))
                }
                for descriptor in held { close(descriptor) }
                #expect(error?.code == .limitExceeded)
                #expect(error?.stage == .connecting)
            }
        }

        @Test func `Ten thousand requests leave nothing behind`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
                let connection = AsyncHTTPClientConnection()
                for _ in 0..<500 { _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10) }
                let before = (Footprint.descriptors, ProcessMemory.peak)

                for number in 0..<10_000 {
                    let body = number % 4 == 0 ? Body(BytePattern.bytes(10)) : .empty
                    _ = try await connection.send(.put(origin.url + "/", body: body)).body.drain(upTo: 10)
                    if number % 100 == 0 { origin.forgetRequests() }
                }

                #expect(origin.connectionCount == 1)
                #expect(Footprint.descriptors <= before.0)
                #expect(ProcessMemory.peak - before.1 < 16 << 20)
            }
        }

        @Test func `A large body is read, and another one waits unread, in little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count: Int64 = Footprint.isSoak ? 1 << 30 : 96 << 20
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", .generated(count: count))
                origin.route(.get, "/endless", .generated(count: 1 << 40))
                let connection = AsyncHTTPClientConnection()
                let unread = try await connection.send(.get(origin.url + "/endless"))

                var offset: Int64 = 0
                for try await chunk in try await connection.send(.get(origin.url + "/")).body {
                    offset += Int64(chunk.count)
                }

                #expect(offset == count)
                #expect(unread.status == .ok)
                #expect(ProcessMemory.peak < 64 << 20)
                FileHandle.standardError.write(
                    Data("down: \(count) bytes, peak \(ProcessMemory.peak >> 20) MiB\n".utf8))
            }
        }

        @Test func `A large stream is sent in little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count: Int64 = Footprint.isSoak ? 1 << 30 : 96 << 20
                let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
                origin.route(.put, "/", LoopbackOrigin.Answer(body: "ok"))
                let body = Body(length: count, replay: .fromStart) { _ in BlockReader(rest: count) }
                let response = try await AsyncHTTPClientConnection().send(.put(origin.url + "/", body: body))

                #expect(try await response.body.text(upTo: 10) == "ok")
                #expect(origin.requests.map(\.bodyLength) == [count])
                #expect(ProcessMemory.peak < 64 << 20)
                FileHandle.standardError.write(Data("up: \(count) bytes, peak \(ProcessMemory.peak >> 20) MiB\n".utf8))
            }
        }

        @Test func `Random cancelling and dropping neither hangs nor leaks`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/small", LoopbackOrigin.Answer(body: "ok"))
                origin.route(.get, "/large", .generated(count: 2_000_000))
                origin.route(.get, "/slow", .script(.head(.ok, ["Content-Length": "9"]), .raw("half"), .hang))
                origin.route(.get, "/hang", .hanging)
                origin.route(.post, "/", LoopbackOrigin.Answer(body: "ok"))
                origin.route(
                    .post, "/refused", answering: .afterHead,
                    LoopbackOrigin.Answer(.contentTooLarge, fields: ["Connection": "close"]))
                let connection = AsyncHTTPClientConnection(connectionsPerHost: 32)
                let deadline = ContinuousClock.now + .seconds(Footprint.isSoak ? 60 : 3)
                let before = Footprint.descriptors

                let count = await withTaskGroup { group in
                    for worker in 0..<24 {
                        group.addTask {
                            let chance = SeededGenerator(seed: UInt64(worker))
                            var count = 0
                            while ContinuousClock.now < deadline {
                                await Chaos(connection: connection, url: origin.url, chance: chance).act()
                                if worker == 0 { origin.forgetRequests() }
                                count += 1
                            }
                            return count
                        }
                    }
                    return await group.reduce(0, +)
                }

                let response = try await connection.send(.get(origin.url + "/small"))
                #expect(try await response.body.text(upTo: 10) == "ok")
                try await yield { Footprint.descriptors <= before + 2 * 32 + 8 }
                FileHandle.standardError.write(Data("chaos: \(count), peak \(ProcessMemory.peak >> 20) MiB\n".utf8))
            }
        }
    }
}

/// One request that is cancelled or dropped at a random moment.
private struct Chaos {
    let connection: AsyncHTTPClientConnection
    let url: String
    let chance: SeededGenerator

    func act() async {
        let paths = ["/small", "/small", "/large", "/slow", "/hang"]
        let path = paths[Int(chance.next() % UInt64(paths.count))]
        let isPost = chance.next() % 4 == 0
        let reads = Int(chance.next() % 8)
        let patience = Duration.microseconds(Int64(chance.next() % 8000))
        let size = Int64(chance.next() % (2 << 20))
        let content = Body(length: nil, replay: .once) { _ in BlockReader(rest: size) }
        guard
            let request = isPost
                ? try? Request.post(url + (chance.next() % 4 == 0 ? "/refused" : "/"), body: content)
                : try? Request.get(url + path)
        else { return }
        let task = Task {
            var offset: Int64 = 0
            var reader = try await connection.send(request).body.open()
            for _ in 0..<reads {
                guard let chunk = try await reader.next() else { break }
                if path == "/large", !isPost, !BytePattern.matches(chunk, at: offset) { abort() }
                offset += Int64(chunk.count)
            }
        }
        try? await Task.sleep(for: patience)
        task.cancel()
        _ = await task.result
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
