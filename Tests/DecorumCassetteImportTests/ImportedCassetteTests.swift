#if CassetteImport
import DecorumCassetteImport
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct ImportedCassetteTests {
    @Test func `VCR is read with its charsets, its base64, its symbols and its dates`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/vcr/charsets.yml"), formats: .known)

        #expect(imported.format == .vcr)
        let first = imported.interactions[0]
        #expect(first.request.method == "POST")
        #expect(first.request.fields.map(\.value) == ["*/*", "one"])
        #expect(first.request.body.bytes == Data("q=1".utf8))
        #expect(first.response?.fields[values: .setCookie] == ["a=1", "b=2"])
        #expect(first.response?.body.bytes == Data([0x4B, 0xE4, 0x73, 0x65]) + Data(" <%= x %>".utf8))
        #expect(first.response?.coding == "gzip")
        #expect(first.recordedAt == Date(timeIntervalSince1970: 1_787_150_055))
        #expect(imported.interactions[1].response?.body.bytes == Data([0, 1, 0xFF]))
        #expect(imported.interactions[2].response?.body.bytes == Data("hallo".utf8))
        #expect(imported.warnings.map(\.kind) == [.placeholder, .placeholder])
        #expect(imported.exactness == .exact)
    }

    @Test(arguments: [("get", "GET"), ("Post", "POST"), ("PURGE", "PURGE"), ("Foo", "Foo"), ("delete", "DELETE")])
    func `A method that is registered is in upper case, and any other as it is`(method: String, expected: String) throws
    {
        let imported = try read(
            """
            {"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [{"request": {"method": "\(method)",
            "url": "https://a.example/", "headers": []}, "response": {"status": 200, "headers": [], "content": {}}}]}}
            """)
        #expect(imported.interactions.map(\.request.method) == [expected])
    }

    @Test func `betamax is read with statuses and bodies of both kinds`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/betamax/statuses.json"), formats: .known)

        #expect(imported.format == .betamax)
        #expect(imported.interactions.map { $0.response?.status } == [201, 200])
        #expect(imported.interactions[0].request.body.bytes == Data("a=1".utf8))
        #expect(imported.interactions[0].response?.body.bytes == Data([0, 1]))
        #expect(imported.interactions[0].recordedAt == Date(timeIntervalSince1970: 1_397_248_230))
        #expect(imported.warnings.map(\.kind) == [.damagedBody])
        #expect(imported.exactness == .lossy)
    }

    @Test func `vcrpy is read with objects of Python, old shapes of httpx and kept values`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/vcrpy/objects.yaml"), formats: .known)

        #expect(imported.format == .vcrpy)
        #expect(imported.interactions.map(\.request.body.bytes) == [Data([0, 1]), Data("onetwo".utf8), Data()])
        #expect(imported.interactions[0].request.fields.first?.value == "a")
        #expect(imported.interactions[0].response?.body.bytes == Data("x€".utf8))
        #expect(imported.interactions[1].response?.body.bytes == Data("text".utf8))
        let value = imported.interactions[2].response?.body
        #expect(value?.bytes == Data(#"{"a":1.50,"b":[true,null,"no","yes",{"x":""}],"c":"1e5"}"#.utf8))
        #expect(value?.exactness == .reserialized)
        #expect(imported.warnings.map(\.kind) == [.missingBody, .rebuiltBody])
    }

    @Test(arguments: [
        #"""
        {"interactions": [{"request": {"body": null, "headers": {}, "method": "GET", "uri": "https://a.example/"},
        "response": {"body": BODY, "headers": {}, "status": {"code": 200, "message": "OK"}}}], "version": 1}
        """#,
        """
        interactions:
        - request: {body: null, headers: {}, method: GET, uri: 'https://a.example/'}
          response: {body: BODY, headers: {}, status: {code: 200, message: OK}}
        version: 1
        """,
    ])
    func `A body of vcrpy is empty where its text is null or empty`(document: String) throws {
        let bodies = [
            (#"{"string": null}"#, ""), (#"{"string": ""}"#, ""), (#"{"string": null, "encoding": "utf-8"}"#, ""),
            ("null", ""), ("{}", ""), (#"{"string": "a"}"#, "a"), (#"{"base64_string": "YQ=="}"#, "a"),
            (#"{"string": "", "base64_string": "YQ=="}"#, "a"), (#"{"string": null, "base64_string": "YQ=="}"#, "a"),
        ]
        for (body, expected) in bodies {
            let imported = try read(document.replacing("BODY", with: body))

            #expect(imported.interactions[0].response?.body == RecordedBody(Data(expected.utf8)), "\(body)")
            #expect(imported.warnings == [])
        }
    }

    @Test(arguments: [
        ("{code: 0, status: ''}", nil, [ImportWarning.Kind.failure]), ("{code: 0}", nil, [.failure]),
        ("{}", nil, [.failure]),
        ("{code: 0, status: 'dial tcp: connection refused'}", "connectionRefused", []),
    ])
    func `An exchange of go-vcr without a status is a failure`(
        response: String, kind: String?, warnings: [ImportWarning.Kind]
    ) throws {
        let imported = try read(
            "--- {version: 2, interactions: [{request: {url: 'https://a.example/'}, response: \(response)}]}")

        #expect(imported.interactions.map { $0.response == nil } == [true])
        #expect(imported.interactions[0].failure?.kind == kind ?? "other")
        #expect(imported.warnings.map(\.kind) == warnings)
    }

    @Test(arguments: [1, 99, 1000, 99_999])
    func `An exchange whose status no response can have is left out, with a warning`(status: Int) throws {
        let imported = try read(
            """
            version: 1
            interactions:
            - request: {url: 'https://a.example/1', method: GET}
              response: {code: \(status), status: odd}
            - request: {url: 'https://a.example/2', method: GET}
              response: {code: 200, status: 200 OK}
            """)

        #expect(imported.interactions.map(\.request.url) == ["https://a.example/2"])
        #expect(imported.warnings.map(\.kind) == [.leftOut])
        #expect(imported.warnings.first?.place == "$.interactions[0], line 3")
    }

    @Test func `A string that Ruby had twice, and a long name that Python had, are read`() throws {
        let name = String(repeating: "x", count: 140)
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/vcr/aliases.yml"), formats: .known)

        #expect(imported.interactions[0].response?.body.bytes == Data("OK".utf8))
        #expect(imported.interactions[1].response?.reason == "OK")
        #expect(
            imported.interactions[1].response?.fields.map { [$0.name.rawName, $0.value] } == [
                ["Date", "Wed, 19 Aug 2026 14:34:15 GMT"], [name, "a"], [name, "b"],
            ])
    }

    @Test func `Both versions of go-vcr are read, with what the newer leaves out`() throws {
        let first = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/go-vcr/first.yaml"), formats: .known)
        let second = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/go-vcr/omitted.yaml"), formats: .known)

        #expect(first.format == .goVCR1)
        #expect(first.interactions[0].response?.reason == "Service Unavailable")
        #expect(first.interactions[0].response?.body.bytes == Data([0, 1]))
        #expect(second.format == .goVCR2)
        #expect(second.interactions[0].request.method == "GET")
        #expect(second.interactions[0].response?.status == 200)
        #expect(second.interactions[0].response?.coding == "gzip")
        #expect(second.interactions[0].response?.trailers.first?.value == "u")
    }

    @Test func `DVR is read with the body that its type asks for`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/dvr/types.json"), formats: .known)

        #expect(imported.format == .dvr)
        #expect(
            imported.interactions.map { $0.response?.body.bytes } == ["aGk=", "hi", "no base64!"].map { Data($0.utf8) })
        #expect(imported.interactions[1].request.body.bytes == Data(#"{"b":1.0,"a":[]}"#.utf8))
        #expect(imported.interactions[2].request.body.bytes == Data(#"["x"]"#.utf8))
        #expect(imported.warnings.map(\.kind) == [.redirected, .rebuiltBody, .rebuiltBody, .storageEncoding])
        #expect(imported.exactness == .reserialized)
    }

    @Test func `Vinyl is read with its errors`() throws {
        let imported = try read(
            #"[{"request": {"url": "http://a.example"}, "response": {"url": "http://a.example", "error": "The request timed out."}}]"#
        )

        #expect(imported.format == .vinyl)
        #expect(imported.interactions[0].failure == RecordedFailure(kind: "timedOut", stage: .head))
        #expect(imported.interactions[0].response == nil)
    }

    @Test func `undici is read in both of its shapes, with joined cookies and mangled bytes`() throws {
        let list = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/undici/damaged.json"), formats: .known)
        let object = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/undici/object.json"), formats: .known)

        #expect(list.format == .undici)
        #expect(list.interactions.count == 2)
        #expect(list.interactions[0].response?.fields[values: .setCookie].count == 2)
        #expect(list.interactions[0].response?.body.bytes == Data([0, 1]))
        #expect(list.interactions[0].response?.trailers.count == 1)
        #expect(list.interactions[0].request.body.exactness == .lossy)
        #expect(list.warnings.map(\.kind) == [.damagedBody, .joinedField, .joinedField])
        #expect(object.interactions.count == 1)
    }

    @Test func `nock is read with hexadecimal chunks, values and raw fields`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/nock/chunks.json"), formats: .known)

        #expect(imported.format == .nock)
        #expect(
            imported.interactions.map(\.request.url) == [
                "https://a.example/x?y=1", "http://a.example:8080/", "http://a.example/", "http://a.example/",
            ])
        #expect(imported.interactions[0].response?.body.bytes == Data([0x1F, 0x8B, 8, 0]))
        #expect(imported.interactions[0].response?.fields[values: .setCookie] == ["a", "b"])
        #expect(imported.interactions[1].request.body.bytes == Data(#"{"a":1}"#.utf8))
        #expect(imported.interactions[1].request.fields.map(\.value) == ["d", "e"])
        #expect(imported.interactions[2].response?.body.bytes == Data([0xFF, 0]))
        #expect(imported.interactions[3].response?.body.bytes == Data("text".utf8))
    }

    @Test(
        arguments: [
            ("", nil, "empty"), ("  \n", nil, "empty"), ("{\"a\": 1,}", "line 1", "JSON"),
            ("{}", "$, line 1", "format is unknown"), ("[]", "$, line 1", "empty"),
            ("a: &b.c d", "line 1", "character"), ("PK\u{3}\u{4}", nil, "zip"),
            ("{\"log\": {}}", "$.log.entries, line 1", "entries"),
            ("{\"log\": {\"entries\": [{\"request\": {}}]}}", "$.log.entries[0].request.url, line 1", "URL"),
            ("http_interactions: 1", "$.http_interactions, line 1", "list"),
            ("{\"interactions\": [], \"cassette\": 1}", "$, line 1", "Decorum"),
            ("http_interactions:\n- request: {uri: x}\n", "$.http_interactions[0], line 2", "response"),
            (
                "- !ruby/struct:VCR::HTTPInteraction\n  request: !ruby/struct:VCR::Request\n    method: :get\n",
                "$[0], line 1", "VCR 1"
            ),
            ("- request: !!python/object:vcr.request.Request {host: a}\n", "$[0], line 1", "1.0"),
            ("just text", "$, line 1", "format is unknown"),
            ("[{\"scope\": \"x\", \"status\": []}]", "$[0], line 1", "status"),
            ("[{\"snapshot\": {\"request\": {}}}]", "$[0].snapshot, line 1", "response"),
        ] as [(String, String?, String)])
    func `A file that cannot be read fails with its name, the place and the cause`(
        document: String, place: String?, reason: String
    ) {
        let error = #expect(throws: CassetteImportError.self) { try read(document) }

        #expect(error?.place == place)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
        #expect(error?.description.hasPrefix("feed cannot be imported") == true)
    }

    private func read(_ document: String) throws -> ImportedCassette {
        try ImportedCassette(Data(document.utf8), named: "feed", formats: .known)
    }
}
#endif
