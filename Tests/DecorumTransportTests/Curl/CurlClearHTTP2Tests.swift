#if os(Linux)
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

extension IsolatedTests {
    /// HTTP/2 without TLS, where the server is known to support it (RFC 9113, section 3.3).
    @Suite(.timeLimit(.minutes(3))) struct CurlClearHTTP2Tests {
        @Test(arguments: CurlBuild.all)
        func `Sequential and concurrent requests are answered`(build: CurlBuild) async throws {
            let server = try ClearHTTP2Server()
            let library = try build.library()
            let connection = try CurlConnection(library: library, protocols: .http2)
            for body in ["", "hello", "", "hello"] {
                let response = try await connection.send(
                    Request(body.isEmpty ? .get : .post, server.url + "/", body: Body(Data(body.utf8))))
                #expect(response.status == .ok)
                #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
                #expect(try await response.body.text(upTo: 10) == "ok")
            }
            #expect(server.connectionCount == (library.restartsHTTP2 ? 4 : 1))

            let request = try Request.get(server.url + "/")
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<16 {
                    group.addTask { try await connection.send(request).body.text(upTo: 10) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers == Array(repeating: "ok", count: 16))
        }

        @Test(arguments: CurlBuild.all)
        func `A priority is the weight of the stream, and is not left on the handle`(build: CurlBuild) async throws {
            let server = try ClearHTTP2Server()
            let connection = try CurlConnection(library: build.library(), protocols: .http2)
            let priorities: [TaskPriority?] = [.background, nil, .low, .high, nil]
            for priority in priorities {
                var request = try Request.get(server.url + "/")
                request.options.priority = priority
                #expect(try await connection.send(request).body.text(upTo: 10) == "ok")
            }
            // Without a priority, libcurl sends the weight of every stream, or none.
            #expect(server.weights.map { $0 ?? 16 } == [1, 16, 4, 256, 16])
        }
    }
}

/// A minimal HTTP/2 server without TLS (RFC 9113), which responds to every request with `200` and `ok`.
///
/// Its threads block, and end with the connections; `deinit` ends the listening.
final class ClearHTTP2Server: Sendable {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private struct Frame {
        static let (data, headers, settings, ping): (UInt8, UInt8, UInt8, UInt8) = (0, 1, 4, 6)
        /// The flag END_STREAM of DATA and HEADERS frames, and ACK of the others.
        static let end: UInt8 = 1
        static let endOfHead: UInt8 = 4
        static let padded: UInt8 = 8
        static let priority: UInt8 = 0x20

        let type: UInt8
        let flags: UInt8
        let stream: [UInt8]
        var content: [UInt8] = []

        var bytes: [UInt8] {
            [UInt8(content.count >> 16 & 0xFF), UInt8(content.count >> 8 & 0xFF), UInt8(content.count & 0xFF)]
                + [type, flags] + stream + content
        }
    }

    private let server: SilentServer
    private let connections = Mutex(0)
    private let heads = Mutex<[Int?]>([])

    init() throws {
        server = try SilentServer()
        let server = server
        Thread.detachNewThread { [weak self] in
            while let client = server.accept() {
                self?.connections.withLock { $0 += 1 }
                Thread.detachNewThread {
                    Self.serve(client) { weight in self?.heads.withLock { $0.append(weight) } }
                    close(client)
                }
            }
        }
    }

    deinit {
        server.stop()
    }

    var url: String { "http://127.0.0.1:\(server.port)" }
    var connectionCount: Int { connections.withLock { $0 } }
    /// The weight of each stream, from 1 to 256; nil for a stream without one.
    var weights: [Int?] { heads.withLock { $0 } }

    private static func serve(_ client: Int32, noting: (_ weight: Int?) -> Void) {
        guard read(preface.count, from: client) == preface else { return }
        send(Frame(type: Frame.settings, flags: 0, stream: [0, 0, 0, 0]), to: client)
        while let head = read(9, from: client) {
            let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            guard let content = read(count, from: client) else { return }
            let (type, isEnd, stream) = (head[3], head[4] & Frame.end != 0, Array(head[5...]))
            if type == Frame.headers { noting(weight(in: content, flags: head[4])) }
            if (type == Frame.settings || type == Frame.ping) && !isEnd {
                let answer = type == Frame.ping ? content : []
                send(Frame(type: type, flags: Frame.end, stream: stream, content: answer), to: client)
            } else if (type == Frame.headers || type == Frame.data) && isEnd {
                // The index of “:status: 200” in the static table (RFC 7541, appendix A).
                send(Frame(type: Frame.headers, flags: Frame.endOfHead, stream: stream, content: [0x88]), to: client)
                send(Frame(type: Frame.data, flags: Frame.end, stream: stream, content: Array("ok".utf8)), to: client)
            }
        }
    }

    /// The weight in the content of a HEADERS frame (RFC 7540, section 6.2).
    private static func weight(in content: [UInt8], flags: UInt8) -> Int? {
        let start = flags & Frame.padded == 0 ? 4 : 5
        guard flags & Frame.priority != 0, content.count > start else { return nil }
        return Int(content[start]) + 1
    }

    private static func read(_ count: Int, from client: Int32) -> [UInt8]? {
        guard count > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe recv(client, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }

    private static func send(_ frame: Frame, to client: Int32) {
        let bytes = frame.bytes
        _ = unsafe Glibc.send(client, bytes, bytes.count, SocketPlatform.sendFlags)
    }
}
#endif
