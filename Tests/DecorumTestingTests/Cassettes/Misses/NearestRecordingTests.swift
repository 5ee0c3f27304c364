import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The recording that a miss shows, and the remedy that it names.
@Suite struct NearestRecordingTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    private func get(_ target: String) throws -> Request { try .get("https://example.com" + target) }

    @Test func `A query with an item in addition is nearer than one with another value`() async throws {
        let recorded = try ["/login", "/items", "/items?page=2", "/items?page=3"].map(get)
        let text = try await recorder.miss(get("/items?per_page=2"), recorded: recorded, played: 1)
        #expect(text.contains("closest: interaction 2, not played so far, 2 of 3 rules agree"), "\(text)")
        #expect(text.contains("\n    query     now has \"per_page=2\" in addition\n"), "\(text)")
    }

    @Test func `Another value of an item is nearer than an item in addition`() async throws {
        let recorded = try ["/items?per_page=2", "/items?page=3&per_page=2", "/items?tag=a&tag=b"].map(get)
        let text = try await recorder.miss(get("/items?per_page=2&page=4"), recorded: recorded)
        #expect(text.contains("closest: interaction 2, not played so far, 2 of 3 rules agree"), "\(text)")
        #expect(text.contains("\n    recorded  page=3\n    now       page=4\n"), "\(text)")
    }

    @Test func `An item that the request leaves out, and one with another value, are told apart`() async throws {
        let text = try await recorder.miss(get("/items?sort=up"), recorded: [get("/items?page=1&sort=down")])
        #expect(
            text.contains(
                "\n    query     the recording has \"page=1\" in addition\n    recorded  sort=down\n    now       sort=up\n"
            ), "\(text)")
    }

    @Test func `Of recordings that are equally near, the next one in order that was not played is shown`() async throws
    {
        let recorded = try ["/items?page=1", "/items?page=2", "/items?page=3"].map(get)
        let text = try await recorder.miss(get("/items?page=9"), recorded: recorded, played: 1)
        #expect(text.contains("closest: interaction 2, not played so far"), "\(text)")
    }

    @Test func `A path that has changed at its start is near by its end`() async throws {
        let recorded = try ["/items?page=2&per_page=3", "/items?per_page=3"].map(get)
        let text = try await recorder.miss(get("/v2/items?per_page=3"), recorded: recorded)
        #expect(text.contains("closest: interaction 2, not played so far"), "\(text)")
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

    @Test func `A request that has changed is recorded anew, and an additional one may be added`() async throws {
        let rewriting = "`CASSETTE=rewrite swift test` records the test anew"
        let changed = try await recorder.miss(get("/items?page=2"), recorded: [get("/items?page=1")])
        #expect(
            changed.contains("\nfix: if the change is meant, \(rewriting); if the file was edited, restore it\n"),
            "\(changed)")
        #expect(!changed.contains("append"), "\(changed)")
        let additional = try await recorder.miss(get("/items?page=2"), recorded: [get("/items?page=1")], played: 1)
        #expect(
            additional.contains(
                "\nfix: if the change is meant, `CASSETTE=append swift test` records it in addition; \(rewriting)\n"),
            "\(additional)")
    }

    @Test func `A second request of an event stream is told as a connection that was made again`() async throws {
        let answers = StubConnection { _ in
            Response(status: .ok, fields: [.contentType: "text/event-stream"], body: "data: 1\n\n")
        }
        let cassette = try recorder.cassette(.once)
        _ = try await CassetteConnection(cassette, recording: answers).send(get("/events")).body.text(upTo: 1 << 10)
        try await cassette.finish()
        let connection = CassetteConnection(try recorder.cassette(.replay))
        _ = try await connection.send(get("/events"))
        let error = await #expect(throws: CassetteMissError.self) { try await connection.send(get("/events")) }
        let text = try #require(error).description
        #expect(
            text.contains("\nfix: the recorded event stream has ended, after which a client connects again; "),
            "\(text)")
        #expect(!text.contains("rules.repeats"), "\(text)")
    }

    @Test func `A request that is sent again after a recorded failure is told with the failure`() async throws {
        _ = try await recorder.run(.once, [get("/a")]) { _ in Response(status: .internalServerError) }
        let connection = CassetteConnection(try recorder.cassette(.replay))
        _ = try await connection.send(get("/a"))
        let error = await #expect(throws: CassetteMissError.self) { try await connection.send(get("/a")) }
        let text = try #require(error).description
        let words = "\nfix: the recorded answer is a failure (500), after which a client sends the request again; "
        #expect(text.contains(words), "\(text)")
    }

    @Test func `Binary content that differs has no value that looks random`() async throws {
        func request(_ text: String) throws -> Request {
            try .post("https://example.com/a", body: Body(Data([0xFF, 0x20]) + Data(text.utf8)))
        }
        let text = try await recorder.miss(request("1793300000999"), recorded: [request("1793300000123")])
        #expect(text.contains("body  differs") && !text.contains("random"), "\(text)")
    }

    @Test func `Advice that has a condition, or a cassette without a request, gets no other condition`() async throws {
        let changed = try await recorder.miss(get("/a?at=1793300000999"), recorded: [get("/a?at=1793300000123")])
        #expect(changed.contains("; else `CASSETTE=rewrite") && !changed.contains("meant"), "\(changed)")
        try recorder.folder.write(#"{"cassette": 1, "interactions": []}"#, to: "empty.json")
        let connection = CassetteConnection(try recorder.cassette(.replay, "empty.json"))
        let error = await #expect(throws: CassetteMissError.self) { try await connection.send(get("/a")) }
        let text = try #require(error).description
        #expect(text.contains("\nfix: `CASSETTE=append swift test` records it in addition; "), "\(text)")
    }

    @Test(arguments: [
        ("/a?id=3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d", "/a?id=0e1d8c1e-5d4a-4b6f-9e7d-0b9f8e7d2a1c", true),
        ("/a?at=1793300000123", "/a?at=1793300000999", true), ("/a?page=2", "/a?page=3", false),
        ("/a?at=1793300000123", "/a?page=2", false), ("/a?at=817386484.66", "/a?at=817386484.67", true),
        ("/a?at=52.5200066", "/a?at=52.5200067", false),
    ])
    func `A value that looks random is not mended by a new recording`(
        recorded: String, live: String, isRandom: Bool
    ) async throws {
        let text = try await recorder.miss(get(live), recorded: [get(recorded)])
        #expect(
            text.contains("fix: a value that looks random differs, which no new recording mends") == isRandom, "\(text)"
        )
    }

    @Test(arguments: [
        (
            "/a", #"{"text":"Buy a lamp","n":1}"#, #"{"text":"418F3741-14F6-4F61-8A0D-4298A4957DC1","n":1}"#,
            ".body(ignoring: \"**.text\")"
        ),
        ("/a?day=1", "", "/a?day=1793300000123", ".url(ignoring: \"day\")"),
    ])
    func `A value that looks random in place of a plain one may be another one in each run`(
        target: String, recorded: String, live: String, rule: String
    ) async throws {
        func post(_ target: String, _ content: String) throws -> Request {
            try .post(
                "https://example.com" + target, fields: [.contentType: "application/json"], body: Body(content))
        }
        let changed = try live.hasPrefix("/") ? post(live, recorded) : post(target, live)
        let text = try await recorder.miss(changed, recorded: [post(target, recorded)])
        #expect(
            text.contains(
                "\nfix: the new value looks random, and if it is another one in each run, no new recording mends it: "
                    + "pass the code a fixed UUID, number or time, or ignore the value, as in `\(rule)`; else if the "
                    + "change is meant, `CASSETTE=rewrite"), "\(text)")
    }

    @Test func `The rule for a value that looks random names its place`() async throws {
        let text = try await recorder.miss(get("/a?at=1793300000999"), recorded: [get("/a?at=1793300000123")])
        #expect(text.contains("or ignore the value, as in `.url(ignoring: \"at\")`; else `CASSETTE="), "\(text)")
    }

    @Test func `A random boundary is no random value`() async throws {
        func upload(_ boundary: String, _ file: String) throws -> Request {
            let content =
                "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(file)\"\r\n\r\nx\r\n"
                + "--\(boundary)--\r\n"
            return try .post(
                "https://example.com/", fields: [.contentType: "multipart/form-data; boundary=\(boundary)"],
                body: Body(content))
        }
        let old = "1793300000123"
        let new = "1793300000999"
        let named = try await recorder.miss(upload(new, "b.png"), recorded: [upload(old, "a.png")])
        #expect(named.contains("part file:  filename  a.png  →  b.png"), "\(named)")
        #expect(!named.contains("looks random"), "\(named)")
    }

    @Test func `The parts of an upload are compared at another path too`() async throws {
        func upload(_ path: String, _ part: String) throws -> Request {
            let content = "--b\r\nContent-Disposition: form-data; name=\"\(part)\"\r\n\r\nx\r\n--b--\r\n"
            return try .post(
                "https://example.com/\(path)", fields: [.contentType: "multipart/form-data; boundary=b"],
                body: Body(content))
        }
        let text = try await recorder.miss(upload("uploads", "document"), recorded: [upload("files", "file")])
        #expect(text.contains("\n  body  differs\n    part file  "), "\(text)")
        #expect(text.contains("\n    part document  the recording has none"), "\(text)")
    }

    @Test func `A random file name is told with the remedy`() async throws {
        func upload(_ file: String) throws -> Request {
            let content =
                "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(file)\"\r\n\r\nx\r\n--b--\r\n"
            return try .post(
                "https://example.com/", fields: [.contentType: "multipart/form-data; boundary=b"], body: Body(content))
        }
        let text = try await recorder.miss(upload("0e1d8c1e5d4a.png"), recorded: [upload("3f2b8c1e5d4a.png")])
        #expect(text.contains("part file:  filename  3f2b8c1e5d4a.png  →  0e1d8c1e5d4a.png"), "\(text)")
        #expect(text.contains("fix: a value that looks random differs"), "\(text)")
    }
}
