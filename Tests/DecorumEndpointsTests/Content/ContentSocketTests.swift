import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// Each kind of content arrives byte for byte, over a real socket.
@Suite(.timeLimit(.minutes(3))) struct ContentSocketTests {
    /// Calls an endpoint with the content, and a file for those that need one.
    private func send(_ kind: ContentKind, to url: String) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UUID())")
        try ContentKind.fileContent.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let connection = try SystemConnection().calling(at: url)
        return try await connection.value(
            of: Endpoint<String>.post("store", content: kind.content(file), as: .text))
    }

    private func expect(_ kind: ContentKind, mediaType: String?, length: String?, content: Data) throws {
        let type = try #require(mediaType)
        let boundary = type.split(separator: "boundary=").last.map(String.init) ?? ""
        #expect(type == kind.mediaType ?? "multipart/form-data; boundary=\(boundary)")
        let bytes = kind.bytes(boundary)
        #expect(content == bytes, "\(content.count) bytes in the place of \(bytes.count)")
        #expect(length == (kind.hasLength ? "\(bytes.count)" : nil))
    }

    @Test(arguments: ContentKind.all) func `The origin of the tests gets it`(kind: ContentKind) async throws {
        let origin = try LoopbackOrigin()
        origin.route(.post, "/store", "stored")
        #expect(try await send(kind, to: origin.url) == "stored")
        let received = try #require(origin.requests.first)
        try expect(
            kind, mediaType: received.fields[.contentType], length: received.fields[.contentLength],
            content: received.body)
        #expect(received.fields["Transfer-Encoding"] == (kind.hasLength ? nil : "chunked"))
        origin.stop()
    }

    @Test(.enabled(if: SecureServer.nginxPath != nil, "The server is nginx, which is not installed."))
    func `nginx gets it`() async throws {
        let nginx = try await NginxServer()
        for kind in ContentKind.all {
            let lines = try await send(kind, to: nginx.url).components(separatedBy: "\n")
            try expect(
                kind, mediaType: lines[1], length: lines[2].isEmpty ? nil : lines[2],
                content: nginx.content(of: lines[0]))
        }
    }

    @Test func `A form that no server takes is read no further than the socket's buffers`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(.hanging, answering: .afterHead)
        let transfer = GatedTransfer.open
        let size = 1 << 20
        var form = Multipart()
        form.append("big", transfer.body(chunks: 4096, of: size), named: "big.bin")
        let connection = try SystemConnection().calling(at: origin.url)
        let upload = Endpoint<Void>.post("files", content: .multipart(form))
        form = Multipart()
        let task = Task { try await connection.value(of: upload) }
        try await origin.waitForHeads(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transfer.bytesRead < 64 << 20)
        origin.stop()
    }

    @Test func `A cancelled upload lets go of the part that it was reading`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.post, "/files", .init(.created))
        let transfer = GatedTransfer()
        let task = Task { [url = origin.url] in
            var form: Multipart = ["title": "Summer"]
            form.append("slow", transfer.body(chunks: 100), named: "slow.bin")
            let connection = try SystemConnection().calling(at: url)
            try await connection.value(of: Endpoint<Void>.post("files", content: .multipart(form)))
        }
        transfer.gate.admit(2)
        try await transfer.gate.waitForWaiting(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transfer.chunksRead == 2)
        try await origin.waitForOpenConnections(0)
        try await yield { !transfer.isAlive }
        origin.stop()
    }
}
