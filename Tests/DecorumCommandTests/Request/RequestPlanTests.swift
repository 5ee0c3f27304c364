#if CommandLine
import Decorum
import Foundation
import Testing

@testable import DecorumCommand

struct RequestPlanTests {
    static let items: [(word: String, kind: RequestItem.Kind, name: String, value: String, isPath: Bool)] = [
        ("name=tea", .text, "name", "tea", false), ("name=", .text, "name", "", false),
        ("name=a:b@c", .text, "name", "a:b@c", false), ("price:=3", .json, "price", "3", false),
        ("page==2", .query, "page", "2", false), ("Accept:text/html", .field, "Accept", "text/html", false),
        ("Accept:", .field, "Accept", "", false), ("Accept;", .emptyField, "Accept", "", false),
        ("text=@note.txt", .text, "text", "note.txt", true), ("data:=@a.json", .json, "data", "a.json", true),
        ("q==@query.txt", .query, "q", "query.txt", true),
        ("Authorization:@token", .field, "Authorization", "token", true),
        ("photo@cat.png", .file, "photo", "cat.png", true),
        (#"a\:b=c"#, .text, "a:b", "c", false), (#"a\=b:c"#, .field, "a=b", "c", false),
        (#"a\b=c"#, .text, #"a\b"#, "c", false), ("a=b\nc", .text, "a", "b\nc", false),
    ]

    @Test func `Each notation of an item has its meaning`() throws {
        for (word, kind, name, value, isPath) in Self.items {
            let item = try RequestItem(word)
            #expect((item.kind, item.name, item.value, item.isPath) == (kind, name, value, isPath), "\(word)")
        }
    }

    static let lines: [(words: String, request: String)] = [
        ("https://a.example/x", "GET https://a.example/x"), ("a.example/x", "GET https://a.example/x"),
        ("a.example:8080", "GET https://a.example:8080"), (":3000/x", "GET http://localhost:3000/x"),
        (":/x", "GET http://localhost/x"), ("LOCALHOST:3000", "GET http://localhost:3000"),
        ("127.0.0.1:3000/", "GET http://127.0.0.1:3000/"), ("127.evil.example/", "GET https://127.evil.example/"),
        ("[::1]:3000/", "GET http://[::1]:3000/"), ("DELETE a.example", "DELETE https://a.example"),
        ("put a.example", "PUT https://a.example"), ("example a=b", #"POST https://example {"a":"b"}"#),
        ("a.example q==b&c x==1", "GET https://a.example?q=b%26c&x=1"),
        ("a.example/?x=1#end q==2", "GET https://a.example/?x=1&q=2"),
        ("a.example/?x=http://b", "GET https://a.example/?x=http://b"),
        ("a.example a=b n:=3 l:=[1,true]", #"POST https://a.example {"a":"b","n":3,"l":[1,true]}"#),
        ("PATCH a.example a=b", #"PATCH https://a.example {"a":"b"}"#), ("/items", "GET /items"),
    ]

    @Test func `Words make a request`() throws {
        for (words, expected) in Self.lines {
            let request = try RequestPlan(words.split(separator: " ").map(String.init)).request()
            let origin = (try? Origin(request.head)).map(\.description) ?? ""
            let path = request.head.path.map { $0 == "/" && !words.contains("/") ? "" : $0 } ?? ""
            let body = String(decoding: request.body.bytes ?? Data(), as: UTF8.self)
            let shown = "\(request.head.method) \(origin)\(path)" + (body.isEmpty ? "" : " \(body)")
            #expect(shown.replacing("https://a.example/?q", with: "https://a.example?q") == expected, "\(words)")
        }
    }

    @Test func `Fields of options come before those of items, and one without a value is left out`() throws {
        let plan = try RequestPlan(
            ["a.example", "a=b", "Accept:text/html", "Content-Type:", "X-A:2"],
            fields: ["X-A: 1", "X-B;", "accept: */*"])
        let fields = try plan.request().head.headerFields
        #expect(fields.filter { $0.name.canonicalName == "x-a" }.map(\.value) == ["1", "2"])
        #expect(fields.filter { $0.name.canonicalName == "x-b" }.map(\.value) == [""])
        #expect(fields[values: .accept] == ["*/*", "text/html"])
        #expect(fields[.contentType] == nil)
    }

    @Test func `Content is JSON, a form, a multipart form, or what the body says`() throws {
        func request(_ words: [String], form: RequestPlan.Form? = nil, body: String? = nil) throws -> Request {
            try RequestPlan(["a.example"] + words, form: form, body: body).request()
        }
        #expect(try request(["a=b"]).head.headerFields[.contentType] == "application/json")
        let form = try request(["a=b c", "n:=3"], form: .form)
        #expect(form.body.bytes == Data("a=b+c&n=3".utf8))
        #expect(form.head.headerFields[.contentType] == "application/x-www-form-urlencoded")
        let multipart = try request(["a=b", "file@\(#filePath)"])
        #expect(multipart.head.headerFields[.contentType]?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(try request([], body: "[1]").head.headerFields[.contentType] == "application/json")
        #expect(try request([], body: "text").head.headerFields[.contentType] == "text/plain; charset=utf-8")
        #expect(try request([], body: "@\(#filePath)").body.length ?? 0 > 1000)
        #expect(try request([], body: "").head.method == .post)
        #expect(throws: CommandFailure.self) { try request(["a=b", "file@\(#filePath)"], form: .form) }
    }

    static let mistakes: [(words: [String], body: String?, status: CommandStatus)] = [
        ([], nil, .usage), (["POST"], nil, .usage), (["a.example", "n:=x"], nil, .usage),
        (["a.example", "a=b"], "c", .usage),
        (["a.example", "a b:c"], nil, .usage), (["a.example", "a:b\nc"], nil, .usage),
        (["a.example", "=b"], nil, .usage), (["a.example", ":b"], nil, .usage), (["a.example", ""], nil, .usage),
        (["a.example", "word"], nil, .usage), (["a.example", "@file"], nil, .usage),
        (["a.example", #"a\:"#], nil, .usage),
        (["a.example", "a=@/missing"], nil, .noInput), (["a.example"], "@/missing", .noInput),
    ]

    @Test func `A mistake is told before anything is sent`() {
        for (words, body, status) in Self.mistakes {
            let failure = #expect(throws: CommandFailure.self, "\(words)") {
                _ = try RequestPlan(words, body: body).request()
            }
            #expect(failure?.status == status, "\(words)")
        }
    }

    @Test func `A file of fields is JSON or has a field a line`() throws {
        let json = #"{"Accept": "text/html", "X-Empty": ""}"#
        #expect(try FieldFile.fields(Data(json.utf8)) == ["Accept: text/html", "X-Empty;"])
        #expect(try FieldFile.fields(Data("# mine\nA: b\r\nC: d\n".utf8)) == ["A: b", "C: d"])
        #expect(throws: CommandFailure.self) { try FieldFile.fields(Data(#"{"n": 1}"#.utf8)) }
    }
}
#endif
