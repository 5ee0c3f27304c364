#if os(Linux)
@testable import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    @Suite(.timeLimit(.minutes(3))) struct CurlIdleTimeoutTests {
        let clock = VirtualClock()
        let origin: LoopbackOrigin

        init() throws {
            origin = try LoopbackOrigin()
        }

        private func request(_ idleTimeout: Duration? = nil) throws -> Request {
            var request = try Request.get(origin.url + "/")
            request.options.idleTimeout = idleTimeout
            return request
        }

        @Test func `Waiting for a connection counts while other requests progress`() async throws {
            let gate = Gate()
            origin.enqueue(
                .script(.head(.ok, ["Content-Length": "2"]), .wait(gate), .raw("a"), .wait(gate), .raw("b")))
            let connection = try CurlConnection(
                pool: .init(connectionsPerHost: 1), idleTimeout: .seconds(10), clock: clock)
            var reader = try await connection.send(request(.seconds(600_000))).body.open()
            let hasStarted = Gate()
            let content = AsyncStream<Data> {
                hasStarted.open()
                return nil
            }
            // Its content is read only after its time has started.
            let request = try Request.post(origin.url + "/", body: Body(chunks: content))
            let queued = Task { try await connection.send(request) }
            try await hasStarted.wait()
            try await clock.waitForSleepers()

            try await gate.waitForWaiting(1)
            clock.advance(by: .seconds(9))
            gate.admit()
            #expect(try await reader.next() == Data("a".utf8))
            let time = Task { [clock] in
                while !Task.isCancelled {
                    clock.advance(by: .milliseconds(1))
                    await Task.yield()
                }
            }
            let error = await #expect(throws: TransportError.self) { try await queued.joinedValue }
            time.cancel()
            #expect(error?.code == .timedOut)
            #expect(error?.stage == .connecting)
            #expect(origin.requests.count == 1)
        }

        @Test func `Waiting for a connection ends while no request progresses`() async throws {
            origin.enqueue(.script(.head(.ok, ["Content-Length": "9"]), .hang))
            let connection = try CurlConnection(
                pool: .init(connectionsPerHost: 1), idleTimeout: .seconds(10), clock: clock)
            let held = try await connection.send(request(.seconds(600_000)))
            let request = try request()
            let queued = Task { try await connection.send(request) }
            let time = Task { [clock] in
                while !Task.isCancelled {
                    clock.advance(by: .seconds(1))
                    await Task.yield()
                }
            }

            let error = await #expect(throws: TransportError.self) { try await queued.joinedValue }
            time.cancel()
            #expect(error?.code == .timedOut)
            #expect(error?.stage == .connecting)
            #expect(origin.requests.count == 1)
            withExtendedLifetime(held) {}
        }

        @Test(arguments: ["http", "https"], [false, true])
        func `Each request to a silent server fails at its own time`(
            scheme: String, isBesideOthers: Bool
        ) async throws {
            let gate = Gate()
            origin.enqueue(
                .init(
                    steps: [.head(.ok, ["Content-Length": "99"])]
                        + (0..<8).flatMap { _ in [.wait(gate), .raw("a")] } + [.hang]))
            let silent = try SilentServer()
            let connection = try CurlConnection(
                pool: .init(connectionsPerHost: 1), idleTimeout: .seconds(2), clock: clock)
            var reader = isBesideOthers ? try await connection.send(request(.seconds(60))).body.open() : nil
            // Without TLS, the first request is sent at once, which counts as progress; it occupies the connection.
            var holder = try Request.get("\(scheme)://127.0.0.1:\(silent.port)/")
            holder.options.idleTimeout = .seconds(600)
            let held = scheme == "http" ? Task { [holder] in try await connection.send(holder) } : nil
            let others = (isBesideOthers ? 1 : 0) + (held == nil ? 0 : 1)
            try await yield { connection.watch.count == others }
            // From then on, the one connection is in use.
            let client = held == nil ? nil : try await silent.acceptRequest()
            defer { _ = client.map { close($0) } }

            let start = clock.now
            var requests: [Task<(TransportError?, Duration), Never>] = []
            for count in 1...8 {
                let request = try Request.get("\(scheme)://127.0.0.1:\(silent.port)/")
                requests.append(
                    Task { [clock] in
                        let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
                        return (error, start.duration(to: clock.now))
                    })
                try await yield { connection.watch.count == count + others }
                clock.advance(by: .milliseconds(250))
            }

            for (index, request) in requests.enumerated() {
                let (error, time) = await request.joinedValue
                #expect(error?.code == .timedOut)
                #expect(time == .milliseconds(2000 + 250 * index))
                gate.admit()
                if isBesideOthers { #expect(try await reader?.next() == Data("a".utf8)) }
                clock.advance(by: .milliseconds(250))
            }
            if let held {
                held.cancel()
                await #expect(throws: CancellationError.self) { try await held.joinedValue }
            }
        }
    }
}
#endif
