import Decorum
import DecorumArchive
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct ImportedArchiveTests {
    @Test func `Text is encoded back in its charset, and invalid base64 is text`() throws {
        let imported = try read(
            entries: [
                response(content: #"{"mimeType": "text/html; charset=iso-8859-1", "text": "K\u00e4se"}"#),
                response(content: #"{"mimeType": "text/html", "text": "K\u00e4se"}"#),
                response(content: #"{"text": "AAE=", "encoding": "base64"}"#),
                response(content: #"{"text": "{\"a\": 1}", "encoding": "base64"}"#),
                response(content: #"{"size": 12}"#), response(content: #"{"text": "ab", "comment": "Truncated"}"#),
                response(content: "null"),
            ])

        #expect(imported.format == "HAR")
        let bodies = imported.interactions.compactMap { $0.response?.body }
        #expect(bodies[0].bytes == Data([0x4B, 0xE4, 0x73, 0x65]))
        #expect(bodies[1].bytes == Data("Käse".utf8))
        #expect(bodies[2].bytes == Data([0, 1]))
        #expect(bodies[3].bytes == Data(#"{"a": 1}"#.utf8))
        #expect(bodies.map(\.exactness) == [.exact, .exact, .exact, .exact, .lossy, .lossy, .exact])
        #expect(imported.warnings.map(\.kind) == [.storageEncoding, .missingBody, .missingBody])
        #expect(imported.warnings[0].place == "$.log.entries[3].response.content.text, line 1")
    }

    @Test(arguments: [
        (#"{"status": 0, "_error": "net::ERR_TIMED_OUT"}"#, "timedOut", RecordedFailure.Stage.head),
        (#"{"status": -1, "_failureText": "net::ERR_CONNECTION_REFUSED"}"#, "connectionRefused", .connect),
        (#"{"status": 0, "_error": null, "statusText": ""}"#, "other", .head), ("null", "other", .head),
        (#"{"status": 0, "_error": "[Errno -2] Name or service not known"}"#, "hostNotFound", .connect),
        (#"{"status": 200, "_failureText": "net::ERR_CONTENT_LENGTH_MISMATCH"}"#, "truncated", .body),
        (#"{"status": 200, "_error": "net::ERR_INCOMPLETE_CHUNKED_ENCODING"}"#, "truncated", .body),
        (
            #"{"status": 200, "_error": "net::ERR_CONNECTION_RESET", "content": {"text": "ab"}}"#, "connectionLost",
            .body
        ),
    ])
    func `An exchange without a status is a failure`(response: String, kind: String, stage: RecordedFailure.Stage)
        throws
    {
        let imported = try read(entries: [#"{"request": {"url": "http://a.example/"}, "response": \#(response)}"#])
        #expect(imported.interactions[0].failure == RecordedFailure(kind: kind, stage: stage))
        #expect((imported.interactions[0].response != nil) == (stage == .body))
    }

    @Test(arguments: [
        (#"{"mimeType": "text/plain", "text": "a"}"#, "a"), (#"{"text": "YQ==", "encoding": "base64"}"#, "a"),
        (#"{"text": "YQ==", "_encoding": "base64"}"#, "a"), (#"{"text": "", "params": []}"#, ""),
        (#"{"mimeType": "x"}"#, ""), (#"{"text": "a", "textJSON": {"b": 1}}"#, "a"),
        (
            #"{"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "ä&"}, {"name": "c"}]}"#,
            "a+b=%C3%A4%26&c"
        ),
        (
            #"{"mimeType": "multipart/form-data; boundary=x", "params": [{"name": "f", "fileName": "a.txt", "contentType": "text/plain", "value": "v"}]}"#,
            "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nv\r\n--x--\r\n"
        ),
    ])
    func `The content of a request is its text, its base64 or its parts`(postData: String, expected: String) throws {
        let imported = try read(entries: [
            #"{"request": {"method": "POST", "url": "http://a.example/", "postData": \#(postData)}}"#
        ])
        #expect(imported.interactions[0].request.body.bytes == Data(expected.utf8))
    }

    @Test(arguments: [
        #"{"params": [], "textJSON": {"query": "{ a }", "n": [1.50, 1e5, "1e5", null, true]}}"#,
        #"{"text": null, "textJSON": {"query": "{ a }", "n": [1.50, 1e5, "1e5", null, true]}}"#,
    ])
    func `The content of a request may be a value`(postData: String) throws {
        let document =
            #"{"log": {"entries": [{"request": {"method": "POST", "url": "http://a.example/", "postData": \#(postData)}}]}}"#
        let imported = try ImportedCassette(Data(document.utf8), named: "feed")
        let text = #"{"query":"{ a }","n":[1.50,1e5,"1e5",null,true]}"#
        #expect(imported.interactions[0].request.body == RecordedBody(Data(text.utf8), exactness: .reserialized))
        #expect(imported.warnings.map(\.kind).first == .rebuiltBody)
        #expect(imported.warnings.first?.place == "$.log.entries[0].request.postData.textJSON, line 1")
        #expect(try HAR(HAR(Data(document.utf8)).document()).entries[0].request.postData?.text == text)
    }

    @Test(
        arguments: [
            (#""text": "89504e47", "_isBinary": true"#, [0x89, 0x50, 0x4E, 0x47], nil),
            (#""text": "89504e47", "_isBinary": false"#, Array("89504e47".utf8), nil),
            (#""text": "iVBORw==", "_isBinary": true"#, [0x89, 0x50, 0x4E, 0x47], nil),
            (#""text": "iVBORw==", "_isBinary": true, "encoding": "base64""#, [0x89, 0x50, 0x4E, 0x47], nil),
            (#""text": "[\"8950\", \"4e47\"]", "_isBinary": true"#, [0x89, 0x50, 0x4E, 0x47], nil),
            (#""text": "", "_isBinary": true"#, [], nil),
            (#""text": "no bytes", "_isBinary": true"#, Array("no bytes".utf8), .storageEncoding),
        ] as [(String, [UInt8], ImportWarning.Kind?)])
    func `Content that older versions of Polly.js mark as binary is hexadecimal`(
        content: String, expected: [UInt8], warning: ImportWarning.Kind?
    ) throws {
        let imported = try read(
            entries: [response(content: #"{"mimeType": "image/png", \#(content)}"#)], creator: "Polly.JS")
        let browser = try read(entries: [response(content: #"{"mimeType": "image/png", \#(content)}"#)])
        #expect(imported.interactions[0].response?.body.bytes == Data(expected))
        #expect(imported.warnings.map(\.kind) == (warning.map { [$0] } ?? []))
        #expect(browser.warnings.isEmpty)
    }

    @Test(
        arguments: [
            (#""gzip""#, #""text": "[\"1f8b\",\"0800\"]""#, [0x1F, 0x8B, 8, 0]),
            (#""gzip""#, #""text": "[\"H4sI\"]", "encoding": "base64""#, [0x1F, 0x8B, 8]),
            (#""br""#, #""text": "[\"AAE=\"]", "encoding": "base64""#, [0, 1]),
            (#""gzip""#, #""text": "[\"abcd\"]""#, Array(#"["abcd"]"#.utf8)),
            (#""gzip""#, #""text": "[{\"a\":1}]", "encoding": "base64""#, Array(#"[{"a":1}]"#.utf8)),
            (#""identity""#, #""text": "AAE=", "encoding": "base64""#, [0, 1]),
        ] as [(String, String, [UInt8])])
    func `The chunks of Polly.js are joined where they are chunks`(coding: String, content: String, expected: [UInt8])
        throws
    {
        let headers = #"[{"name": "content-encoding", "value": \#(coding)}, {"name": "content-length", "value": 12}]"#
        let imported = try read(
            entries: [
                #"{"request": {"url": "http://a.example/"}, "response": {"status": 200, "headers": \#(headers), "content": {\#(content)}}}"#
            ], creator: "Polly.JS")
        #expect(imported.format == "Polly.js")
        #expect(imported.interactions[0].response?.body.bytes == Data(expected))
        #expect(imported.interactions[0].response?.fields[.contentLength] == "12")
    }

    @Test func `Replay leaves base64 of a request unmarked, and never transcodes`() throws {
        let imported = try read(
            entries: [
                #"{"request": {"method": "PUT", "url": "http://a.example/", "postData": {"mimeType": "", "text": "/wA="}}, "response": {"status": 200, "content": {"mimeType": "text/html; charset=latin1", "text": "\u00e4"}}}"#,
                #"{"request": {"method": "PUT", "url": "http://a.example/", "postData": {"mimeType": "text/plain", "text": "abcd"}}}"#,
            ], creator: "Replay/1.0")
        #expect(imported.format == "Replay")
        #expect(imported.interactions.map(\.request.body.bytes) == [Data([0xFF, 0]), Data("abcd".utf8)])
        #expect(imported.interactions[0].response?.body.bytes == Data("ä".utf8))
    }

    @Test func `A file beside the archive is read, and never one outside of its folder`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sidecar-\(UUID().uuidString)/inner")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder.deletingLastPathComponent()) }
        try Data("content".utf8).write(to: folder.appending(path: "a.txt"))
        let outside = folder.deletingLastPathComponent().appending(path: "secret.txt")
        try Data("secret".utf8).write(to: outside)
        try FileManager.default.createSymbolicLink(at: folder.appending(path: "link.txt"), withDestinationURL: outside)

        let found = try read(entries: [response(content: #"{"_file": "a.txt"}"#)], folder: folder)
        let missing = try read(entries: [response(content: #"{"_file": "b.txt"}"#)], folder: folder)
        let unknown = try read(entries: [response(content: #"{"_file": "a.txt"}"#)])

        #expect(found.interactions[0].response?.body.bytes == Data("content".utf8))
        #expect(missing.warnings.map(\.kind) == [.missingBody])
        #expect(unknown.exactness == .lossy)
        for name in [
            "../secret.txt", "link.txt", outside.path, "x/../../secret.txt", "..\\\\secret.txt", "", "./a.txt",
        ] {
            let error = #expect(throws: CassetteImportError.self) {
                try read(entries: [response(content: #"{"_file": "\#(name)"}"#)], folder: folder)
            }
            #expect(error?.place == "$.log.entries[0].response.content._file, line 1")
        }
    }

    private func response(content: String) -> String {
        #"{"request": {"method": "GET", "url": "http://a.example/"}, "response": {"status": 200, "content": \#(content)}}"#
    }

    private func read(entries: [String], creator: String = "x", folder: URL? = nil) throws -> ImportedCassette {
        let document =
            #"{"log": {"creator": {"name": "\#(creator)"}, "entries": [\#(entries.joined(separator: ","))]}}"#
        return try ImportedCassette(Data(document.utf8), named: "feed", folder: folder)
    }
}

/// Archives of content that is not plain UTF-8, as Chromium, Firefox and mitmproxy write them.
@Suite struct ArchivedTextTests {
    @Test(
        arguments: [
            // mitmproxy, and Chromium for plain text: content without a declared charset is Latin 1.
            ("text/plain", "K\u{C3}\u{A4}se", 5, Array("Käse".utf8)),
            // Firefox: UTF-8 wherever the bytes are UTF-8.
            ("text/plain", "Käse", 5, Array("Käse".utf8)),
            // Firefox and mitmproxy: bytes that are not text.
            ("application/octet-stream", "\u{0}\u{FF}\u{80}(", 4, [0, 0xFF, 0x80, 0x28]),
            // Chromium and mitmproxy: a page says what it is.
            (
                "text/html", "<meta charset=\"windows-1251\">\u{41F}", 30,
                Array("<meta charset=\"windows-1251\">".utf8) + [0xCF]
            ),
            (
                "text/html", "<META content='text/html; charset=windows-1251'>\u{41F}", 49,
                Array("<META content='text/html; charset=windows-1251'>".utf8) + [0xCF]
            ),
            // All browsers mean windows-1252 by Latin 1; mitmproxy does not.
            ("text/plain; charset=iso-8859-1", "ä\u{201E}\u{20AC}", 3, [0xE4, 0x84, 0x80]),
            ("text/plain; charset=iso-8859-1", "ä\u{84}\u{80}", 3, [0xE4, 0x84, 0x80]),
            // All browsers drop the byte order mark; mitmproxy does not.
            ("text/plain; charset=utf-8", "ä", 5, [0xEF, 0xBB, 0xBF, 0xC3, 0xA4]),
            ("text/plain; charset=utf-8", "\u{FEFF}ä", 5, [0xEF, 0xBB, 0xBF, 0xC3, 0xA4]),
            ("text/plain; charset=utf-16le", "ä", 4, [0xFF, 0xFE, 0xE4, 0]),
            // Some tools count characters, and what is declared holds.
            ("text/plain; charset=utf-8", "ä", 1, [0xC3, 0xA4]),
            ("application/json", "ä", 1, [0xC3, 0xA4]),
            ("text/html", "<meta charset=utf-8>ä", 21, Array("<meta charset=utf-8>ä".utf8)),
        ] as [(String, String, Int, [UInt8])])
    func `The number of bytes tells how text was decoded`(
        type: String, text: String, length: Int, bytes: [UInt8]
    ) throws {
        let value = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
        let content = #"{"mimeType": "\#(type)", "text": \#(value)}"#
        let length = #"{"name": "content-length", "value": "\#(length)"}"#
        let received = try response(fields: length, content: content)
        let post = #"{"mimeType": "\#(type)", "text": \#(value)}"#
        let sent = try read(
            #"{"request": {"method": "POST", "url": "http://a.example/", "headers": [\#(length)], "postData": \#(post)}}"#
        )
        #expect(received.interactions[0].response?.body == RecordedBody(Data(bytes)))
        #expect(received.warnings == [])
        #expect(sent.interactions[0].request.body == RecordedBody(Data(bytes)))
    }

    @Test func `A length in a field counts, but not beside a content coding, and a size may be one of characters`()
        throws
    {
        let content = #"{"size": 5, "mimeType": "text/plain", "text": "K\u00c3\u00a4se"}"#
        let plain = try response(fields: #"{"name": "Content-Length", "value": "5"}"#, content: content)
        let sized = try response(content: content)
        let coded = try response(
            fields: #"{"name": "Content-Length", "value": "5"}, {"name": "Content-Encoding", "value": "gzip"}"#,
            content: content)
        #expect(plain.interactions[0].response?.body.bytes == Data("Käse".utf8))
        #expect(coded.interactions[0].response?.body.bytes == Data("K\u{C3}\u{A4}se".utf8))
        #expect(sized.interactions[0].response?.body.bytes == Data("K\u{C3}\u{A4}se".utf8))
        #expect(plain.exactness == .exact)
        #expect(coded.exactness == .exact)
    }

    @Test(arguments: [
        (#"{"text": "ab"}"#, "ab", ImportWarning.Kind.missingBody), (#"{"size": -1}"#, "", .missingBody),
        (#"{"text": ""}"#, "", .missingBody), (#"{"text": "\ufffd\ufffda"}"#, "\u{FFFD}\u{FFFD}a", .damagedBody),
        (#"{"text": "\udcff\ufffda"}"#, "\u{FFFD}\u{FFFD}a", .loneSurrogate),
    ])
    func `Content that has lost bytes is not called exact`(content: String, text: String, kind: ImportWarning.Kind)
        throws
    {
        let imported = try response(fields: #"{"name": "Content-Length", "value": "3"}"#, content: content)
        #expect(imported.interactions[0].response?.body == RecordedBody(Data(text.utf8), exactness: .lossy))
        #expect(imported.warnings.map(\.kind) == [kind])
    }

    @Test(arguments: ["null", #"{"mimeType": "multipart/form-data", "text": "", "params": []}"#])
    func `A request whose content the browser did not keep is not called exact`(postData: String) throws {
        let imported = try read(
            #"{"request": {"method": "POST", "url": "http://a.example/", "headers": [{"name": "Content-Length", "value": "8"}], "postData": \#(postData)}}"#
        )
        #expect(imported.interactions[0].request.body == RecordedBody(exactness: .lossy))
        #expect(imported.warnings.map(\.kind).first == .missingBody)
    }

    @Test(arguments: [("GET", 304), ("GET", 204), ("HEAD", 200), ("GET", 101)])
    func `Cached content is not the content of a response that can have none`(method: String, status: Int) throws {
        let imported = try read(
            #"{"request": {"method": "\#(method)", "url": "http://a.example/"}, "response": {"status": \#(status), "headers": [{"name": "Content-Length", "value": "9"}], "content": {"size": 9, "text": "cacheable"}}}"#
        )
        #expect(imported.warnings == [])
        let decoded = try imported.decodingContent()
        #expect(decoded.interactions[0].response?.body == RecordedBody())
        #expect(decoded.warnings.map(\.kind) == [.leftOut])
    }

    @Test func `Fields that a tool has joined with a line break are several`() throws {
        let imported = try response(
            fields: #"{"name": "set-cookie", "value": "a=1; Path=/\nb=2"}, {"name": "x", "value": ""}"#, content: "{}")
        #expect(imported.interactions[0].response?.fields.map(\.value) == ["a=1; Path=/", "b=2", ""])
        let other = try response(fields: #"{"name": "x", "value": "a\r\nb\n"}"#, content: "{}")
        #expect(other.interactions[0].response?.fields.map(\.value) == ["a", "b"])
    }

    @Test(arguments: [
        #""_error": "net::ERR_CONTENT_LENGTH_MISMATCH", "content": {"#, #""content": {"comment": "truncated", "#,
    ])
    func `Nothing is made of the length of content that was cut off`(start: String) throws {
        let imported = try read(
            #"{"request": {"method": "GET", "url": "http://a.example/"}, "response": {"status": 200, "headers": [{"name": "Content-Length", "value": "8"}], \#(start)"mimeType": "text/plain", "text": "cut o"}}}"#
        )
        #expect(imported.interactions[0].response?.body.bytes == Data("cut o".utf8))
    }

    @Test func `Cookies that Safari has joined are several`() throws {
        let cookies = "a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT, b=2; Path=/"
        let entry =
            #"{"request": {"url": "x"}, "response": {"status": 200, "headers": [{"name": "Set-Cookie", "value": "\#(cookies)"}]}}"#
        let safari = archive(entry).replacing(#""x"}, "entries"#, with: #""WebKit Web Inspector"}, "entries"#)
        let imported = try ImportedCassette(Data(safari.utf8), named: "feed.har")
        #expect(
            imported.interactions[0].response?.fields.map(\.value) == [
                "a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "b=2; Path=/",
            ])
        #expect(imported.warnings.map(\.kind) == [.joinedField])
        #expect(try read(entry).interactions[0].response?.fields.map(\.value) == [cookies])
    }

    @Test func `Files beside an archive hold the content of requests, and text that was decoded`() throws {
        let folder = TemporaryFolder()
        try Data([0, 0xFF]).write(to: URL(filePath: folder.path("a.bin")))
        try folder.write("ä", to: "b.txt")
        let imported = try ImportedCassette(
            Data(
                archive(
                    #"{"request": {"method": "POST", "url": "http://a.example/", "postData": {"text": "", "params": [{"name": "a"}], "_file": "a.bin"}}, "response": {"status": 200, "headers": [{"name": "Content-Length", "value": "1"}], "content": {"mimeType": "text/plain; charset=iso-8859-1", "_file": "b.txt"}}}"#
                ).utf8), named: "feed.har", folder: URL(filePath: folder.path("")))
        #expect(imported.interactions[0].request.body == RecordedBody(Data([0, 0xFF])))
        #expect(imported.interactions[0].response?.body == RecordedBody(Data([0xE4])))
        #expect(imported.warnings == [])
    }

    private func response(fields: String = "", content: String) throws -> ImportedCassette {
        try read(
            #"{"request": {"method": "GET", "url": "http://a.example/"}, "response": {"status": 200, "headers": [\#(fields)], "content": \#(content)}}"#
        )
    }

    private func read(_ entry: String) throws -> ImportedCassette {
        try ImportedCassette(Data(archive(entry).utf8), named: "feed.har")
    }

    private func archive(_ entry: String) -> String {
        #"{"log": {"creator": {"name": "x"}, "entries": [\#(entry)]}}"#
    }
}

/// Losses of files of other tools.
@Suite(.timeLimit(.minutes(3))) struct ImportLossTests {
    @Test func `A failure without words is listed, and is a failure when it is played`() async throws {
        let document =
            #"{"log": {"entries": [{"request": {"method": "GET", "url": "https://a.example/"}, "response": {"status": 0}}]}}"#
        let imported = try ImportedCassette(Data(document.utf8), named: "feed")

        #expect(imported.interactions[0].failure?.kind == "other")
        #expect(imported.interactions[0].response == nil)
        #expect(imported.warnings.map(\.kind) == [.failure])

        let folder = TemporaryFolder()
        try folder.write(document, to: "feed.har")
        let cassette = try Cassette(at: folder.path("feed.har"), mode: .replay)
        let error = await #expect(throws: TransportError.self) {
            try await CassetteConnection(cassette).send(.get("https://a.example/"))
        }
        #expect(error?.code == .other && error?.stage == .head)
        try await cassette.finish()
    }
}
