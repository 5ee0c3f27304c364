import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A format that an app reads by itself.
@Suite(.timeLimit(.minutes(3))) struct ForeignFormatTests {
    /// JSON of a tool of the app's own.
    private struct CallLog: ForeignFormat {
        func recognizes(_ document: ForeignDocument) throws -> Bool {
            let root = try document.root
            guard root["calls"] == nil || root["version"]?.integer == 1 else { throw root.fault("its version is old") }
            return root["calls"] != nil
        }

        func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
            for call in try document.root["calls"]?.elements ?? [] {
                let url = try call.required("url", as: "the URL")
                let body = call["data"].map { draft.base64($0) } ?? call["value"].map { draft.document($0) }
                let response = RecordedResponse(
                    status: call["status"]?.integer ?? 200, fields: try draft.fields(call["fields"]),
                    body: body ?? RecordedBody())
                let request = RecordedRequest(method: "GET", url: url.text ?? "")
                draft.append(Interaction(request: request, response: response), at: call)
                if call["note"] != nil { draft.warn(.leftOut, at: call, "A note was left out.") }
            }
            return "call log"
        }
    }

    /// Lines of text, which are neither JSON nor YAML.
    private struct Lines: ForeignFormat {
        func recognizes(_ document: ForeignDocument) -> Bool {
            document.name.hasSuffix(".log") && document.bytes.starts(with: "@GET ".utf8)
        }

        func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
            for line in document.bytes.split(separator: 0x0A) {
                let parts = String(decoding: line, as: UTF8.self).split(separator: " ")
                guard parts.count == 3, let status = Int(parts[2]) else {
                    throw CassetteImportError(line: 2, reason: "a line has three parts")
                }
                let request = RecordedRequest(method: "GET", url: String(parts[1]))
                draft.append(Interaction(request: request, response: RecordedResponse(status: status)), line: 1)
            }
            return "lines"
        }
    }

    @Test func `A format of the app's own is read as the known ones are`() throws {
        let imported = try read(
            """
            {"version": 1, "calls": [
             {"url": "https://a.example/", "fields": {"A": ["b", "c"], ":status": "200"}, "data": "AAE="},
             {"url": "https://b.example/", "status": 404, "value": {"a": 1.50}, "note": "x"}]}
            """, CallLog())
        #expect(imported.format == "call log")
        #expect(imported.interactions.map(\.request.url) == ["https://a.example/", "https://b.example/"])
        #expect(imported.interactions[0].response?.fields[values: try #require(HTTPField.Name("A"))] == ["b", "c"])
        #expect(imported.interactions.map(\.response?.body.bytes) == [Data([0, 1]), Data(#"{"a":1.50}"#.utf8)])
        #expect(imported.warnings.map(\.place) == ["$.calls[1].value, line 3", "$.calls[1], line 3"])
    }

    @Test func `A format refuses a file by a reason and a place`() {
        let version = #expect(throws: CassetteImportError.self) { try read(#"{"calls": []}"#, CallLog()) }
        #expect(version?.reason == "its version is old")
        let url = #expect(throws: CassetteImportError.self) {
            try read("{\"version\": 1, \"calls\": [\n{}]}", CallLog())
        }
        #expect(url?.place == "$.calls[0], line 2")
        #expect(url?.description == "feed.log cannot be imported ($.calls[0], line 2): the URL is missing.")
    }

    @Test func `A format need not be JSON or YAML`() throws {
        let imported = try read("@GET https://a.example/ 204\n", Lines())
        #expect(imported.interactions.map(\.response?.status) == [204])
        #expect(throws: CassetteImportError.self) { try read("@GET https://a.example/\n", Lines()) }
    }

    @Test func `A cassette may be in a format of the app's own`() async throws {
        let folder = TemporaryFolder()
        try folder.write(
            #"{"version": 1, "calls": [{"url": "https://a.example/", "status": 418}]}"#, to: "feed.json")
        var rules = CassetteRules()
        rules.formats = [CallLog()]
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules)

        let response = try await CassetteConnection(cassette).send(.get("https://a.example/"))

        #expect(response.head.status.code == 418)
        try await cassette.finish()
        let error = #expect(throws: CassetteError.self) {
            try Cassette(at: folder.path("feed.json"), mode: .rewrite, rules: rules)
        }
        #expect(error?.reason.contains("call log") == true)
    }

    @Test(arguments: ["http_interactions:\n- request: {uri: x}\n", #"{"http_interactions": []}"#, #"[{"scope": "x"}]"#])
    func `Without its format, a file is refused by the name of the trait that has it`(document: String) {
        let error = #expect(throws: CassetteImportError.self) { try read(document) }
        #expect(error?.reason.contains("`formats: .known`") == true)
        #expect(error?.reason.contains("(trait `CassetteImport`)") == true)
    }

    private func read(_ document: String, _ formats: any ForeignFormat...) throws -> ImportedCassette {
        try ImportedCassette(Data(document.utf8), named: "feed.log", formats: formats)
    }
}
