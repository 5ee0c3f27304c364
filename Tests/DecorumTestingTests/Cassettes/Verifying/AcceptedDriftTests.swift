import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// The differences that fail no test by themselves, which a test that has failed tells.
@Suite(.timeLimit(.minutes(3))) struct AcceptedDriftTests {
    private let recorder: TestRecorder
    private let requests: [Request]

    init() throws {
        recorder = try TestRecorder()
        requests = [try .get("https://example.com/items")]
    }

    /// The texts that a failed test gets of an answer in place of a recorded one, which a test that passes accepts.
    private func texts(from recorded: Response, to live: Response) async throws -> (faults: [String], notes: [String]) {
        _ = try await recorder.run(.once, requests) { _ in recorded }
        let cassette = try recorder.cassette(.verify)
        for request in requests {
            _ = try await CassetteConnection(cassette, recording: StubConnection(live)).send(request)
        }
        let faults = Mutex<[String]>([])
        let notes = Mutex<[String]>([])
        await cassette.reportFailedTest(shown: []) { fault in
            faults.withLock { $0.append("\(fault)") }
        } noting: { note in
            notes.withLock { $0.append(note) }
        }
        return (faults.withLock { $0 }, notes.withLock { $0 })
    }

    @Test func `A field that is missing is told to a test that has failed, and accepted by one that passes`()
        async throws
    {
        let digest = try #require(HTTPField.Name("X-Digest"))
        var recorded = TestRecorder.json("{}")
        recorded.head.headerFields[digest] = "1"
        recorded.head.headerFields[.server] = "one"
        let live = TestRecorder.json("{}")
        let texts = try await texts(from: recorded, to: live)
        #expect(texts.faults.isEmpty)
        let note = try #require(texts.notes.first).replacing(recorder.folder.url.path + "/", with: "")
        #expect(
            note == """
                The test has failed, and the server answers otherwise than the cassette feed.json has it:
                  GET https://example.com/items  (line 4)
                    may be why the test failed:
                      field `X-Digest`  is missing
                fix: mend the server; if the change is meant, change the code that reads the answer, or what the test \
                expects, then `CASSETTE=rewrite swift test` records the test anew
                """)
        _ = try await recorder.run(.verify, requests) { _ in live }
    }

    @Test func `A field that another media type or status lacks is not told`() async throws {
        let digest = try #require(HTTPField.Name("X-Digest"))
        var recorded = TestRecorder.json("{}")
        recorded.head.headerFields[digest] = "1"
        for live in [
            Response(status: .ok, fields: [.contentType: "text/html"], body: "<p>"), Response(status: .noContent),
        ] {
            let texts = try await texts(from: recorded, to: live)
            #expect(texts.faults.first?.contains("X-Digest") == false, "\(texts)")
        }
    }

    @Test func `They are told under the difference that fails the test`() async throws {
        let texts = try await texts(
            from: TestRecorder.json(#"{"a":1,"results":[1,2,3]}"#), to: TestRecorder.json(#"{"a":"1","results":[]}"#))
        #expect(texts.notes.isEmpty)
        let fault = try #require(texts.faults.first)
        #expect(
            fault.contains(
                """
                    $.a  was a number, is a string
                    may be why the test failed:
                      $.results  had 3 elements, is empty
                """), "\(fault)")
    }

    @Test(arguments: [
        ("text/plain; charset=utf-8", "text/plain;charset=\"ISO-8859-1\"", "charset  was utf-8, is iso-8859-1"),
        ("text/plain; charset=utf-8", "text/plain", "charset  was utf-8, is none"),
    ])
    func `Another charset is told`(recorded: String, live: String, words: String) async throws {
        let responses = [recorded, live].map {
            Response(status: .ok, fields: [.contentType: $0], body: Body(Data("a".utf8)))
        }
        let texts = try await texts(from: responses[0], to: responses[1])
        #expect(texts.notes.first?.contains("\n      \(words)\n") == true, "\(texts)")
    }

    @Test(arguments: [("\"1\"", "W/\"2\"", true), ("W/\"1\"", "W/\"2\"", false), ("\"1\"", "\"2\"", false)])
    func `An entity tag that is weak now is told`(recorded: String, live: String, isTold: Bool) async throws {
        let responses = [recorded, live].map { tag in
            var response = TestRecorder.json("{}")
            response.head.headerFields[.eTag] = tag
            return response
        }
        let texts = try await texts(from: responses[0], to: responses[1])
        let words = "field `ETag`  was strong, is weak, so it no longer serves as a condition of changes (`If-Match`)"
        #expect((texts.notes.first?.contains(words) ?? false) == isTold, "\(texts)")
    }

    @Test func `A field that is told already is not told again`() async throws {
        var recorded = TestRecorder.json("{}")
        recorded.head.headerFields[.location] = "/next"
        let texts = try await texts(from: recorded, to: TestRecorder.json("{}"))
        let fault = try #require(texts.faults.first)
        #expect(fault.contains("field `Location`  is missing: was /next\nfix"), "\(fault)")
    }

    @Test(
        arguments: [
            (#"{"a":[1,2,3]}"#, #"{"a":[]}"#, ["$.a  had 3 elements, is empty"]),
            (#"{"a":[1]}"#, #"{"a":[1,2]}"#, ["$.a  had 1 element, has 2"]),
            (#"[]"#, #"[1]"#, ["$  was empty, has 1 element"]),
            (#"[{"a":[1]},{"a":[1,2]}]"#, #"[{"a":[1]},{"a":[1]}]"#, []),
            (#"[{"a":[1]},{"a":[1,2]}]"#, #"[{"a":[]},{"a":[]}]"#, ["$[*].a  had 3 elements, is empty"]),
            (#"[{"p":1},{"p":20}]"#, #"[{"p":1},{"p":20.5}]"#, ["$[*].p  was a whole number, has a fraction"]),
            (#"[{"p":1},{"p":1.5}]"#, #"[{"p":1.5},{"p":2.5}]"#, []),
            (#"{"p":20}"#, #"{"p":20.0}"#, []),
        ] as [(String, String, [String])])
    func `The numbers of elements and the fractions of numbers are compared`(
        recorded: String, live: String, changes: [String]
    ) throws {
        let measures = try [recorded, live].map { try #require(JSONMeasures(of: Data($0.utf8))) }
        #expect(measures[0].drift(to: measures[1]) == changes)
    }

    @Test(
        arguments: [
            (["order", "order", "order"], ["order", "order"], ["events  3 of the type “order” are recorded, 2 came"]),
            (["order"], [], ["events  1 of the type “order” is recorded, none came"]),
            (["order", "", ""], ["order", ""], ["events  2 of the type “message” are recorded, 1 came"]),
            (["order", "stock"], ["order"], []),
        ] as [([String], [String], [String])])
    func `The numbers of events are compared by their types`(recorded: [String], live: [String], changes: [String]) {
        let streams = [recorded, live].map { types in
            Data(types.map { ($0.isEmpty ? "" : "event: \($0)\n") + "data: {}\n\n" }.joined().utf8)
        }
        #expect(EventTypes.countDrift(from: streams[0], to: streams[1]) == changes)
    }
}
