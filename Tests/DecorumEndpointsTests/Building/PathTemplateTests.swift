import DecorumTestSupport
import Testing

@testable import DecorumEndpoints

@Suite struct PathTemplateTests {
    struct Row: Decodable, Sendable {
        let template: String
        let parameters: [String: String]
        let path: String
    }

    @Test(arguments: try Fixtures.rows("endpoints/path-templates.json", of: Row.self))
    func `A template is expanded as RFC 6570 has it`(row: Row) throws {
        var parameters: PathParameters = [:]
        for (name, value) in row.parameters { parameters.append(name, value) }
        #expect(try PathTemplate(row.template).expanded(parameters) == row.path)
    }

    @Test func `A value is one segment, whatever it holds`() throws {
        let path = try PathTemplate("repos/{owner}/{name}/issues").expanded(["owner": "a/b?c#d", "name": "ü%2F "])
        #expect(path == "repos/a%2Fb%3Fc%23d/%C3%BC%252F%20/issues")
    }

    @Test func `A number and a raw value are texts`() throws {
        enum Kind: String, ParameterValue { case open }
        #expect(
            try PathTemplate("{kind}/{number}/{yes}").expanded(["kind": Kind.open, "number": -7, "yes": true])
                == "open/-7/true")
    }

    @Test func `Segments keep their slashes`() throws {
        let path = try PathTemplate("contents{/path*}?ref={ref}").expanded([
            "path": PathSegments("a b/c.md"), "ref": "x&y",
        ])
        #expect(path == "contents/a%20b/c.md?ref=x%26y")
    }

    @Test func `A colon in the first segment ends no scheme`() throws {
        #expect(try PathTemplate("items:search").expanded() == "./items:search")
        #expect(try PathTemplate("items/{id}:move").expanded(["id": 1]) == "items/1:move")
    }

    @Test func `A URL keeps its host`() throws {
        #expect(
            try PathTemplate("https://a.example:8080/{id}").expanded(["id": "x/y"]) == "https://a.example:8080/x%2Fy")
    }

    @Test(arguments: [".", "..", "../admin", "a/../../b", #"..\admin"#, "", "a/./b"])
    func `A value cannot climb`(value: String) {
        #expect {
            try PathTemplate("repos/{owner}/x").expanded(["owner": value])
        } throws: { error in
            (error as? InvalidRequestError)?.reason == .invalidParameter && "\(error)".contains("“owner”")
                && (value.isEmpty || value == "." || !"\(error)".contains(value + "/"))
        }
    }

    @Test func `Two dots in two values cannot climb either`() {
        #expect(throws: InvalidRequestError.self) { try PathTemplate("a/{x}{y}/b").expanded(["x": ".", "y": "."]) }
        #expect(throws: InvalidRequestError.self) { try PathTemplate("a{/x*}").expanded(["x": PathSegments("b/../c")]) }
        #expect(throws: InvalidRequestError.self) { try PathTemplate("a{/x*}").expanded(["x": PathSegments("b//c")]) }
    }

    @Test(
        arguments: [
            ("{x}..{y}", "a/", "/b"), ("{x}{y}", "..", "/b"), ("v/{x}.{y}/end", #"a\"#, #"\b"#), ("{x}{y}", "a/.", "."),
        ] as [(PathTemplate, String, String)])
    func `Two values make no segment of dots that a server sees once it has decoded the slashes`(
        template: PathTemplate, x: String, y: String
    ) {
        #expect(throws: InvalidRequestError.self) { try template.expanded(["x": x, "y": y]) }
    }

    @Test func `Segments at the start leave the base its path`() throws {
        #expect(try PathTemplate("{/x*}").expanded(["x": PathSegments("admin/x")]) == "admin/x")
    }

    @Test func `Dots within a segment stay`() throws {
        #expect(try PathTemplate("{x}...{y}").expanded(["x": "main", "y": "a/b.c"]) == "main...a%2Fb.c")
        #expect(try PathTemplate("{x}.{y}").expanded(["x": "..", "y": "a..b"]) == "...a..b")
    }

    @Test(
        arguments: [
            ("items/{id}", PathParameters(), "“id”"),
            ("items/{id}", ["id": 1, "ID": 2], "“ID”"),
            ("items/{id}", ["id": 1, "id": 2], "given twice"),
            ("items/{id", ["id": 1], "without"),
            ("items{/id*}", ["id": 1], "PathSegments"),
            ("https://{host}/x", ["host": "evil.example"], "host"),
            ("//evil.example/x", [:], "begins with a slash; leave it out"),
            ("/items", [:], "begins with a slash; leave it out"),
            ("a/../b", [:], "segment"),
            ("a b", [:], "character"),
            ("a#b", [:], "character"),
        ] as [(PathTemplate, PathParameters, String)])
    func `A fault is named before anything is sent`(
        template: PathTemplate, parameters: PathParameters, words: String
    ) {
        #expect {
            try template.expanded(parameters)
        } throws: { error in
            error is InvalidRequestError && "\(error)".contains(words)
        }
    }

    @Test func `No value leads out of its segment`() throws {
        let pieces = [
            "..", ".", "/", "\\", "%2F", "%2e", "?", "#", "a", "ü", "\0", "\r\n", ":", "@", "//", "💩", " ", "%",
        ]
        let generator = SeededGenerator(seed: 18)
        var accepted = 0
        for _ in 0..<20_000 {
            let value = (0..<Int(generator.next() % 6)).map { _ in pieces[Int(generator.next() % UInt64(pieces.count))]
            }.joined()
            guard let path = try? PathTemplate("v/{a}/end").expanded(["a": value]) else { continue }
            accepted += 1
            let segments = path.split(separator: "/", omittingEmptySubsequences: false)
            #expect(segments.count == 3 && segments[0] == "v" && segments[2] == "end", "\(value.debugDescription)")
            #expect(segments[1] != "." && segments[1] != ".." && !segments[1].isEmpty, "\(value.debugDescription)")
            #expect(
                path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
            // A server that decodes first still sees no segment that climbs.
            let decoded = String(
                decoding: PercentCoding.decode(Array(segments[1].utf8)[...], plusIsBlank: false), as: UTF8.self)
            #expect(decoded == value)
            #expect(
                !decoded.split(whereSeparator: { $0 == "/" || $0 == "\\" }).contains(".."), "\(value.debugDescription)")
        }
        #expect(accepted > 1_000)
    }
}
