#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// The memory that responses take which are not read, measured in a separate process.
    @Suite(.timeLimit(.minutes(5))) struct CurlBytesHeldTests {
        @Test func `A response that is not read takes what the transport declares, and no more`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count = 48
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", .generated(count: 64 << 20))
                let connection = try CurlConnection(protocols: .http1)
                guard case .atMost(let bound) = connection.layers.first?.memory.bytes else { exit(1) }
                // The part for the content of requests is not used.
                let content = bound - (1088 << 10)
                origin.route(.get, "/small", LoopbackOrigin.Answer(body: "ok"))
                _ = try await connection.send(.get(origin.url + "/small")).body.drain(upTo: 10)
                let before = ProcessMemory.peak
                var held: [any BodyReader] = []
                for _ in 0..<count {
                    var reader = try await connection.send(.get(origin.url + "/")).body.open()
                    _ = try await reader.next()
                    held.append(reader)
                }
                // The minute above bounds the wait.
                try await yield { (ProcessMemory.peak - before) / count >= content * 3 / 4 }
                // Gives a server that is not held back the time to send more.
                for _ in 0..<200 {
                    _ = try await connection.send(.get(origin.url + "/small")).body.drain(upTo: 10)
                }
                let each = (ProcessMemory.peak - before) / count

                // A connection on both sides takes some memory besides.
                #expect(each < content + (256 << 10), "\(each) of \(content)")
                withExtendedLifetime(held) {}
            }
        }
    }
}
#endif
