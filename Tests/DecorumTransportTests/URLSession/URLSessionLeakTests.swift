#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// Descriptors, threads and files that are left after requests, which must go within a minute, each measured in its own
    /// process.
    ///
    /// With `DECORUM_SOAK=1` in the environment, the numbers are those of the long form.
    @Suite(.timeLimit(.minutes(10))) struct URLSessionLeakTests {
        @Test func `Ten thousand requests leave nothing behind`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
                let body = BytePattern.bytes(10)
                var connection: URLSessionConnection? = URLSessionConnection()
                for _ in 0..<200 { _ = try await connection?.send(.get(origin.url + "/")).body.drain(upTo: 10) }
                let before = (Footprint.descriptors, ProcessMemory.peak)

                for number in 0..<10_000 {
                    let request =
                        number % 4 == 0
                        ? try Request.post(origin.url + "/", body: Body(body)) : try Request.get(origin.url + "/")
                    _ = try await connection?.send(request).body.drain(upTo: 10)
                    if number % 100 == 0 { origin.forgetRequests() }
                }

                #expect(origin.connectionCount == 1)
                try await yield { Footprint.descriptors <= before.0 }
                #expect(ProcessMemory.peak - before.1 < 16 << 20)
                connection = nil
                try await origin.waitForOpenConnections(0)
            }
        }

        @Test func `Sessions go with their connections`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", LoopbackOrigin.Answer(body: "ok"))
                _ = try await URLSessionConnection().send(.get(origin.url + "/")).body.drain(upTo: 10)
                try await origin.waitForOpenConnections(0)
                let before = Footprint.descriptors

                for _ in 0..<300 {
                    _ = try await URLSessionConnection().send(.get(origin.url + "/")).body.drain(upTo: 10)
                }

                try await origin.waitForOpenConnections(0)
                try await yield { Footprint.descriptors <= before }
                #expect(Footprint.threads < 50)
            }
        }

        @Test func `No temporary file is left, whatever becomes of the request`() async throws {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let folder = FileManager.default.temporaryDirectory.appendingPathComponent("decorum-test-\(getpid())")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: folder) }
                unsafe setenv("TMPDIR", folder.path, 1)
                try #require(FileManager.default.temporaryDirectory.path == folder.path)
                let origin = try LoopbackOrigin()
                let connection = URLSessionConnection(backlog: .init(memory: 1))
                let gate = Gate()
                origin.route(.put, "/", LoopbackOrigin.Answer())
                origin.route(.put, "/close", .closing)
                origin.route(.put, "/wait", LoopbackOrigin.Answer().after(.wait(gate)))
                origin.route(.get, "/", .generated(count: 4 << 20))

                _ = try await connection.send(.put(origin.url + "/", body: .megabytes(3)))
                _ = try? await connection.send(.put(origin.url + "/close", body: .megabytes(3)))
                _ = try? await connection.send(.put(origin.url + "/", body: .megabytes(3, fails: true)))
                let request = try Request.put(origin.url + "/wait", body: .megabytes(3))
                let task = Task { try await connection.send(request) }
                try await gate.waitForWaiting(1)
                task.cancel()
                _ = await task.result
                let response = try await connection.send(.get(origin.url + "/"))
                _ = try await response.body.data(upTo: 8 << 20)

                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            }
        }

        @Test func `Random cancelling and dropping neither hangs nor leaks`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/small", LoopbackOrigin.Answer(body: "ok"))
                origin.route(.get, "/large", .generated(count: 200_000))
                origin.route(.get, "/slow", .script(.head(.ok, ["Content-Length": "9"]), .raw("half"), .hang))
                origin.route(.get, "/hang", .hanging)
                origin.route(.post, "/", LoopbackOrigin.Answer(body: "ok"))
                let connection = URLSessionConnection(connectionsPerHost: 32)
                let deadline = ContinuousClock.now + .seconds(Footprint.isSoak ? 60 : 3)
                let before = Footprint.descriptors

                await withTaskGroup { group in
                    for worker in 0..<24 {
                        group.addTask {
                            let chance = SeededGenerator(seed: UInt64(worker))
                            while ContinuousClock.now < deadline {
                                await Chaos(connection: connection, url: origin.url, chance: chance).act()
                                if worker == 0 { origin.forgetRequests() }
                            }
                        }
                    }
                }

                let response = try await connection.send(.get(origin.url + "/small"))
                #expect(try await response.body.text(upTo: 10) == "ok")
                try await yield { Footprint.descriptors <= before + 2 * 32 + 8 }
            }
        }
    }
}

/// One request that is cancelled or dropped at a random moment.
private struct Chaos {
    let connection: URLSessionConnection
    let url: String
    let chance: SeededGenerator

    func act() async {
        let paths = ["/small", "/small", "/large", "/slow", "/hang"]
        let path = paths[Int(chance.next() % UInt64(paths.count))]
        let isPost = chance.next() % 4 == 0
        let reads = Int(chance.next() % 4)
        let patience = Duration.microseconds(Int64(chance.next() % 8000))
        guard
            let request = isPost
                ? try? Request.post(url + "/", body: .megabytes(chance.next() % 16 == 0 ? 2 : 0))
                : try? Request.get(url + path)
        else { return }
        let task = Task {
            var reader = try await connection.send(request).body.open()
            for _ in 0..<reads { _ = try await reader.next() }
        }
        try? await Task.sleep(for: patience)
        task.cancel()
        _ = await task.result
    }
}

extension Body {
    fileprivate static func megabytes(_ count: Int, fails: Bool = false) -> Body {
        Body(
            chunks: AsyncThrowingStream { continuation in
                for _ in 0..<count { continuation.yield(Data(count: 1 << 20)) }
                continuation.finish(throwing: fails ? CocoaError(.fileReadUnknown) : nil)
            })
    }
}
#endif
