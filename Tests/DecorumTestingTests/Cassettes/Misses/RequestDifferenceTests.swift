import Decorum
import DecorumArchive
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// The lines about differences of content, by its kind.
@Suite struct ContentLinesTests {
    private func lines(_ recorded: String, _ live: String, as mediaType: String) -> [String] {
        lines(Data(recorded.utf8), Data(live.utf8), as: mediaType)
    }

    private func lines(_ recorded: Data, _ live: Data, as mediaType: String) -> [String] {
        let requests = [recorded, live].map { body in
            RecordedRequest(
                method: "POST", url: "https://example.com/", fields: [.contentType: mediaType], body: .init(body))
        }
        let lines = RequestLines(scanner: SecretScanner(environment: [:]))
        return ContentLines(lines: lines, ignoredPaths: .none).of(requests[0], requests[1])
    }

    @Test func `Another media type is told before the contents`() {
        func found(_ old: (type: String?, text: String), _ new: (type: String?, text: String)) -> [String] {
            let requests = [old, new].map { content in
                var fields = HTTPFields()
                fields[.contentType] = content.type
                return RecordedRequest(
                    method: "POST", url: "https://example.com/", fields: fields, body: .init(Data(content.text.utf8)))
            }
            let lines = RequestLines(scanner: SecretScanner(environment: [:]))
            return ContentLines(lines: lines, ignoredPaths: .none).of(requests[0], requests[1])
        }
        let json = (type: "application/json" as String?, text: #"{"user":"ada"}"#)
        let form = (type: "application/x-www-form-urlencoded" as String?, text: "user=ada")
        #expect(
            found(json, form) == [
                "media type  application/json  →  application/x-www-form-urlencoded",
                #"{"user":"ada"}  →  user=ada"#,
            ])
        // Parameters and letter case mean no other type, and neither does content without one.
        let other = #"{"user":"eve"}"#
        for type in ["Application/JSON; charset=utf-8", nil] {
            #expect(found(json, (type, other)) == [#"$.user  "ada"  →  "eve""#])
        }
    }

    @Test func `A form is compared field by field`() {
        let found = lines(
            "name=Ann+B&lang=de&old=1&tag=a&tag=b", "lang=en&tag=a&tag=c&name=Ann%20B&new=x%26y",
            as: "application/x-www-form-urlencoded")
        #expect(
            found == [
                "field lang  de  →  en", "field old  1  →  this request has none", "field tag  b  →  c",
                "field new  the recording has none  →  x&y",
            ])
    }

    @Test func `A new field of a form beside a secret is told by its kind`() {
        let found = lines(
            "token=__secret__&page=a", "token=__secret__&page=b&second=mango-42",
            as: "application/x-www-form-urlencoded")
        #expect(
            found == [
                "field page  a  →  b",
                "field second  the recording has none  →  a text, not shown, as a secret stands beside it",
            ])
    }

    @Test func `A multipart body is compared part by part`() {
        func body(_ parts: [(head: String, content: String)], boundary: String) -> String {
            parts.map { "--\(boundary)\r\n\($0.head)\r\n\r\n\($0.content)\r\n" }.joined() + "--\(boundary)--\r\n"
        }
        func part(_ name: String, _ type: String = "text/plain") -> String {
            "Content-Disposition: form-data; name=\"\(name)\"\r\nContent-Type: \(type)"
        }
        let recorded = body(
            [
                (part("title"), "A\nB"), (part("meta", "application/json"), #"{"page":1}"#),
                (part("image", "image/png"), "\u{0}PNG1"), (part("gone"), "x"),
            ], boundary: "one")
        let live = body(
            [
                (part("title"), "A\nC"), (part("meta", "application/json"), #"{"page":2}"#),
                (part("image", "image/png"), "\u{0}PNG22"),
            ], boundary: "one")
        #expect(
            lines(recorded, live, as: "multipart/form-data; boundary=one") == [
                "part title  line 2  B  →  C", "part meta  $.page  1  →  2",
                "part image  5 bytes  →  6 bytes, which differ from byte 5 on",
                "part gone  x  →  this request has none",
            ])
    }

    @Test func `The fields of a part and the order of the parts are compared`() {
        func body(_ parts: [(name: String, rest: String)]) -> String {
            let texts = parts.map { name, rest in
                "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\(rest)\r\n\r\nx\r\n"
            }
            return texts.joined() + "--b--\r\n"
        }
        func found(_ recorded: [(String, String)], _ live: [(String, String)]) -> [String] {
            lines(body(recorded), body(live), as: "multipart/form-data; boundary=b")
        }
        #expect(
            found(
                [("file", "; filename=\"a\"\r\nContent-Type: image/png"), ("note", "")],
                [("file", "; filename=\"b\"\r\nContent-Type: image/jpeg"), ("note", "; filename=c")]) == [
                    "part file:  filename  a  →  b", "part file:  content-type  image/png  →  image/jpeg",
                    "part note:  filename  the recording has none  →  c",
                ])
        #expect(found([("a", ""), ("b", "")], [("b", ""), ("a", "")]) == ["the order of the parts differs"])
    }

    @Test(arguments: [
        ("one\ntwo\nthree", "one\n2\nthree", "line 2  two  →  2"),
        ("one\ntwo", "one\ntwo\nthree", "2 lines  →  3 lines, line 3  the recording has none  →  three"),
        ("hello", "hallo", "hello  →  hallo"),
        (
            String(repeating: "x", count: 100) + "one", String(repeating: "x", count: 100) + "two",
            "…xxxxxxxxxxone  →  …xxxxxxxxxxtwo"
        ),
        ("", "hallo", "the recording has none  →  hallo"), ("hello", "", "hello  →  this request has none"),
        (
            "a\ntoken __secret__", "a\ntoken unknown",
            "line 2  token __secret__  →  another text of 13 characters, not shown, as the recording has a secret there"
        ),
    ])
    func `Text is compared by its first line that differs`(recorded: String, live: String, expected: String) {
        #expect(lines(recorded, live, as: "text/plain") == [expected])
    }

    @Test(
        arguments: [
            ([0, 1, 9], "4 bytes  →  3 bytes, which differ from byte 3 on"),
            ([0, 1, 9, 3], "1 of 4 bytes differs, byte 3"), ([0, 9, 2, 9], "2 of 4 bytes differ, the first is byte 2"),
        ] as [([UInt8], String)])
    func `Binary content is compared by its length, or by the number of bytes that differ`(
        live: [UInt8], expected: String
    ) {
        #expect(lines(Data([0, 1, 2, 3]), Data(live), as: "application/octet-stream") == [expected])
    }

    @Test func `An absent field says so`() {
        let rule = MatchingRule.header(.accept)
        let requests = [HTTPFields(), [.accept: "text/html"]].map { fields in
            RecordedRequest(method: "GET", url: "https://example.com/", fields: fields)
        }
        func found(_ recorded: RecordedRequest, _ live: RecordedRequest) -> [String] {
            RequestLines(scanner: SecretScanner(environment: [:]))
                .of(rule, recorded, live, (rule.key(recorded), rule.key(live)))
        }
        #expect(found(requests[0], requests[1]) == ["the recording has none  →  text/html"])
        #expect(found(requests[1], requests[0]) == ["text/html  →  this request has none"])
    }
}

@Suite struct JSONDifferenceTests {
    func differences(_ recorded: String, _ live: String, limit: Int = 8) throws -> [String] {
        let values = try [recorded, live].map { try JSONValue(parsing: Array($0.utf8)) }
        let scanner = SecretScanner(environment: [:])
        return JSONDifference.all(values[0], values[1], limit: limit).map { $0.line(masking: scanner) }
    }

    @Test(
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, []), ("[1,2]", "[1,2.0]", []),
            (
                #"{"a":{"b":[1,2]}}"#, #"{"a":{"b":[1,3,4]}}"#,
                ["$.a.b[1]  2  →  3", "$.a.b[2]  the recording has none  →  4"]
            ),
            (
                #"{"a":1}"#, #"{"c":true}"#,
                ["$.a  1  →  this request has none", "$.c  the recording has none  →  true"]
            ),
            (#"{"a":[]}"#, #"{"a":{}}"#, ["$.a  [0 elements]  →  {0 members}"]),
        ] as [(String, String, [String])])
    func `Differences are listed by their paths`(recorded: String, live: String, expected: [String]) throws {
        #expect(try differences(recorded, live) == expected)
    }

    @Test(
        arguments: [
            (
                #"{"password":"__secret__"}"#, #"{"password":"__secret__","pass2":"mango-42"}"#,
                ["$.pass2  the recording has none  →  a text, not shown, as a secret stands beside it"]
            ),
            (
                #"{"user":{"pin":"__secret__"}}"#,
                #"{"user":{"pin":"__secret__"},"code":4821,"new":true,"tags":["a"]}"#,
                [
                    "$.code  the recording has none  →  a number, not shown, as a secret stands beside it",
                    "$.new  the recording has none  →  true", "$.tags  the recording has none  →  [1 elements]",
                ]
            ),
            (
                #"{"a":{}}"#, #"{"a":{"token":"__secret__","more":"mango-42"}}"#,
                [
                    "$.a.token  the recording has none  →  a text, not shown, as a secret stands beside it",
                    "$.a.more  the recording has none  →  a text, not shown, as a secret stands beside it",
                ]
            ),
            (
                #"["__secret__"]"#, #"["__secret__","mango-42"]"#,
                ["$[1]  the recording has none  →  a text, not shown, as a secret stands beside it"]
            ),
            (
                #"{"login":{"token":"__secret__"}}"#, #"{"login":"mango-42"}"#,
                [
                    "$.login  {1 members}  →  another text of 8 characters, not shown, as the recording has a secret there"
                ]
            ),
            // A value in another object, and one that had a recorded value without a secret, are known.
            (
                #"{"auth":{"token":"__secret__"},"item":{"page":1}}"#,
                #"{"auth":{"token":"__secret__"},"item":{"page":2,"lang":"de"}}"#,
                ["$.item.page  1  →  2", "$.item.lang  the recording has none  →  \"de\""]
            ),
        ] as [(String, String, [String])])
    func `A new value beside a secret is told by its kind`(
        recorded: String, live: String, expected: [String]
    ) throws {
        #expect(try differences(recorded, live) == expected)
    }

    @Test func `No more differences are listed than requested`() throws {
        #expect(try differences("[1,2,3,4]", "[5,6,7,8]", limit: 2) == ["$[0]  1  →  5", "$[1]  2  →  6"])
    }

    @Test func `A wide object is compared member by member`() throws {
        // Each name sought among all the others, this takes minutes.
        func object(_ last: Int) -> String {
            "{" + (0..<30_000).map { "\"k\($0)\":0" }.joined(separator: ",") + ",\"last\":\(last)}"
        }
        #expect(try differences(object(1), object(2)) == ["$.last  1  →  2"])
    }
}
