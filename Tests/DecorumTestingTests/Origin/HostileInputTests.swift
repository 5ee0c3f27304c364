import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct HostileInputTests {
    @Test(arguments: [
        ("nonsense\r\n\r\n", 400), ("GET /\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: x\n\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: x\r\nA: \u{1}\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 400),
    ])
    func `Bytes that are not HTTP are refused, and the connection is closed`(bytes: String, status: Int) async throws {
        let origin = try LoopbackOrigin()
        let client = try RawClient(port: origin.port)

        try await client.send(bytes)

        #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 \(status) "))
        #expect(origin.rejections.map(\.status.code) == [status])
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\nHost: x\r\nX: "], ["", "\r\n\r\n"])
    func `A head that is too long is refused`(start: String, end: String) async throws {
        let origin = try LoopbackOrigin()
        let client = try RawClient(port: origin.port)

        try await client.send(start + String(repeating: "a", count: 300_000) + end)

        #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 431 "))
    }

    @Test func `Random bytes neither crash nor keep an origin`() async throws {
        let origin = try LoopbackOrigin()
        let generator = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let client = try RawClient(port: origin.port)
            let bytes = (0..<generator.next() % 512).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            try await client.send(Data(bytes))
            client.closeWriting()
            _ = try await client.receiveAll()
        }

        try await origin.waitForOpenConnections(0)
        #expect(origin.connectionCount == 100)
    }

    @Test func `Damaged requests neither crash nor keep an origin`() async throws {
        let origin = try LoopbackOrigin()
        let generator = SeededGenerator(seed: 2)
        let request = "POST /a?b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: 1\r\n\r\n"
        for _ in 0..<200 {
            var bytes = Array(request.utf8)
            for _ in 0...generator.next() % 3 {
                let index = Int(generator.next() % UInt64(bytes.count))
                bytes[index] = generator.next() % 2 == 0 ? UInt8(truncatingIfNeeded: generator.next()) : 0x0D
            }
            let client = try RawClient(port: origin.port)
            try await client.send(Data(bytes))
            client.closeWriting()
            _ = try await client.receiveAll()
        }

        try await origin.waitForOpenConnections(0)
        #expect(origin.rejections.count > 100)
        #expect(origin.connectionCount == 200)
    }
}
