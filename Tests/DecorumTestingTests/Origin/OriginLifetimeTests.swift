import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    @Suite(.timeLimit(.minutes(3))) struct OriginLifetimeTests {
        private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

        @Test(.enabled(if: sysconf(Int32(_SC_OPEN_MAX)) >= 4096, "The process may open too few descriptors."))
        func `A thousand exchanges run at the same time`() async throws {
            let origin = try LoopbackOrigin()
            let gate = Gate()
            origin.route(.get, "/", LoopbackOrigin.Answer("hello").after(.wait(gate)))

            let clients = try (0..<1000).map { _ in try RawClient(port: origin.port) }
            for client in clients { try await client.send(Self.request) }
            try await origin.waitForRequests(1000)
            try await gate.waitForWaiting(1000)
            #expect(origin.openConnectionCount == 1000)

            gate.open()
            for client in clients {
                #expect(try await client.receive(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
                client.close()
            }
            try await origin.waitForOpenConnections(0)
            #expect(origin.connectionCount == 1000)
        }

        @Test func `Five thousand requests follow one another on a connection`() async throws {
            let origin = try LoopbackOrigin()
            let client = try RawClient(port: origin.port)
            origin.route(.get, "/", "hello")
            for _ in 0..<5000 {
                try await client.send(Self.request)
                _ = try await client.receive(until: "hello")
            }
            #expect(origin.requests.count == 5000)
            #expect(origin.connectionCount == 1)
        }

        @Test func `Stopping ends the exchanges that run, and stopping again does nothing`() async throws {
            let origin = try LoopbackOrigin()
            let gate = Gate()
            origin.enqueue(.hanging, .generated(count: 1 << 40), .script(.wait(gate)))
            let clients = try (0..<4).map { _ in try RawClient(port: origin.port) }
            for client in clients.dropLast() { try await client.send(Self.request) }
            try await origin.waitForRequests(3)
            try await origin.waitForConnections(4)
            try await gate.waitForWaiting(1)

            origin.stop()
            origin.stop()

            #expect(origin.openConnectionCount == 0)
            for client in clients { #expect(await client.reachesEnd()) }
            #expect(throws: RawClient.Failure.self) { try RawClient(port: origin.port) }
            await #expect(throws: OriginStoppedError.self) { try await origin.waitForRequests(100) }
            #expect(try await origin.waitForRequests(3).count == 3)
        }

        @Test func `Letting go of an origin stops it`() async throws {
            var origin: LoopbackOrigin? = try LoopbackOrigin()
            let port = try #require(origin?.port)
            let client = try RawClient(port: port)
            try await origin?.waitForConnections(1)
            origin = nil
            #expect(try await client.receiveAll() == "")
            #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
        }

        @Test func `A closure that holds its origin does not outlive the stop`() async throws {
            weak var weakOrigin: LoopbackOrigin?
            do {
                let origin = try LoopbackOrigin()
                origin.route(.get, "/") { _ in .init(body: origin.url) }
                weakOrigin = origin
                origin.stop()
            }
            #expect(weakOrigin == nil)
        }

        @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd")))
        func `Origins that were stopped leave no descriptor and no thread`() async throws {
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count

            for _ in 0..<300 {
                let origin = try LoopbackOrigin()
                let client = try RawClient(port: origin.port)
                origin.enqueue(.hanging)
                try await client.send(Self.request)
                try await origin.waitForRequests(1)
                origin.stop()
            }

            // Tests that run beside this one use descriptors and threads too, but not hundreds.
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count < descriptors + 200)
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count < threads + 200)
        }

        @Test func `An origin refuses connections on request`() throws {
            let origin = try LoopbackOrigin.refusing()
            let error = #expect(throws: RawClient.Failure.self) { try RawClient(port: origin.port) }
            #expect(error?.isRefused == true)
            origin.stop()
        }

        @Test func `Waits end when their task is cancelled`() async throws {
            let origin = try LoopbackOrigin()
            let waits: [@Sendable () async throws -> Void] = [
                { try await origin.waitForRequests(1) }, { try await origin.waitForHeads(1) },
                { try await origin.waitForConnections(1) }, { try await origin.waitForOpenConnections(1) },
            ]
            for wait in waits {
                let task = Task { try await wait() }
                await Task.yield()
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }
}
