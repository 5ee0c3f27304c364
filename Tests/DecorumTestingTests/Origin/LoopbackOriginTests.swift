import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoopbackOriginTests {
    @Test func `A queued answer goes before a route, and a route before 404`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/a", .init(body: "route"))
        origin.enqueue(.init(.accepted, body: "queue"))
        let client = try RawClient(port: origin.port)

        for (target, answer) in [("/a", "202 Accepted"), ("/a", "200 OK"), ("/b", "404 Not Found")] {
            try await client.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 \(answer)\r\n"))
            _ = try await client.receive()
        }

        #expect(origin.requests.map(\.target) == ["/a", "/a", "/b"])
        #expect(origin.requests.allSatisfy { $0.isComplete && $0.connection == 1 })
        #expect(origin.connectionCount == 1)
    }
}
