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
                #expect(error?.code == .timedOut && error?.stage == .connecting)
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

        @Test func `A server that answers soon and then not at all delays a request by its idle timeout alone`()
            async throws
        {
            let connection = try CurlConnection(idleTimeout: .seconds(2), clock: clock)
            for round in 1...5 {
                for _ in 1...2 {
                    origin.enqueue("ok")
                    #expect(try await connection.send(request()).body.text(upTo: 10) == "ok")
                }
                origin.enqueue(.script(.hang))
                let stalled = Task { try await connection.send(request()) }
                try await origin.waitForRequests(3 * round)
                try await yield { connection.watch.count == 1 }
                clock.advance(by: .seconds(2))
                let error = await #expect(throws: TransportError.self) { try await stalled.joinedValue }
                #expect(error?.code == .timedOut && error?.stage == .head)
            }
        }
    }
}
#endif
