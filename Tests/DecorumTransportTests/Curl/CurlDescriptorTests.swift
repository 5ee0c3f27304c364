#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// The descriptors of the transport's process.
    @Suite(.timeLimit(.minutes(3))) struct CurlDescriptorTests {
        /// The open descriptors that a child process inherits.
        private static func inherited() throws -> Set<Int32> {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            return Set(
                names.compactMap { Int32($0) }.filter { descriptor in
                    let flags = fcntl(descriptor, F_GETFD)
                    return flags >= 0 && flags & FD_CLOEXEC == 0
                })
        }

        @Test func `A child process inherits no descriptor of a transport or an origin`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                // After the first exchange, the runtime has opened all its own descriptors.
                let earlier = (origin: try LoopbackOrigin(), connection: try CurlConnection())
                earlier.origin.route(nil, "*", "ok")
                try await earlier.connection.send(.get(earlier.origin.url + "/")).body.drain(upTo: 10)
                let before = try Self.inherited()
                let origin = try LoopbackOrigin()
                let gate = Gate()
                origin.route(
                    nil, "*", .script(.head(.ok, ["Content-Length": "1"]), .wait(gate), .raw("a")))
                let connection = try CurlConnection()
                let first = try await connection.send(.get(origin.url + "/"))
                let second = try await connection.send(.get("http://localhost:\(origin.port)/"))

                let added = try Self.inherited().subtracting(before)
                let links = added.map { number in
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) ?? ""
                }
                #expect(links == [])
                #expect(origin.openConnectionCount == 2)
                gate.open()
                try await first.body.drain(upTo: 10)
                try await second.body.drain(upTo: 10)
                withExtendedLifetime(earlier) {}
            }
        }
    }
}
#endif
