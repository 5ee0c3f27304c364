import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The cause that a miss names: a change of the request, another origin, an additional request, or a file that has lost it.
@Suite struct MissCauseTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    private func get(_ target: String) throws -> Request { try .get("https://example.com" + target) }

    @Test func `A path that no recording has may be that of an additional request`() async throws {
        let additional =
            "no recording has this method and path; it may be a request that the test did not send when it was recorded"
        let recorded = try ["/items/1"].map(get)
        #expect(
            try await recorder.miss(get("/me"), recorded: recorded)
                .contains("/me\n\(additional)\nclosest: interaction 1, not played so far")
        )
        #expect(!(try await recorder.miss(get("/items/1?a=b"), recorded: recorded).contains(additional)))
    }

    @Test func `A recording that differs only in its method, or in a piece of its path, is that before the change`()
        async throws
    {
        let pairs = try [
            (
                Request.put("https://example.com/notes/1", body: "x"),
                Request.patch("https://example.com/notes/1", body: "x")
            ),
            (get("/v1/items/1"), get("/v2/items/1")),
        ]
        for (recorded, live) in pairs {
            let changed = try await recorder.miss(live, recorded: [recorded])
            #expect(changed.contains("\nclosest: interaction 1, not played so far, 2 of 3 rules agree"), "\(changed)")
            #expect(!changed.contains("no recording has this method and path"), "\(changed)")
        }
        let played = try await recorder.miss(get("/v2/items/1"), recorded: [get("/v1/items/1")], played: 1)
        #expect(played.contains("no recording has this method and path; "), "\(played)")
    }

    @Test func `A recording with another method and another path is not called the closest one`() async throws {
        let recorded = try Request.post("https://example.com/items/1/loan", body: "x")
        let text = try await recorder.miss(.get("https://example.com/items/1"), recorded: [recorded])
        #expect(
            text.contains(
                """
                  GET https://example.com/items/1
                no recording has this method and path, and no similar one was found; the test may not have sent it when it \
                was recorded, or the file may have lost its recording
                fix: if the file was changed by mistake, restore it from version control; else if the change is meant, \
                `CASSETTE=append swift test` records it in addition; `CASSETTE=rewrite swift test` records the test anew
                """), "\(text)")
        #expect(text.hasSuffix("feed.json"), "\(text)")
        let login = try Request.post("https://example.com/login", body: "x")
        let lost = try await recorder.miss(
            .post("https://example.com/items/1/loan", body: "y"), recorded: [login], played: 1)
        #expect(lost.contains("and no similar one was found") && !lost.contains("closest"), "\(lost)")
    }

    @Test func `A recording of the same path at another origin is told as such`() async throws {
        let elsewhere = try Request.get("http://127.0.0.1:40617/items?b=2&a=1")
        let here = try Request.get("http://127.0.0.1:45555/items?a=1&b=2")
        let text = try await recorder.miss(here, recorded: [elsewhere])
        #expect(text.contains("the recorded request went to another origin;"), "\(text)")
        #expect(text.contains("`.pathAndQuery`") && !text.contains("no recording has this method and path"), "\(text)")
    }

    @Test func `A file that was copied from another one is told where no recording has the path`() async throws {
        _ = try await recorder.run(.once, [get("/items?page=1")]) { _ in Response(status: .ok) }
        try recorder.folder.write(try recorder.folder.text("feed.json"), to: "other.json")
        let connection = CassetteConnection(try recorder.cassette(.replay))
        let words = "the file has the same content as other.json beside it"
        let other = await #expect(throws: CassetteMissError.self) { try await connection.send(get("/me")) }
        let text = try #require(other).description
        #expect(text.contains(words) && !text.contains("no recording has this method and path"), "\(text)")
        #expect(
            text.contains("\nfix: if the file was changed by mistake, restore it from version control; else if "),
            "\(text)")
        let near = await #expect(throws: CassetteMissError.self) { try await connection.send(get("/items?page=2")) }
        #expect(try #require(near).description.contains(words) == false)
        // The folder is searched once for all requests.
        try FileManager.default.removeItem(atPath: recorder.folder.path("other.json"))
        let later = await #expect(throws: CassetteMissError.self) { try await connection.send(get("/you")) }
        #expect(try #require(later).description.contains(words))
    }

    @Test func `A request to which a recorded answer leads is told as one that the file has lost`() async throws {
        _ = try await recorder.run(.once, [get("/items")]) { _ in
            Response(status: .found, fields: [.location: "/items?page=2"])
        }
        let connection = CassetteConnection(try recorder.cassette(.replay))
        _ = try await connection.send(get("/items"))
        for (path, isLost) in [("/items?page=2", true), ("/items?page=3", false)] {
            let error = await #expect(throws: CassetteMissError.self) { try await connection.send(get(path)) }
            let words = "the recorded `Location` of GET https://example.com/items (line 4) leads to this request"
            #expect(try #require(error).description.contains(words) == isLost)
        }
    }
}
