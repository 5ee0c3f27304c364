import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Archives and binary formats are refused, since no secret in them would be found, unless the rules allow them.
@Suite(.timeLimit(.minutes(3))) struct UnsearchedContentTests {
    let folder = TemporaryFolder()

    static let mediaTypes = [
        "application/bson", "application/cbor", "application/grpc", "application/grpc+proto", "application/grpc-web",
        "application/gzip", "application/java-archive", "application/msgpack", "application/protobuf",
        "application/vnd.android.package-archive", "application/vnd.apache.avro", "application/vnd.google.protobuf",
        "application/vnd.msgpack", "application/vnd.rar", "application/x-7z-compressed", "application/x-bzip2",
        "application/x-gzip", "application/x-msgpack", "application/x-protobuf", "application/x-tar",
        "application/x-xz", "application/x-zip-compressed", "application/zip", "application/zstd",
        "Application/ZIP; name=a",
    ]

    /// The first bytes of an archive, or of a compressed file.
    static let starts: [[UInt8]] = [
        [0x50, 0x4B, 0x03, 0x04], [0x1F, 0x8B, 0x08], [0x37, 0x7A, 0xBC, 0xAF], Array("Rar!".utf8), Array("BZh".utf8),
        [0xFD, 0x37, 0x7A, 0x58, 0x5A], [0x28, 0xB5, 0x2F, 0xFD],
        [UInt8](repeating: 0, count: 257) + Array("ustar".utf8),
    ]

    /// Bytes that are no text, and the start of no archive.
    private static let binary = Data([0x0A, 0x02, 0xFF, 0xFE, 0x00, 0x01])

    /// Records content of a request or of its answer, and returns it as it is replayed.
    private func recorded(
        _ content: Data, typed mediaType: String?, inRequest: Bool, rules: CassetteRules = .silent
    ) async throws -> Data? {
        let cassette = try Cassette(at: folder.path("a.json"), mode: .rewrite, rules: rules)
        var fields: HTTPFields = [:]
        fields[.contentType] = mediaType
        let answer = inRequest ? Response(status: .ok) : Response(status: .ok, fields: fields, body: Body(content))
        let request =
            try inRequest
            ? Request.post("https://example.com/files", fields: fields, body: Body(content))
            : Request.get("https://example.com/files")
        _ = try await CassetteConnection(cassette, recording: StubConnection(answer)).send(request)
        try await cassette.finish()
        let interaction = try Cassette(at: folder.path("a.json"), mode: .replay).interactions().first
        return inRequest ? interaction?.request.body.bytes : interaction?.response?.body.bytes
    }

    private var allowing: CassetteRules {
        var rules = CassetteRules.silent
        rules.allowedSecrets.append(.kind(.unsearchedContent))
        return rules
    }

    private func expectRefusal(_ content: Data, typed mediaType: String?, inRequest: Bool) async throws {
        let error = await #expect(throws: SecretFoundError.self) {
            try await recorded(content, typed: mediaType, inRequest: inRequest)
        }
        #expect(error?.findings.map(\.kind) == [.unsearchedContent])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }

    @Test(arguments: mediaTypes, [true, false])
    func `A type is refused, and written as it is where the rules allow it`(mediaType: String, inRequest: Bool)
        async throws
    {
        try await expectRefusal(Self.binary, typed: mediaType, inRequest: inRequest)
        let written = try await recorded(Self.binary, typed: mediaType, inRequest: inRequest, rules: allowing)
        #expect(written == Self.binary)
    }

    @Test(arguments: starts, ["application/octet-stream", nil])
    func `An archive of another type is known by its first bytes`(start: [UInt8], mediaType: String?) async throws {
        let content = Data(start) + Self.binary
        for inRequest in [true, false] {
            try await expectRefusal(content, typed: mediaType, inRequest: inRequest)
            let written = try await recorded(content, typed: mediaType, inRequest: inRequest, rules: allowing)
            #expect(written == content)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
                try FileManager.default.removeItem(atPath: folder.path(name))
            }
        }
    }

    /// Binary content that may be written, some with a part of the first bytes of an archive.
    private static let others: [(Data, String?)] =
        starts.map { (Data($0.dropLast()) + Data([0]) + binary, "application/octet-stream") }
        + ["application/octet-stream", "application/x-archive", "image/png", nil].map { (binary, $0) }

    @Test(arguments: others)
    func `Other binary content is written`(content: Data, mediaType: String?)
        async throws
    {
        #expect(try await recorded(content, typed: mediaType, inRequest: mediaType == nil) == content)
    }

    @Test func `An archive that is allowed is still refused for a token that it shows`() async throws {
        let content = Data([0x50, 0x4B, 0x03, 0x04, 0xFF]) + Data(" \(PlantedSecret.gitHub) ".utf8)
        let error = await #expect(throws: SecretFoundError.self) {
            try await recorded(content, typed: "application/zip", inRequest: false, rules: allowing)
        }
        let kinds = try #require(error).findings.map(\.kind)
        #expect(!kinds.isEmpty && !kinds.contains(.unsearchedContent))
    }

    @Test(arguments: [
        ("application/zip", "other"), ("application/octet-stream", "PK\u{3}\u{4}more"), (nil, "PK\u{3}\u{4}"),
    ])
    func `An archive in a part of an upload is refused as an archive is`(
        mediaType: String?, content: String
    ) async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: .once, rules: .silent)
        let type = mediaType.map { "\r\nContent-Type: \($0)" } ?? ""
        let part = "Content-Disposition: form-data; name=\"file\"; filename=\"a\"\(type)\r\n\r\n\(content)"
        let body = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b\r\n\(part)\r\n--b--\r\n"
        let fields: HTTPFields = [.contentType: "multipart/form-data; boundary=b"]
        _ = try await CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
            .send(.post("https://example.com/upload", fields: fields, body: Body(body)))
        let error = await #expect(throws: SecretFoundError.self) { try await cassette.finish() }
        #expect(error?.findings.map(\.kind) == [.unsearchedContent])
    }
}
