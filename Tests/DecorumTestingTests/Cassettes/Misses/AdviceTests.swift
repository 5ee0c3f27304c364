import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Errors that a user reads when a file cannot be read or written.
@Suite struct AdviceTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: ["", "{\"cassette\": 1,\n"]) func `The marks of a merge are told with their line`(start: String)
        throws
    {
        try folder.write(
            start + "<<<<<<< HEAD\n  \"interactions\": [\n=======\n  \"interactions\": []\n>>>>>>> main\n}",
            to: "a.json")
        let error = #expect(throws: CassetteError.self) { try Cassette(at: folder.path("a.json"), mode: .replay) }
        #expect(error?.place == "line \(start.isEmpty ? 1 : 2)")
        #expect(error?.reason.hasPrefix("a merge has left a conflict there") == true)
        #expect(error?.reason.hasSuffix("or delete the file and record it again") == true)
    }

    @Test(arguments: [
        ("application/zip", "other"), ("application/octet-stream", "PK\u{3}\u{4}more"), (nil, "PK\u{3}\u{4}"),
    ])
    func `An archive in a part of an upload is refused as an archive is`(
        mediaType: String?, content: String
    ) async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: .once)
        let type = mediaType.map { "\r\nContent-Type: \($0)" } ?? ""
        let part = "Content-Disposition: form-data; name=\"file\"; filename=\"a\"\(type)\r\n\r\n\(content)"
        let body = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b\r\n\(part)\r\n--b--\r\n"
        let fields: HTTPFields = [.contentType: "multipart/form-data; boundary=b"]
        _ = try await CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
            .send(.post("https://example.com/upload", fields: fields, body: Body(body)))
        let error = await #expect(throws: SecretFoundError.self) { try await cassette.finish() }
        #expect(try #require(error).description.contains("is an archive or has a binary format"))
    }

    @Test func `A folder that cannot be made is told in words`() async throws {
        try folder.write("x", to: "file")
        let cassette = try Cassette(at: folder.path("file/a.json"), mode: .once)
        _ = try await CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
            .send(.get("https://example.com/"))
        let error = await #expect(throws: CassetteError.self) { try await cassette.finish() }
        #expect(error?.reason.hasPrefix("it cannot be written, because ") == true)
        #expect(error?.reason.contains("error ") == false, "\(error?.reason ?? "")")
    }
}
