import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The answers of a verified run that lead to requests without a recording.
@Suite(.timeLimit(.minutes(3))) struct NewLeadTests {
    @Test func `A request whose path the test has changed is one of the test, though answers name URLs`() async throws {
        func text(_ paths: (String, String), _ live: (String, String)) async throws -> String {
            func requests(_ paths: (String, String), _ id: Int) throws -> [Request] {
                let base = "https://example.com"
                return try [.post(base + paths.0, body: "{}"), .put("\(base)/\(id)\(paths.1)", body: "{}")]
            }
            // The answer names the new item, wherever it was made.
            func answer(_ id: Int) -> @Sendable (Request) -> Response {
                { request in
                    guard request.head.method == .post else { return TestRecorder.json("{}") }
                    return Response(status: .created, fields: [.location: "/\(id)"])
                }
            }
            let recorder = try TestRecorder()
            _ = try await recorder.run(.once, requests(paths, 41), answer: answer(41))
            let error = await #expect(throws: CassetteDriftError.self) {
                try await recorder.run(.verify, requests(live, 42), answer: answer(42))
            }
            return try #require(error).description
        }
        // The answer names the URL that is sent now, as the recorded answer did.
        let named = try await text(("/items", "/name"), ("/items", ""))
        #expect(named.contains("\n    is sent in place of PUT https://example.com/41/name\n"), "\(named)")
        // The test has asked another resource, whose answer names the URL.
        let asked = try await text(("/items", "/name"), ("/v2/items", ""))
        for text in [named, asked] {
            #expect(text.hasPrefix("The test no longer sends the requests of the cassette"), "\(text)")
            #expect(!text.contains("led there"), "\(text)")
        }
    }

    @Test(
        arguments: [
            // A list with one more element, and a text that has grown, lead nowhere.
            (#"{"items":[{"state":"active"}]}"#, #"{"items":[{"state":"active"},{"state":"active"}]}"#, false),
            (#"{"state":"new"}"#, #"{"state":"active"}"#, false), (#"{"cursor":null}"#, #"{"cursor":"active"}"#, true),
            (#"{"next":null}"#, #"{"next":"/items?state=active"}"#, true),
        ])
    func `Only a text in an object that the recorded answer has not leads to a request`(
        recorded: String, live: String, leads: Bool
    ) async throws {
        let recorder = try TestRecorder()
        let first = try Request.get("https://example.com/start")
        _ = try await recorder.run(.once, [first]) { _ in TestRecorder.json(recorded) }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, [first, .get("https://example.com/items?state=active")]) { _ in
                TestRecorder.json(live)
            }
        }
        #expect(try #require(error).description.contains("led there") == leads)
    }
}
