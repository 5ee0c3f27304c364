import DecorumTesting
import Foundation
import Testing

@testable import DecorumEndpoints

/// Python's parsers of forms get the same names and values, byte for byte.
@Suite(.enabled(if: PythonOracle.program != nil, "The parsers are Python's, which is not installed."))
struct PythonOracleTests {
    private static let texts = [
        "", "plain", "a b", "a+b", "100 %", "a&b=c;d", "ü💩", "\"quoted\"", "back\\slash", "tab\tand\u{0}", "~*-._",
        "line\nbreak",
    ]

    @Test func `urllib reads the items of a query`() async throws {
        let items = Self.texts.flatMap { name in Self.texts.map { Query.Item("n" + name, $0) } }
        let script = """
            import json, sys, urllib.parse
            text = open(sys.argv[1]).read()
            print(json.dumps(urllib.parse.parse_qsl(text, keep_blank_values=True, strict_parsing=True)))
            """
        let answer = try await PythonOracle.run(script, on: Data(Query(items).text.utf8))
        let pairs = try JSONDecoder().decode([[String]].self, from: answer)
        #expect(pairs == items.map { [$0.name, $0.value ?? ""] })
    }

    @Test func `The email parser reads the parts of a form`() async throws {
        struct Part: Decodable, Equatable {
            var name: String
            var file: String?
            var type: String
            var content: String
        }
        var form: Multipart = ["title": "Summer ü", "empty": ""]
        form.append("bytes", Body(Data(0...255)), named: "all.bin")
        form.append("picture", Body(Data("--decorum-\r\n\r\n".utf8)), named: "a b;c.png", as: "image/png")
        form.append("big", Body(Data(repeating: 0x0D, count: 300 << 10)), named: "big.bin", as: "application/x-test")
        let body = Body(multipart: form)
        let script = """
            import base64, email.parser, email.policy, json, sys
            head = b"Content-Type: " + sys.argv[2].encode() + b"\\r\\n\\r\\n"
            message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + open(sys.argv[1], "rb").read())
            print(json.dumps([{
                "name": part.get_param("name", header="content-disposition"), "file": part.get_filename(),
                "type": part.get_content_type(), "content": base64.b64encode(part.get_payload(decode=True)).decode(),
            } for part in message.iter_parts()]))
            """
        let answer = try await PythonOracle.run(
            script, on: try await body.data(upTo: 1 << 20), argument: try #require(body.mediaType))
        var expected: [Part] = []
        for part in form.parts {
            let content = try await part.body.data(upTo: 1 << 20)
            expected.append(
                Part(
                    name: part.name, file: part.fileName, type: part.mediaType ?? "text/plain",
                    content: content.base64EncodedString()))
        }
        #expect(try JSONDecoder().decode([Part].self, from: answer) == expected)
    }
}

/// The interpreter of Python, whose own parsers read what this package has written.
private enum PythonOracle {
    static let program = RunningScript.program("python3", variable: "DECORUM_PYTHON")

    /// Runs a script, which finds its input in the file of its first argument.
    static func run(_ script: String, on input: Data, argument: String = "") async throws -> Data {
        try await RunningScript.output(
            of: #"exec "$(cat program)" script.py input "$(cat argument)""#,
            files: [
                "program": Data((program ?? "python3").utf8), "script.py": Data(script.utf8), "input": input,
                "argument": Data(argument.utf8),
            ])
    }
}
