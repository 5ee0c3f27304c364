import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The recording that a miss shows.
@Suite struct NearestRecordingTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    private func get(_ target: String) throws -> Request { try .get("https://example.com" + target) }

    @Test(
        arguments: [
            // A query with an item in addition is nearer than one with another value.
            (
                ["/login", "/items", "/items?page=2", "/items?page=3"], 1, "/items?per_page=2", 2,
                "    query     now has \"per_page=2\" in addition\n"
            ),
            // Another value of an item is nearer than an item in addition.
            (
                ["/items?per_page=2", "/items?page=3&per_page=2", "/items?tag=a&tag=b"], 0, "/items?per_page=2&page=4",
                2,
                "    recorded  page=3\n    now       page=4\n"
            ),
            (
                ["/items?page=1&sort=down"], 0, "/items?sort=up", 1,
                "    query     the recording has \"page=1\" in addition\n    recorded  sort=down\n    now       sort=up\n"
            ),
            // Of recordings that are equally near, the next one in order that was not played.
            (["/items?page=1", "/items?page=2", "/items?page=3"], 1, "/items?page=9", 2, ""),
            // A path that has changed at its start is near by its end.
            (["/items?page=2&per_page=3", "/items?per_page=3"], 0, "/v2/items?per_page=3", 2, ""),
        ] as [([String], Int, String, Int, String)])
    func `The recording with the most similar URL is shown`(
        recorded: [String], played: Int, live: String, nearest: Int, lines: String
    ) async throws {
        let text = try await recorder.miss(get(live), recorded: recorded.map(get), played: played)
        #expect(text.contains("closest: interaction \(nearest), not played so far, 2 of 3 rules agree"), "\(text)")
        #expect(lines.isEmpty || text.contains("\n" + lines), "\(text)")
    }

    @Test func `A path that no recording has is told, and so is another origin`() async throws {
        let absence = "\nno recording has this method and path\nclosest: interaction 1, not played so far"
        #expect(try await recorder.miss(get("/me"), recorded: [get("/items/1")]).contains("/me" + absence))
        let method = try Request.put("https://example.com/notes/1", body: "x")
        let patch = try Request.patch("https://example.com/notes/1", body: "x")
        #expect(try await recorder.miss(patch, recorded: [method]).contains(absence))
        #expect(
            !(try await recorder.miss(get("/items/1?a=b"), recorded: [get("/items/1")]).contains("no recording has")))

        let elsewhere = try Request.get("http://127.0.0.1:40617/items?b=2&a=1")
        let here = try Request.get("http://127.0.0.1:45555/items?a=1&b=2")
        let text = try await recorder.miss(here, recorded: [elsewhere])
        #expect(
            text.contains("\nthe recorded request went to another origin, which `.pathAndQuery` in place"), "\(text)")
    }

    @Test(arguments: [(#"{"name":"b","size":2}"#, true), (#"{"user":"b"}"#, false)])
    func `The content of a request to another path is compared where it has the same members`(
        content: String, isCompared: Bool
    ) async throws {
        let fields: HTTPFields = [.contentType: "application/json"]
        let recorded = try Request.post(
            "https://example.com/items", fields: fields, body: Body(#"{"name":"a","size":2}"#))
        let live = try Request.post("https://example.com/v2/items", fields: fields, body: Body(content))
        let text = try await recorder.miss(live, recorded: [recorded])
        #expect(text.contains("$.name") == isCompared, "\(text)")
    }

    @Test(arguments: [
        ("a", "file", "a.png", "b", "b.png", "part file:  filename  a.png  →  b.png"),
        ("b", "file", "a.png", "b", "a.png", "part document  the recording has none"),
    ])
    func `The parts of an upload are compared without the boundary, at another path too`(
        boundary: String, part: String, file: String, newBoundary: String, newFile: String, line: String
    ) async throws {
        func upload(_ path: String, _ boundary: String, _ part: String, _ file: String) throws -> Request {
            let head = "Content-Disposition: form-data; name=\"\(part)\"; filename=\"\(file)\""
            return try .post(
                "https://example.com/\(path)", fields: [.contentType: "multipart/form-data; boundary=\(boundary)"],
                body: Body("--\(boundary)\r\n\(head)\r\n\r\nx\r\n--\(boundary)--\r\n"))
        }
        let newPart = file == newFile ? "document" : part
        let text = try await recorder.miss(
            upload("uploads", newBoundary, newPart, newFile), recorded: [upload("files", boundary, part, file)])
        #expect(text.contains("\n  body  differs\n    part file") && text.contains("\n    \(line)"), "\(text)")
    }
}
