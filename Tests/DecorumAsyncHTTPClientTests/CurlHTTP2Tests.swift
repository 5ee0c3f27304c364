#if AsyncHTTPClient && os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import NIOHPACK
import NIOHTTP2
import Testing

extension IsolatedTests {
    /// Streams of libcurl's transport that end before their requests, on a server of which the tests choose each frame.
    @Suite(.timeLimit(.minutes(3)), .disabled(if: SecureServer.missingForTLS != nil)) struct CurlHTTP2Tests {
        @Test(arguments: [
            "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\nETag: 1\r\n\r\n",
            "Content-Length: 5\r\n\r\nearly",
            "\r\nearly",
        ])
        func `A complete response is returned while content is still to be made`(answer: String) async throws {
            let origin = try await HTTP2Origin(overHTTP1: "HTTP/1.1 200 OK\r\n" + answer) { path, stream, peer in
                guard path == "/early" else { return peer.answer("\(peer.number)", on: stream) }
                peer.sendHead([":status": "200"], on: stream)
                peer.sendContent("early", on: stream)
                peer.sendHead(["etag": "1"], on: stream, isEnd: true)
            }
            let connection = try CurlConnection.trusting(origin.root)
            #expect(try await connection.send(.get(origin.url + "/")).body.text(upTo: 100) == "1")
            for _ in 0..<3 {
                let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
                feed.yield(Data("begun".utf8))
                let response = try await connection.send(.post(origin.url + "/early", body: Body(chunks: chunks)))
                var (reader, content) = (try await response.body.open(), Data())
                while let chunk = try await reader.next() { content += chunk }
                #expect(content == Data("early".utf8))
                #expect(reader.trailers == (answer.contains("ETag") ? [.eTag: "1"] : nil))
                withExtendedLifetime(feed) {}

                #expect(try await connection.send(.get(origin.url + "/")).body.text(upTo: 100) == "1")
            }
            try await origin.waitForOpenConnections(1)
        }

        @Test func `Requests at the same time share their connection while a stream is sent on another`() async throws {
            let origin = try await HTTP2Origin(overHTTP1: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") {
                _, stream, peer in
                peer.answer("\(peer.number)", on: stream)
            }
            let connection = try CurlConnection.trusting(origin.root)
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            let upload = try await connection.send(.post(origin.url + "/", body: Body(chunks: chunks)))
            #expect(upload.metadata.timings?.protocolVersion == "HTTP/1.1")

            let request = try Request.get(origin.url + "/")
            let numbers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<32 { group.addTask { try await connection.send(request).body.text(upTo: 100) } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(numbers == ["2"])
            withExtendedLifetime((upload, feed)) {}
        }

        @Test(arguments: [20, 1 << 20])
        func `A response that ends before its request reaches its reader when all content is sent`(
            count: Int
        ) async throws {
            let origin = try await HTTP2Origin { _, stream, peer in
                peer.answer("early", on: stream)
                for stream in [stream, .rootStream] {
                    peer.send(.windowUpdate(windowSizeIncrement: 1 << 20), on: stream)
                }
            }
            let connection = try CurlConnection.trusting(origin.root)
            let response = try await connection.send(.post(origin.url + "/", body: Body(BytePattern.bytes(count))))
            #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
            #expect(try await response.body.text(upTo: 10) == "early")
        }

        @Test func `Content at hand is sent over HTTP/2, and a stream only where the app demands it`() async throws {
            let origin = try await HTTP2Origin(overHTTP1: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
                _, stream, peer in
                peer.answer("ok", on: stream)
            }
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try Data("file".utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let connection = try CurlConnection.trusting(origin.root)
            for body in [.empty, "bytes", try Body(contentsOf: file), Body("bytes").observed { _ in }] as [Body] {
                let response = try await connection.send(.post(origin.url + "/", body: body))
                #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
                #expect(try await response.body.text(upTo: 10) == "ok")
            }
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            feed.yield(Data("stream".utf8))
            let response = try await CurlConnection.trusting(origin.root, protocols: .http2)
                .send(.post(origin.url + "/", body: Body(chunks: chunks)))
            #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
            feed.finish()
            #expect(try await response.body.text(upTo: 10) == "ok")
            try await origin.waitForHeads(5)
        }
    }
}

extension CurlConnection {
    fileprivate static func trusting(_ root: URL, protocols: Protocols = .negotiated) throws -> CurlConnection {
        var tls = TLSOptions()
        tls.roots = .file(root)
        return try CurlConnection(protocols: protocols, tls: tls, idleTimeout: .seconds(10))
    }
}
#endif
