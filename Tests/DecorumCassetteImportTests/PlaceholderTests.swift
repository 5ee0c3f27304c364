#if CassetteImport
import Decorum
import DecorumCassetteImport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Cassettes of VCR in which a name stands in place of a value, and the requests that match them.
@Suite(.timeLimit(.minutes(3))) struct PlaceholderTests {
    @Test(arguments: [
        ("https://a.example/?key=<API_KEY>", "https://a.example/?key=k-4711"),
        ("https://a.example/?q=1&key=<KEY>", "https://a.example/?key=k%2F1&q=1"),
        ("https://a.example/?key=%3CAPI_KEY%3E", "https://a.example/?key=1"),
        ("https://a.example/?key=<%= ENV['KEY'] %>", "https://a.example/?key=1"),
        ("https://<HOST>/v1/<USER_ID>/items", "https://api.example/v1/12/items"),
        ("https://<SHOP>.a.example/bot<TOKEN>/me", "https://one.a.example/bot12:ab/me"),
    ])
    func `A request matches with any value in the place of a name`(recorded: String, live: String) async throws {
        #expect(try await cassette(recorded).send(.get(live)).head.status == .ok)
    }

    @Test(arguments: [
        ("https://a.example/?key=<API_KEY>", "https://a.example/?key="),
        ("https://a.example/?key=<API_KEY>", "https://a.example/?key=1&more=2"),
        ("https://a.example/<USER_ID>", "https://a.example/1/2"),
        ("https://a.example/?q=<b>", "https://a.example/?q=1"),
        ("https://a.example/?q=<%=", "https://a.example/?q=1"),
    ])
    func `A request that differs elsewhere is a miss`(recorded: String, live: String) async throws {
        await #expect(throws: CassetteMissError.self) { _ = try await cassette(recorded).send(.get(live)) }
    }

    @Test(arguments: [
        ("application/json", #"{"user": "me", "password": "<PASSWORD>"}"#, #"{"password":"p w","user":"me"}"#),
        ("application/x-www-form-urlencoded", "user=me&password=<PASSWORD>", "password=p%26w&user=me"),
        ("text/plain", "key <API_KEY>", "key 47 11"),
    ])
    func `A body matches with any value in the place of a name`(type: String, recorded: String, live: String)
        async throws
    {
        let connection = try cassette("https://a.example/", type: type, body: recorded)
        let fields: HTTPFields = [.contentType: type]
        let response = try await connection.send(
            .post("https://a.example/", fields: fields, body: Body(Data(live.utf8))))
        #expect(response.head.status == .ok)
    }

    @Test(arguments: [
        ("<TENANT_ID>", "acme-12", true), ("shop <SHOP_ID> of <TENANT>", "shop 12 of acme", true),
        ("<%= tenant %>", "acme-12", true), ("shop <SHOP_ID>", "store 12", false), ("<b>", "acme-12", false),
    ])
    func `A field that a rule compares matches with any value in the place of a name`(
        recorded: String, live: String, matches: Bool
    ) async throws {
        let name = try #require(HTTPField.Name("X-Tenant"))
        let rules = CassetteRules(matching: [.method, .url, .header(name)])
        let connection = try cassette("https://a.example/", field: "X-Tenant: [\"\(recorded)\"]", rules: rules)
        let request = try Request.get("https://a.example/", fields: [name: live])
        if matches {
            #expect(try await connection.send(request).head.status == .ok)
        } else {
            await #expect(throws: CassetteMissError.self) { _ = try await connection.send(request) }
        }
    }

    @Test(arguments: ["<BOB_TOKEN>", "%3CBOB_TOKEN%3E", "%3cBOB%5FTOKEN%3e"])
    func `A name that VCR wrote chooses its recording`(name: String) async throws {
        let interactions = ["ANN", "BOB"].map { user in
            """
            - request:
                method: get
                uri: https://example.com/me?key=<\(user)_TOKEN>
              response:
                status:
                  code: 200
                body:
                  encoding: UTF-8
                  string: \(user)
              recorded_at: Fri, 20 Nov 2026 10:00:00 GMT
            """
        }
        let folder = TemporaryFolder()
        try folder.write(
            "---\nhttp_interactions:\n\(interactions.joined(separator: "\n"))\nrecorded_with: VCR 6.0.0\n",
            to: "vcr.yml")
        var rules = CassetteRules(unused: .allow)
        rules.formats = .known
        let cassette = try Cassette(
            at: folder.path("vcr.yml"), mode: .replay, rules: rules)
        let connection = CassetteConnection(cassette)
        let path = name.hasPrefix("<") ? "%3CBOB_TOKEN>" : name
        let response = try await connection.send(.get("https://example.com/me?key=\(path)"))
        #expect(try await response.body.text(upTo: 100) == "BOB")
    }

    @Test func `A cassette of another tool is replayed and not written over`() async throws {
        let text = """
            http_interactions:
            - request: {method: get, uri: https://example.com/}
              response: {status: {code: 200}, body: {encoding: UTF-8, string: hello}}

            """
        let folder = TemporaryFolder()
        var rules = CassetteRules()
        rules.formats = .known
        try folder.write(text, to: "a.yml")
        let cassette = try Cassette(at: folder.path("a.yml"), mode: .replay, rules: rules)
        let response = try await CassetteConnection(cassette).send(.get("https://example.com/"))
        #expect(try await response.body.text(upTo: 100) == "hello")
        let error = #expect(throws: CassetteError.self) {
            try Cassette(at: folder.path("a.yml"), mode: .append, rules: rules)
        }
        #expect(error?.reason.contains("VCR") == true)
        #expect(try folder.text("a.yml") == text)
    }

    private func cassette(
        _ url: String, type: String? = nil, body: String = "", field: String? = nil,
        rules: CassetteRules = CassetteRules()
    ) throws -> any Connection {
        let folder = TemporaryFolder()
        try folder.write(Self.document(url, type: type, body: body, field: field), to: "feed.yml")
        var rules = rules
        rules.formats = .known
        return try CassetteConnection(Cassette(at: folder.path("feed.yml"), mode: .replay, rules: rules))
    }

    private static func document(
        _ url: String, type: String? = nil, body: String = "", field: String? = nil
    ) -> String {
        let string = body.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return """
            http_interactions:
            - request:
                method: \(type == nil ? "get" : "post")
                uri: "\(url)"
                headers: {Content-Type: ["\(type ?? "text/plain")"]\(field.map { ", \($0)" } ?? "")}
                body: {encoding: UTF-8, string: "\(string)"}
              response:
                status: {code: 200, message: OK}
                body: {encoding: UTF-8, string: "fine"}
            """
    }
}

/// Content that VCR for R wrote in a file beside the cassette.
@Suite(.timeLimit(.minutes(3))) struct WrittenFileTests {
    private let folder = TemporaryFolder()
    private let cassettes: URL

    init() throws {
        cassettes = folder.url.appending(path: "tests/fixtures")
        try FileManager.default.createDirectory(at: cassettes, withIntermediateDirectories: true)
        let files = folder.url.appending(path: "tests/files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        try Data("content".utf8).write(to: files.appending(path: "a.json"))
        try Data("beside".utf8).write(to: cassettes.appending(path: "b.json"))
        try Data("secret".utf8).write(to: folder.url.appending(path: "c.json"))
        try FileManager.default.createSymbolicLink(
            at: files.appending(path: "link.json"), withDestinationURL: folder.url.appending(path: "c.json"))
    }

    @Test(arguments: [
        ("../files/a.json", "content"), ("b.json", "beside"), ("/home/me/project/tests/files/a.json", "content"),
        ("../../tests/files/a.json", "content"),
    ])
    func `The file is read from the folder around the cassette's`(path: String, expected: String) throws {
        let imported = try read("file: yes", "string: \(path)")
        #expect(imported.interactions[0].response?.body == RecordedBody(Data(expected.utf8)))
        #expect(imported.warnings == [])
    }

    @Test(arguments: ["../files/none.json", "../../c.json", "/etc/hosts", "../files/link.json", "../files", "a\\0b"])
    func `A file that is absent or elsewhere is missing content`(path: String) throws {
        let imported = try read("file: yes", "string: \"\(path)\"")
        #expect(imported.interactions[0].response?.body == RecordedBody(exactness: .lossy))
        #expect(imported.warnings.map(\.kind) == [.missingBody])
        #expect(imported.warnings[0].line == 10)
    }

    @Test(arguments: [("file: no", "../files/a.json"), ("file: false", "x"), ("encoding: UTF-8", "b.json")])
    func `Without the mark, the text is the content`(mark: String, text: String) throws {
        let imported = try read(mark, "string: \(text)")
        #expect(imported.interactions[0].response?.body.bytes == Data(text.utf8))
    }

    @Test func `JSON has the mark as a Boolean`() throws {
        let document =
            #"{"http_interactions": [{"request": {"uri": "https://a.example/"}, "response": {"status": {"status_code": 200}, "body": {"file": true, "string": "../files/a.json"}}}]}"#
        let imported = try ImportedCassette(Data(document.utf8), named: "feed.json", folder: cassettes, formats: .known)
        #expect(imported.interactions[0].response?.body.bytes == Data("content".utf8))
    }

    private func read(_ mark: String, _ string: String) throws -> ImportedCassette {
        try read(mark, string, folder: cassettes)
    }

    private func read(_ mark: String, _ string: String, folder: URL?) throws -> ImportedCassette {
        try ImportedCassette(Data(Self.document(mark, string).utf8), named: "feed.yml", folder: folder, formats: .known)
    }

    private static func document(_ mark: String, _ string: String) -> String {
        """
        http_interactions:
        - request:
            method: get
            uri: https://a.example/
          response:
            status:
              status_code: 200
            body:
              \(mark)
              \(string)
          recorded_with: vcr/1.2.0
        """
    }
}
#endif
