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

/// One kind of content, and the bytes that a server has to get.
struct ContentKind: Sendable, CustomTestStringConvertible {
    let name: String
    /// The media type; nil for a form of several parts, whose boundary is random.
    let mediaType: String?
    /// Whether the length is known before it is sent.
    let hasLength: Bool
    let content: @Sendable (_ file: URL) throws -> RequestContent
    /// The bytes, which depend on the boundary of a form of several parts.
    let bytes: @Sendable (_ boundary: String) -> Data

    var testDescription: String { name }

    /// The content of the file, in which line breaks and delimiters must not matter.
    static let fileContent = Data(0...255) + Data("\r\n--decorum\r\n\r\n".utf8) + BytePattern.bytes(300_000)

    static let all: [ContentKind] = [
        ContentKind(name: "JSON", mediaType: "application/json", hasLength: true) { _ in
            .json(["name": "Ünï \"a/b\""])
        } bytes: { _ in
            Data(#"{"name":"Ünï \"a\/b\""}"#.utf8)
        },
        ContentKind(name: "text", mediaType: "text/plain; charset=utf-8", hasLength: true) { _ in
            .text("line\r\nü\u{0}💩")
        } bytes: { _ in
            Data("line\r\nü\u{0}💩".utf8)
        },
        ContentKind(name: "form", mediaType: "application/x-www-form-urlencoded", hasLength: true) { _ in
            .form(["a b": "c&d=e", "ü": "+ %\r\n", "page": 2])
        } bytes: { _ in
            Data("a+b=c%26d%3De&%C3%BC=%2B+%25%0D%0A&page=2".utf8)
        },
        ContentKind(name: "form of several parts, from memory", mediaType: nil, hasLength: true) { _ in
            var form: Multipart = ["title": "Summer\nü"]
            form.append("raw", Body(Data(0...255)), named: "a \"b\".bin")
            return .multipart(form)
        } bytes: { boundary in
            Data(part(boundary, "name=\"title\"", nil).utf8) + Data("Summer\r\nü\r\n".utf8)
                + Data(part(boundary, "name=\"raw\"; filename=\"a %22b%22.bin\"", "application/octet-stream").utf8)
                + Data(0...255) + Data("\r\n--\(boundary)--\r\n".utf8)
        },
        ContentKind(name: "form of several parts, from a file", mediaType: nil, hasLength: true) { file in
            var form = Multipart()
            try form.append("photo", file: file, named: "photo.png", as: "image/png")
            return .multipart(form)
        } bytes: { boundary in
            Data(part(boundary, "name=\"photo\"; filename=\"photo.png\"", "image/png").utf8) + fileContent
                + Data("\r\n--\(boundary)--\r\n".utf8)
        },
        stream(length: 5), stream(length: nil),
    ]

    /// A form of several parts, one of which is a stream.
    private static func stream(length: Int64?) -> ContentKind {
        let name = "form of several parts, from a stream \(length == nil ? "without" : "with") a length"
        return ContentKind(name: name, mediaType: nil, hasLength: length != nil) { _ in
            var form = Multipart()
            form.append(
                "s", Body(length: length, replay: .once) { _ in OneByteReader(count: 5) }, named: "s", as: "a/b")
            form.append("after", 1)
            return .multipart(form)
        } bytes: { boundary in
            let head = part(boundary, "name=\"s\"; filename=\"s\"", "a/b")
            return Data("\(head)xxxxx\r\n\(part(boundary, "name=\"after\"", nil))1\r\n--\(boundary)--\r\n".utf8)
        }
    }

    private static func part(_ boundary: String, _ parameters: String, _ type: String?) -> String {
        "--\(boundary)\r\nContent-Disposition: form-data; \(parameters)\r\n"
            + (type.map { "Content-Type: \($0)\r\n" } ?? "") + "\r\n"
    }
}
