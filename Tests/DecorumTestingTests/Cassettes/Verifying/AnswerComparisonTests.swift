import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// The differences between an answer and the recorded one, in kind and not in values.
@Suite(.timeLimit(.minutes(3))) struct AnswerComparisonTests {
    private let recorder = TestRecorder()

    /// Records an answer, verifies another one, and returns the changes.
    private func changes(
        from recorded: Response, to live: Response, _ method: HTTPRequest.Method = .get,
        rules: CassetteRules = .silent
    ) async throws -> [String] {
        let requests = [try Request(method, "https://example.com/items")]
        _ = try await recorder.run(.rewrite, requests, rules: rules) { _ in recorded }
        do {
            _ = try await recorder.run(.verify, requests, rules: rules) { _ in live }
            return []
        } catch let error as CassetteDriftError {
            return error.drifts.flatMap(\.changes)
        }
    }

    private static func refusal(_ text: String, type: String = "application/json") -> Response {
        Response(status: .unprocessableContent, fields: [.contentType: type], body: Body(Data(text.utf8)))
    }

    @Test(
        arguments: [
            (#"[{"a":1},{"a":2,"b":[]}]"#, #"[{"a":1,"b":[]}]"#, []),
            (#"[{"a":1},{"a":2}]"#, #"[{"a":1},{}]"#, ["$[*].a  is missing in some elements: was in all"]),
            (
                #"{"items":[{"a":{"b":1}},{"a":{"b":2}}]}"#, #"{"items":[{"a":{"b":1}},{"a":{}}]}"#,
                ["$.items[*].a.b  is missing in some elements: was in all"]
            ),
            (#"[{"a":1},null]"#, #"[null,{"a":1},{"a":2}]"#, []),
            (
                #"[{"a":1},null]"#, #"[null,{"a":"x"},{"b":1}]"#,
                [
                    "$[*].a  is missing in some elements: was in all", "$[*].a  was a number, is a string",
                    "$[*].b  is new: a number",
                ]
            ),
            (#"[{"a":[]}]"#, #"[{"a":[]},{"a":null}]"#, ["$[*].a  was an array, is an array or null"]),
            (#"[]"#, #"[{"a":1},{}]"#, []), (#"[{"a":1}]"#, #"{"a":1}"#, ["$  was an array, is an object"]),
        ] as [(String, String, [String])])
    func `Shapes of JSON are compared, with members that some elements lack`(
        recorded: String, live: String, changes: [String]
    ) throws {
        let shapes = try [recorded, live].map { try #require(JSONShape(of: Data($0.utf8))) }
        #expect(shapes[0].drift(to: shapes[1]) == changes)
    }

    @Test func `A status of another class is told with the redacted content, and not with its shape`() async throws {
        let token = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        let live = Self.refusal(#"{"error": "missing",\#n "message": "region is required", "token": "\#(token)"}"#)
        let found = try await changes(from: TestRecorder.json(#"{"items":[1],"next":"x"}"#), to: live)
        #expect(found.count == 2 && found.first == "status  was 200, is 422")
        #expect(found.last?.hasPrefix(#"content  {"error": "missing", "message": "region is required", "tok"#) == true)
        #expect(!"\(found)".contains(token.dropFirst(4).prefix(8)), "\(found)")
        let long = Self.refusal(String(repeating: "no. ", count: 38) + token)
        let content = try #require(try await changes(from: TestRecorder.json("{}"), to: long).last)
        #expect(content.count == "content  ".count + 160 && content.hasSuffix("…") && !content.contains("x7Rq2"))
    }

    @Test func `Media types and content that is JSON no longer are told`() async throws {
        let text = Response(status: .ok, fields: [.contentType: "text/plain"], body: "one")
        #expect(
            try await changes(from: text, to: TestRecorder.json("{}"))
                == ["media type  was text/plain, is application/json"])
        #expect(
            try await changes(from: TestRecorder.json("{}"), to: TestRecorder.json("one")) == [
                "content  was JSON, is not"
            ])
        #expect(
            try await changes(from: Self.refusal("{}"), to: Self.refusal("{}", type: "application/problem+json"))
                == ["media type  was application/json, is application/problem+json"])
        #expect(
            try await changes(from: Response(status: .noContent), to: TestRecorder.json(#"{"id":1}"#))
                == ["status  was 204, is 200"])
    }

    @Test(
        arguments: [
            (["stock", "news"], ["news", "stock", "stock"], []),
            (["stock", "news"], ["stok", "news"], ["events  missing types: “stock”", "events  new types: “stok”"]),
            (["stock", "", "news"], ["news"], ["events  missing types: “message”, “stock”"]),
            (
                ["a"], ["a", "b", "c", "d", "e", "f", "g"],
                ["events  new types: “b”, “c”, “d”, “e”, “f” and 1 more"]
            ),
        ] as [([String], [String], [String])])
    func `The types of events are compared, by which a client chooses`(
        recorded: [String], live: [String], expected: [String]
    ) async throws {
        let streams = [recorded, live].map { types in
            Self.stream(types.map { ($0.isEmpty ? "" : "event: \($0)\n") + "data: {}\n\n" }.joined())
        }
        #expect(try await changes(from: streams[0], to: streams[1]) == expected)
    }

    @Test func `The shape of the events in a stream is compared`() async throws {
        let recorded = Self.stream("data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n")
        let equal = Self.stream(
            "data: {\"choices\":[]}\n\ndata: {\"choices\":[{\"text\":\"b\"}]}\n\ndata: [DONE]\n\n")
        #expect(try await changes(from: recorded, to: equal) == [])
        let other = Self.stream("data: {\"choices\":[{\"delta\":\"a\"}]}\n\ndata: [DONE]\n\n")
        #expect(
            try await changes(from: recorded, to: other) == [
                "events[*].choices[*].delta  is new: a string", "events[*].choices[*].text  is missing: was a string",
            ])
    }

    private static func stream(_ text: String) -> Response {
        Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(Data(text.utf8)))
    }
}

/// The URL in `Location` of an answer, which a client need not follow.
extension AnswerComparisonTests {
    private func changes(
        _ method: HTTPRequest.Method, _ status: HTTPResponse.Status, from recorded: String, to live: String?,
        rules: CassetteRules = .silent
    ) async throws -> [String] {
        var answers = [Response(status: status), Response(status: status)]
        answers[0].head.headerFields[.location] = recorded
        answers[1].head.headerFields[.location] = live
        return try await changes(from: answers[0], to: answers[1], method, rules: rules)
    }

    @Test(
        arguments: [
            (.get, .found, "/items/1", "/items/2"), (.head, .movedPermanently, "/items/1", "/v2/items/1"),
            (.get, .found, "/items/100001", "/items/100002"), (.get, .found, "/items?page=1", "/items?page=2"),
            (.get, .found, "/items?page=1", "/items?page=1&all=1"), (.get, .found, "/home", "/login"),
            (.post, .created, "/items/7", "/v2/items/9"), (.post, .created, "/v1/items/7", "/v2/items/9"),
            (.post, .created, "/items/7/parts/1", "/items/9/pieces/2"), (.post, .seeOther, "/home", "/login"),
        ] as [(HTTPRequest.Method, HTTPResponse.Status, String, String)])
    func `Another URL is told`(
        method: HTTPRequest.Method, status: HTTPResponse.Status, recorded: String, live: String
    ) async throws {
        #expect(
            try await changes(method, status, from: recorded, to: live)
                == ["field `Location`  was \(recorded), is \(live)"])
        #expect(
            try await changes(method, status, from: recorded, to: nil)
                == ["field `Location`  is missing: was \(recorded)"])
    }

    @Test(
        arguments: [
            (.get, .found, "/items/1", "https://example.com/items/1#top"),
            (.get, .found, "https://example.com/items?a=1&b=2", "https://other.example/items?b=2&a=1"),
            (.get, .found, "/file?expires=1793300000", "/file?expires=1793300999"),
            (.post, .created, "/items/7", "/items/9"), (.post, .created, "/items/apple", "/items/pear-2"),
            (.put, .seeOther, "/items/100007/edit", "/items/100009/edit"),
            (.post, .seeOther, "/items?id=7", "/items?id=9"),
        ] as [(HTTPRequest.Method, HTTPResponse.Status, String, String)])
    func `An equal URL, and one with an identifier of the run, are not told`(
        method: HTTPRequest.Method, status: HTTPResponse.Status, recorded: String, live: String
    ) async throws {
        #expect(try await changes(method, status, from: recorded, to: live) == [])
    }

    @Test func `Secrets, and items that the rules ignore, are neither compared nor shown`() async throws {
        var rules = CassetteRules.silent
        rules.matching = [.method, .url(ignoring: "ts")]
        let tokens = ["x7Rq2LmZ9sKd" + "4TbVw8NcYh3J", "p5Wn8XcV2bQz" + "7JkLt4RfGm6D"]
        let urls = tokens.enumerated().map { "/cb?access_token=\($1)&ts=\($0)" }
        #expect(try await changes(.get, .found, from: urls[0], to: urls[1], rules: rules) == [])
        let found = try await changes(
            .get, .found, from: "/cb?access_token=\(tokens[0])", to: "/back?access_token=\(tokens[1])")
        #expect(found.count == 1 && found[0].hasSuffix("is /back?access_token=__secret__"), "\(found)")
        for token in tokens { #expect(!"\(found)".contains(token.prefix(8)), "\(found)") }
    }
}
