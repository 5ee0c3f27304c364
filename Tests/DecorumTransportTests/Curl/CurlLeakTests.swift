#if os(Linux)
import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// Descriptors, threads and memory of the transport, each measured in a separate process.
    ///
    /// With `DECORUM_SOAK=1` in the environment, the numbers are larger.
    @Suite(.timeLimit(.minutes(10))) struct CurlLeakTests {
        @Test func `Ten thousand requests leak neither descriptors nor memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
                let body = BytePattern.bytes(10)
                let connection = try CurlConnection()
                for _ in 0..<200 { _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10) }
                let before = (Footprint.descriptors, ProcessMemory.peak)

                for number in 0..<10_000 {
                    let request =
                        number % 4 == 0
                        ? try Request.post(origin.url + "/", body: Body(body)) : try Request.get(origin.url + "/")
                    _ = try await connection.send(request).body.drain(upTo: 10)
                    if number % 100 == 0 { origin.forgetRequests() }
                }

                #expect(origin.connectionCount == 1)
                #expect(Footprint.descriptors <= before.0)
                #expect(ProcessMemory.peak - before.1 < 16 << 20)
            }
        }

        @Test func `Threads and descriptors end with their connection`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", LoopbackOrigin.Answer(body: "ok"))
                _ = try await CurlConnection().send(.get(origin.url + "/")).body.drain(upTo: 10)
                try await origin.waitForOpenConnections(0)
                let before = (Footprint.descriptors, Footprint.threads)

                for _ in 0..<300 {
                    _ = try await CurlConnection().send(.get(origin.url + "/")).body.drain(upTo: 10)
                }

                try await origin.waitForOpenConnections(0)
                // A thread ends shortly after its connections have closed.
                #expect(await soon { Footprint.threads <= before.1 + 2 })
                #expect(await soon { Footprint.descriptors <= before.0 + 4 })
            }
        }

        @Test func `A transport that leaks a descriptor for each exchange fails the case`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                await #expect(throws: ConformanceFailure.self) {
                    _ = try await TransportCase.randomCancellation.check(soaking: .milliseconds(500)) { conditions in
                        try CurlConnection(clock: conditions.clock).intercepting { request, base in
                            _ = dup(0)
                            return try await base.send(request)
                        }
                    }
                }
            }
        }

        @Test func `A large body needs constant memory, down and up`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count: Int64 = Footprint.isSoak ? 1 << 30 : 128 << 20
                let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
                origin.route(.get, "/", .generated(count: count))
                origin.route(.post, "/", LoopbackOrigin.Answer(body: "ok"))
                let connection = try CurlConnection()
                _ = try await connection.send(.post(origin.url + "/", body: "x")).body.drain(upTo: 10)
                let before = ProcessMemory.peak

                var offset: Int64 = 0
                var isWhole = true
                for try await chunk in try await connection.send(.get(origin.url + "/")).body {
                    isWhole = isWhole && BytePattern.matches(chunk, at: offset)
                    offset += Int64(chunk.count)
                }
                #expect(isWhole)
                #expect(offset == count)
                let body = Body(length: count, replay: .once) { _ in ProducedBytes().reader(count: count) }
                _ = try await connection.send(.post(origin.url + "/", body: body)).body.drain(upTo: 10)
                #expect(origin.requests.last?.bodyLength == count)
                #expect(origin.requests.last?.isBodyPattern == true)
                #expect(ProcessMemory.peak - before < 16 << 20)
            }
        }
    }
}
#endif
