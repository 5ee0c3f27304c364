import Decorum
import DecorumTesting
import Foundation
import Testing

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

    @Test func `A file in a wide charset is taken as it is`() throws {
        let folder = try TemporaryFolder()
        let bytes = Data([0x68, 0, 0x69, 0])
        try bytes.write(to: URL(filePath: folder.path("a.txt")))

        let imported = try ImportedCassette(
            Data(
                archive(
                    #"{"request": {"method": "GET", "url": "http://a.example/"}, "response": {"status": 200, "content": {"mimeType": "text/plain; charset=utf-16", "_file": "a.txt"}}}"#
                ).utf8), named: "feed.har", folder: URL(filePath: folder.path("")))

        #expect(imported.interactions[0].response?.body == RecordedBody(bytes))
    }

    @Test func `Where the file of a form is missing, the form is put together from its parts`() throws {
        let imported = try read(
            #"{"request": {"method": "POST", "url": "http://a.example/", "postData": {"mimeType": "application/x-www-form-urlencoded", "text": "", "params": [{"name": "a", "value": "1"}], "_file": "gone.bin"}}}"#
        )

        #expect(imported.interactions[0].request.body == RecordedBody(Data("a=1".utf8), exactness: .reserialized))
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
        let folder = try TemporaryFolder()
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
