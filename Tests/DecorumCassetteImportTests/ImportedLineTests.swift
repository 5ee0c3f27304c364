#if CassetteImport
import DecorumCassetteImport
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// Errors and warnings say on which line of the file they arise, in JSON as in YAML.
@Suite struct ImportedLineTests {
    @Test(arguments: [
        (
            "{\n \"log\": {\n  \"entries\": [\n   {\"request\": {\"method\": \"GET\"}}]}}", 4,
            "$.log.entries[0].request.url"
        ),
        ("{\n\n\"log\": {}}", 3, "$.log.entries"), ("{\"log\":\n[]}", 2, "$.log"),
        ("{\"name\": \"x\",\n\"interactions\": [\n{\"response\": {}}]}", 3, "$.interactions[0]"),
        ("{\"version\": 2,\n\"interactions\":\n{\"a\": 1}}", 3, "$.interactions"),
        ("[\n{\"scope\": \"https://a.example\",\n\"status\": \"x\"}]", 2, "$[0]"),
        ("[\n\n{\"a\": 1}]", 3, "$[0]"), ("http_interactions:\n- request:\n    uri: x\n", 2, "$.http_interactions[0]"),
        ("{\n\"log\": x", 2, nil), ("a: b\nc: [", 3, nil),
    ])
    func `An error names the line and the path`(document: String, line: Int, path: String?) {
        let error = #expect(throws: CassetteImportError.self) { try read(document) }

        #expect(error?.line == line)
        #expect(error?.place == (path.map { "\($0), line \(line)" } ?? "line \(line)"))
        #expect(error?.description.contains("line \(line)") == true)
    }

    @Test func `A warning names the line of the exchange and of the value`() throws {
        let imported = try read(
            """
            {"log": {"entries": [
            {
              "request": {
                "url": "https://a.example/",
                "headers": [
                  {"name": "a b", "value": "c"}
                ]
              },
              "response": {"status": 200,
                "content": {
                  "text": "-", "encoding": "base64"}}
            },
            {"request": {"url": "https://a.example/"},
             "response": {"status": 99999}},
            {"request": {"url": "https://a.example/"},
             "response":
               {"status": 0, "_error": "no such reason"}}
            ]}}
            """)

        #expect(
            imported.warnings.map(\.place) == [
                "$.log.entries[0].request.headers, line 5", "$.log.entries[0].response.content.text, line 11",
                "$.log.entries[2].response, line 17", "$.log.entries[1], line 13",
            ])
        #expect(imported.warnings.map(\.line) == [5, 11, 17, 13])
    }

    @Test func `A warning about content names the line of its exchange`() throws {
        let imported = try read(
            """
            {"version": 2, "interactions": [
            {"request": {"url": "https://a.example/"}, "response": {"code": 200}},
            {"request": {"url": "https://a.example/"},
             "response": {"code": 200, "headers": {"Content-Encoding": "br"}, "body": "text"}}]}
            """)

        var decoded = try imported.decodingContent()
        #expect(decoded.warnings.map(\.place) == ["$.interactions[1], line 3"])
        #expect(decoded.warnings.map(\.line) == [3])

        decoded = imported
        decoded.interactions.removeFirst()
        #expect(try decoded.decodingContent().warnings.map(\.place) == ["interaction 1"])
    }

    private func read(_ document: String) throws -> ImportedCassette {
        try ImportedCassette(Data(document.utf8), named: "feed", formats: .known)
    }
}
#endif
