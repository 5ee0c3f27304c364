import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// The text of a difference that verifying has found, and its remedy.
@Suite(.timeLimit(.minutes(3))) struct DriftTextTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    private func drift(
        from recorded: Response, to live: Response, rules: CassetteRules = .silent
    ) async throws -> CassetteDriftError {
        let requests = [try Request.get("https://example.com/items")]
        _ = try await recorder.run(.once, requests, rules: rules) { _ in recorded }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests, rules: rules) { _ in live }
        }
        return try #require(error)
    }

    private static func refusal(_ text: String) -> Response {
        Response(
            status: .unprocessableContent, fields: [.contentType: "application/json"], body: Body(Data(text.utf8)))
    }

    @Test func `An answer of another class is shown, and not the shape that it lacks`() async throws {
        let token = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        let live = Self.refusal(#"{"error": "missing",\#n "message": "region is required", "token": "\#(token)"}"#)
        let error = try await drift(from: TestRecorder.json(#"{"items":[1],"next":"x"}"#), to: live)
        let changes = try #require(error.drifts.first?.changes)
        #expect(changes.first == "status  was 200, is 422")
        #expect(
            error.description.contains(
                "\nfix: mend the server or its data if it is meant to accept the request; else change the code that sends it, "
                    + "then `CASSETTE=rewrite swift test` records the test anew; without that, a new recording would hold the "
                    + "refusal"
            ))
        #expect(changes.count == 2)
        #expect(
            changes.last?.hasPrefix(#"content  {"error": "missing", "message": "region is required", "tok"#) == true)
        #expect(!error.description.contains(token.dropFirst(4).prefix(8)), "\(error)")
    }

    @Test func `A long answer is cut off after its secrets are masked`() async throws {
        let token = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        let live = Self.refusal(String(repeating: "no. ", count: 38) + token)
        let error = try await drift(from: TestRecorder.json("{}"), to: live)
        let content = try #require(error.drifts.first?.changes.last)
        #expect(content.count == "content  ".count + 160)
        #expect(content.hasSuffix("…"))
        #expect(!content.contains("x7Rq2"), "\(content)")
    }

    @Test func `A difference names its line and how to record`() async throws {
        let error = try await drift(from: TestRecorder.json(#"{"a":1}"#), to: TestRecorder.json(#"{"a":"1"}"#))
        #expect(error.drifts.map(\.line) == [4])
        #expect(error.description.contains("\n  GET https://example.com/items  (line 4)\n    $.a  was"), "\(error)")
        #expect(
            error.description.hasSuffix(
                "fix: if the change is meant, look whether the code that reads the answer has to change, then "
                    + "`CASSETTE=rewrite swift test` records the test anew"), "\(error)")
    }

    @Test func `A token with another number of parts is a difference`() async throws {
        let digits = "9f86d081884c7d65" + "9a2feaa0c55ad015"
        let token = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlMTIz"
        @Sendable func login(_ token: String) -> Response { TestRecorder.json(#"{"access_token":"\#(token)"}"#) }
        let error = try await drift(from: login(digits), to: login(token))
        #expect(
            error.drifts.first?.changes == [
                "$.access_token  is a token of another form: had no dots, now has three parts between dots, like a JSON Web "
                    + "Token"
            ])
        _ = try await recorder.run(.verify, [.get("https://example.com/items")], rules: .silent) { _ in
            login(String(digits.reversed()))
        }
    }

    @Test func `A test that passes although the server is down is told`() async throws {
        let request = try Request.get("https://example.com/items")
        _ = try await recorder.run(.once, [request]) { _ in TestRecorder.json("{}") }
        let cassette = try recorder.cassette(.verify)
        let down = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        await #expect(throws: TransportError.self) {
            try await CassetteConnection(cassette, recording: down).send(request)
        }
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        #expect(error?.drifts.first?.changes == ["outcome  was a response, is connectionRefused"])
    }

    @Test func `A server that asks to wait is to be asked again, and not to be recorded`() async throws {
        let text = try await drift(from: TestRecorder.json("{}"), to: Response(status: .tooManyRequests)).description
        #expect(text.contains("status  was 200, is 429, so the server asks to wait\n"), "\(text)")
        #expect(text.contains("when it is well; a new recording would hold its failure"), "\(text)")
    }

    @Test(
        arguments: [
            (401, ", so the server asks for credentials"), (403, ", so the server forbids it to the user of the test"),
            (404, ", so the server has nothing at this URL"), (410, ", so the server has nothing at this URL"),
            (415, ""),
        ])
    func `The meaning of a refusal is told where its number alone does not tell it`(code: Int, meaning: String)
        async throws
    {
        let error = try await drift(from: TestRecorder.json("{}"), to: Response(status: .init(code: code)))
        #expect(error.drifts.first?.changes.first == "status  was 200, is \(code)\(meaning)")
    }

    @Test func `A resource that has moved and the members of a new object are told`() async throws {
        let moved = try await drift(
            from: TestRecorder.json("{}"), to: Response(status: .movedPermanently, fields: [.location: "/v2"]))
        #expect(
            moved.drifts.first?.changes.first
                == "status  was 200, is 301, so requests are to use the URL in `Location` from now on")
        let paging = try await drift(
            from: TestRecorder.json("{}"), to: TestRecorder.json(#"{"paging":{"next":"x","total":1}}"#))
        #expect(
            paging.drifts.first?.changes == ["$.paging  is new: an object with next (a string), total (a number)"])
    }

    @Test func `An object that has moved into a member of another one is told once`() async throws {
        let error = try await drift(
            from: TestRecorder.json(#"{"id":1,"name":"a"}"#),
            to: TestRecorder.json(#"{"author":{"id":true,"name":1},"data":{"id":"1","name":"a"},"meta":{"n":1}}"#))
        #expect(
            error.drifts.first?.changes == [
                "$  is now in $.data", "$.author  is new: an object with id (a boolean), name (a number)",
                "$.meta  is new: an object with n (a number)", "$.data.id  was a number, is a string",
            ])
    }

    @Test func `A problem is shown by the members that tell it`() async throws {
        let problem = #"{"type":"/p","title":"Too large","status":413,"instance":"urn:1","detail":"1 MB"}"#
        let error = try await drift(
            from: Response(status: .ok),
            to: Response(
                status: .contentTooLarge, fields: [.contentType: "application/problem+json"],
                body: Body(Data(problem.utf8))))
        #expect(error.drifts.first?.changes.last == #"content  {"title":"Too large","detail":"1 MB","type":"/p"}"#)
    }

    @Test func `The content of an error is no difference where the media type alone is one`() async throws {
        let error = try await drift(
            from: Self.refusal("{}"),
            to: Response(
                status: .unprocessableContent, fields: [.contentType: "application/problem+json"], body: "{}"))
        #expect(error.drifts.first?.changes == ["media type  was application/json, is application/problem+json"])
    }

    @Test func `Another error than the recorded one is shown with the words of the server`() async throws {
        let error = try await drift(
            from: Self.refusal(#"{"error":"name","field":"name"}"#), to: Self.refusal(#"{"error":"no version"}"#))
        #expect(
            error.drifts.first?.changes == [
                "$.field  is missing: was a string", #"content  {"error":"no version"}"#,
            ])
        #expect(
            error.description.hasSuffix(
                "\nfix: if the error is still the one that the test is about, look whether the code that reads the answer has to "
                    + "change, then `CASSETTE=rewrite swift test` records the test anew; else change the code that sends the request, or mend the server"
            ), "\(error)")
    }

    @Test func `Content behind a status that has none is shown`() async throws {
        let error = try await drift(from: Response(status: .noContent), to: TestRecorder.json(#"{"id":1}"#))
        #expect(error.drifts.first?.changes == ["status  was 204, is 200", #"content  {"id":1}"#])
    }

    @Test func `A refusal in place of another one may be still the one that the test is about`() async throws {
        let error = try await drift(from: Response(status: .notFound), to: Response(status: .forbidden))
        #expect(error.description.contains("\nfix: if the error is still the one that the test is about, "), "\(error)")
    }

    @Test(arguments: [302, 503])
    func `A refusal in place of any other status is one of the request`(code: Int) async throws {
        let error = try await drift(from: Response(status: .init(code: code)), to: Self.refusal("{}"))
        #expect(error.description.contains("\nfix: mend the server or its data if it is meant to accept"), "\(error)")
    }

    @Test(
        arguments: [
            (
                #"[{"a":1}]"#, #"{"items":[{"a":2}],"total":1}"#,
                "$  was an array, is an object; $.items has the shape that $ had"
            ),
            (
                #"[{"a":1}]"#, #"{"items":[{"b":2}],"total":1}"#,
                "$  was an array, is an object with items (an array), total (a number)"
            ),
            (
                #"{"owner":"x"}"#, #"{"owner":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}}"#,
                "$.owner  was a string, is an object with a (a number), b (a number), c (a number), d (a number), "
                    + "e (a number) and 1 more"
            ), (#"{"owner":"x"}"#, #"{"owner":{}}"#, "$.owner  was a string, is an object"),
        ])
    func `An object in place of another value is told with its members`(recorded: String, live: String, change: String)
        async throws
    {
        let error = try await drift(from: TestRecorder.json(recorded), to: TestRecorder.json(live))
        #expect(error.drifts.first?.changes == [change])
    }

    @Test(
        arguments: [
            (
                ["{}", #"{"a":1}"#], ["{}", #"{"a":"#],
                "event 2, of the type “item”, is no JSON; that of all recorded events is"
            ),
            (
                ["{}", "{}", "{}"], ["{", "{}", "["],
                "event 1, of the type “item”, is no JSON, nor is that of 1 more; that of all recorded events is"
            ), (["{}", "done"], ["{}", "done"], nil), (["{}", "done"], ["{", "done"], nil), (["{}"], [], nil),
        ] as [([String], [String], String?)])
    func `Data of an event that are no JSON any more are told`(recorded: [String], live: [String], words: String?) {
        let streams = [recorded, live].map { events in
            Data(events.map { "event: item\ndata: \($0)\n\n" }.joined().utf8)
        }
        #expect(
            BrokenEvents.drift(from: streams[0], to: streams[1])
                == [words.map { "events  the data of \($0)" }].compactMap(\.self))
    }
}
