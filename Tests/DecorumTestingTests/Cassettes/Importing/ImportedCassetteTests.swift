import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct ImportedCassetteTests {
    @Test func `VCR is read with its charsets, its base64, its symbols and its dates`() throws {
        let imported = try read(
            """
            ---
            http_interactions:
            - request:
                method: :post
                uri: https://a.example/x?key=<API_KEY>
                body: {encoding: UTF-8, string: 'q=1'}
                headers: {Accept: ['*/*'], X-One: one, X-None: []}
              response:
                status: {code: 200, message: OK}
                headers:
                  Set-Cookie:
                  - a=1
                  - b=2
                body:
                  encoding: ISO-8859-1
                  string: Käse <%= x %>
                adapter_metadata: {vcr_decompressed: gzip}
              recorded_at: Wed, 19 Aug 2026 14:34:15 GMT
            - request: {method: get, uri: 'https://a.example/y', body: '', headers: null}
              response:
                status: {code: 200, message: }
                headers: {}
                body:
                  encoding: ASCII-8BIT
                  string: !binary |-
                    AAH/
            - request: {method: get, uri: 'https://a.example/z'}
              response:
                status: {code: 204, message: ''}
                headers: {}
                body: {encoding: UTF-8, base64_string: "aGFs\\nbG8=\\n", string: ''}
            recorded_with: VCR 6.4.0
            """)

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

    @Test func `Values that look like secrets are counted`() throws {
        let secret = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        var imported = try read(
            """
            http_interactions:
            - request:
                method: get
                uri: https://me:s3cr3t@a.example/
                headers: {Authorization: [Bearer 1a2b3c4d5e6f7g8h9i]}
              response: {status: {code: 200}, headers: {X-Key: ['\(secret)']}, body: {encoding: UTF-8, string: 'a: \(secret)'}}
            """)
        #expect(imported.possibleSecretCount == 4)
        imported.interactions[0].response = nil
        #expect(imported.possibleSecretCount == 2)
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
        let imported = try read(
            """
            {"http_interactions": [
            {"request": {"body": "a=1", "headers": {"A": "b"}, "method": "POST", "uri": "http://a.example/"},
             "response": {"body": {"base64_string": "AAE=", "encoding": null, "string": ""}, "headers": {"C": ["d"]},
             "status_code": 201, "url": "http://a.example/"}, "recorded_at": "2014-04-11T20:30:30"},
            {"request": {"body": {"encoding": "utf-8", "base64_string": ""}, "headers": {}, "method": "GET", "uri": "http://a.example/"},
             "response": {"body": {"encoding": "utf-8", "string": "a\\ufffdb"}, "headers": {}, "status": {"code": 200, "message": "OK"}}}],
            "recorded_with": "betamax/0.4.1"}
            """)

        #expect(imported.format == .betamax)
        #expect(imported.interactions.map { $0.response?.status } == [201, 200])
        #expect(imported.interactions[0].request.body.bytes == Data("a=1".utf8))
        #expect(imported.interactions[0].response?.body.bytes == Data([0, 1]))
        #expect(imported.interactions[0].recordedAt == Date(timeIntervalSince1970: 1_397_248_230))
        #expect(imported.warnings.map(\.kind) == [.damagedBody])
        #expect(imported.exactness == .lossy)
    }

    @Test func `vcrpy is read with objects of Python, old shapes of httpx and kept values`() throws {
        let imported = try read(
            """
            interactions:
            - request:
                body: !!python/object/new:_io.BytesIO
                  state: !!python/tuple
                  - !!binary |
                    AAE=
                  - 0
                  - null
                headers: {A: [!!binary YQ==]}
                method: POST
                uri: https://a.example/
              response:
                body: {string: !!python/unicode "x\\u20ac"}
                headers: {B: [c, d]}
                status: {code: 200, message: OK}
            - request:
                body: !!python/object/apply:builtins.iter
                - - one
                  - !!binary dHdv
                headers: {}
                method: PUT
                uri: https://a.example/
              response:
                content: text
                headers: {content-encoding: gzip}
                http_version: HTTP/1.1
                status_code: 201
            - request: {body: !!python/object:os.system {args: rm}, headers: {}, method: GET, uri: 'https://a.example/'}
              response:
                headers: {}
                parsed_body: {a: 1.50, b: [true, null, 'no', yes, {x: ''}], c: 1e5}
                status: {code: 200, message: null}
            version: 1
            """)

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
        #expect(imported.warnings.first?.place == "interaction 1")
    }

    @Test func `A string that Ruby had twice, and a long name that Python had, are read`() throws {
        let name = String(repeating: "x", count: 140)
        let imported = try read(
            """
            http_interactions:
            - request: {method: get, uri: 'https://a.example/', body: {encoding: UTF-8, string: &1 ''}}
              response:
                status: {code: 200, message: &2 OK}
                headers:
                  Date: &3
                  - Wed, 19 Aug 2026 14:34:15 GMT
                body: {encoding: UTF-8, string: *2}
            - request: {method: get, uri: 'https://a.example/', body: {encoding: UTF-8, string: *1}}
              response:
                status: {code: 200, message: *2}
                headers:
                  Date: *3
                  ? \(name)
                  : - a
                    - b
            """)

        #expect(imported.interactions[0].response?.body.bytes == Data("OK".utf8))
        #expect(imported.interactions[1].response?.reason == "OK")
        #expect(
            imported.interactions[1].response?.fields.map { [$0.name.rawName, $0.value] } == [
                ["Date", "Wed, 19 Aug 2026 14:34:15 GMT"], [name, "a"], [name, "b"],
            ])
    }

    @Test func `Both versions of go-vcr are read, with what the newer leaves out`() throws {
        let first = try read(
            """
            version: 1
            interactions:
            - request: {body: a=1, form: {a: ['1']}, headers: {}, url: 'https://a.example/', method: POST}
              response: {body: !!binary AAE=, headers: {A: [b]}, status: 503 Service Unavailable, code: 503, duration: 1.5s}
            """)
        let second = try read(
            """
            ---
            version: 2
            interactions:
                - id: 0
                  request: {host: a.example, url: 'https://a.example/', method: }
                  response: {body: x, trailer: {T: [u]}, uncompressed: true, status: 200 OK}
            """)

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
        let imported = try read(
            #"""
            {"name": "x", "interactions": [
            {"recorded_at": 1434688721.44, "request": {"url": "http://a.example"},
             "response": {"url": "http://a.example/final", "status": 200, "headers": {"Content-Type": "text/plain"}, "body": "aGk="}},
            {"request": {"url": "http://a.example", "method": "POST", "headers": {"Content-Type": "application/json"}, "body": {"b": 1.0, "a": []}},
             "response": {"url": "http://a.example", "status": 200, "headers": {"content-type": "text/plain"}, "body": "aGk="}},
            {"request": {"url": "http://a.example", "body": ["x"]}, "response": {"url": "http://a.example", "body": "no base64!"}}]}
            """#)

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
        let snapshot = #"""
            {"request": {"method": "POST", "url": "http://a.example/", "headers": {"a": "b"}, "body": "0,1,255"}, "RESPONSES",
             "callCount": 1, "timestamp": "2026-11-20T23:00:43.321Z"}
            """#
        let cookies = "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT, b=2; Path=/"
        let response =
            #"{"statusCode": 200, "headers": {"set-cookie": "\#(cookies)"}, "body": "AAE=", "trailers": {"x-sum": "1"}}"#
        let list = try read(
            #"[{"hash": "h", "snapshot": "#
                + snapshot.replacingOccurrences(
                    of: #""RESPONSES""#, with: #""responses": [\#(response), \#(response)]"#) + "}]")
        let object = try read(
            #"{"h": "# + snapshot.replacingOccurrences(of: #""RESPONSES""#, with: #""response": \#(response)"#) + "}")

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
        let imported = try read(
            #"""
            [{"scope": "https://a.example:443", "method": "get", "path": "/x?y=1", "body": "", "status": 200,
              "response": ["1f8b", "0800"], "rawHeaders": ["Content-Encoding", "gzip", "Set-Cookie", "a", "Set-Cookie", "b"]},
             {"scope": "http://a.example:8080", "method": "POST", "path": "/", "body": {"a": 1}, "status": "201",
              "response": {"b": [2]}, "headers": {"A": "b"}, "reqheaders": {"c": ["d", "e"]}},
             {"scope": "http://a.example:80", "path": "/", "status": 200, "response": "ff00", "responseIsBinary": true, "rawHeaders": {}},
             {"scope": "http://a.example", "path": "/", "status": 200, "response": "text", "rawHeaders": []}]
            """#)

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
            ("{}", "$", "format is unknown"), ("[]", "$", "empty"),
            ("a: &b.c d", "line 1", "anchor"), ("PK\u{3}\u{4}", nil, "zip"),
            ("{\"log\": {}}", "$.log.entries", "entries"),
            ("{\"log\": {\"entries\": [{\"request\": {}}]}}", "$.log.entries[0].request.url", "URL"),
            ("http_interactions: 1", "$.http_interactions, line 1", "list"),
            ("{\"interactions\": [], \"cassette\": 1}", "$", "Decorum"),
            ("http_interactions:\n- request: {uri: x}\n", "$.http_interactions[0], line 2", "response"),
            (
                "- !ruby/struct:VCR::HTTPInteraction\n  request: !ruby/struct:VCR::Request\n    method: :get\n",
                "$[0], line 1", "VCR 1"
            ),
            ("- request: !!python/object:vcr.request.Request {host: a}\n", "$[0], line 1", "1.0"),
            ("just text", "$, line 1", "format is unknown"),
            ("[{\"scope\": \"x\", \"status\": []}]", "$[0]", "status"),
            ("[{\"snapshot\": {\"request\": {}}}]", "$[0].snapshot", "response"),
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
        try ImportedCassette(Data(document.utf8), named: "feed")
    }
}
