import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Answers that are not those of the API are errors that show where the fault is, and quote nothing of the content.
@Suite struct HostileAnswerTests {
    private struct Item: Decodable, Sendable {
        let name: String
    }

    private let item = Endpoint<Item>.get("items/{id}", ["id": 7])

    private func stub(_ content: Data, _ type: String? = "application/json") throws -> some Connection {
        try StubConnection { request in
            var response = Response(status: .ok, body: Body(content))
            response.head.headerFields[.contentType] = type
            response.metadata.url = request.url
            response.metadata.routeName = request.options.routeName
            return response
        }.calling(at: "https://api.example.com/v1")
    }

    @Test(
        arguments: [
            ("{\"name\": \"secret words", "column 23"), ("{\"name\": \"a\"", "column 13"), ("", "empty"),
            ("{\"name\": 7}", "name"),
            ("{\"nom\": \"secret words\"}", "name"), ("[1]", "Array"), ("{\"name\": nul}", "column 10"),
        ])
    func `Content that is no value shows the place`(content: String, place: String) async throws {
        let error = await #expect(throws: ResponseDecodingError.self) {
            try await stub(Data(content.utf8)).value(of: item)
        }
        let text = "\(try #require(error))"
        #expect(text.contains("https://api.example.com/v1/items/7") && text.contains("Item"), "\(text)")
        #expect(error?.status == .ok && error?.contentType == "application/json")
        #expect(error?.routeName == "items/{id}" && error?.length == content.utf8.count)
        #expect(text.localizedCaseInsensitiveContains(place), "\(text)")
        #expect(!text.contains("secret words"))
    }

    @Test func `Bytes that are no UTF-8 are an error that names the URL`() async throws {
        let content = Data("{\"name\": \"a".utf8) + Data([0xFF, 0xFE]) + Data("\"}".utf8)
        let error = await #expect(throws: ResponseDecodingError.self) { try await stub(content).value(of: item) }
        let text = "\(try #require(error))"
        #expect(text.contains("https://api.example.com/v1/items/7"), "\(text)")
    }

    @Test(arguments: ["text/html; charset=utf-8", nil])
    func `A page in the place of JSON is named by its media type`(type: String?) async throws {
        let page = Data("<!DOCTYPE html><title>Sign in</title>".utf8)
        let error = await #expect(throws: ResponseDecodingError.self) { try await stub(page, type).value(of: item) }
        let text = "\(try #require(error))"
        #expect(type.map { text.contains($0) } ?? true, "\(text)")
        #expect(text.contains("HTML") || text.contains("html"), "\(text)")
        #expect(!text.contains("Sign in"))
    }

    @Test func `An answer above the limit is an error before it is decoded`() async throws {
        var endpoint = item
        endpoint.limit = 10
        let error = await #expect(throws: BodyLimitError.self) {
            try await stub(Data(#"{"name": "0123456789"}"#.utf8)).value(of: endpoint)
        }
        #expect(error?.limit == 10)
    }

    @Test func `An answer that is cut short over a socket is an error of the transport`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(
            .script(
                .head(.ok, ["Content-Length": "100", "Content-Type": "application/json"]), .raw("{\"name\":"), .close))
        let connection = try SystemConnection().calling(at: origin.url)
        let error = await #expect(throws: TransportError.self) { try await connection.value(of: item) }
        #expect(error?.stage == .body)
        origin.stop()
    }

    @Test(
        arguments: [
            "attachment; filename=\"../../../etc/passwd\"", "attachment; filename*=UTF-8''..%2F..%2Fpasswd",
            "attachment; filename=\"C:\\\\Windows\\\\passwd\"", "attachment; filename=\"/etc/passwd\u{0}.png\"",
            "attachment; filename=\"\(String(repeating: "a", count: 10_000))\"", "attachment; filename=\"", ";;;", "",
            "attachment; filename=\".\"", "attachment; filename=\"\u{202E}gpj.exe\"",
        ])
    func `No name of a server leads out of the folder`(field: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hostile-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let response = Response(status: .ok, fields: [.contentDisposition: field], body: "content")
        let file = try await response.save(in: folder, upTo: 100)
        #expect(file.deletingLastPathComponent().standardizedFileURL.path == folder.standardizedFileURL.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [file.lastPathComponent])
        #expect(try String(contentsOf: file, encoding: .utf8) == "content")
    }
}
