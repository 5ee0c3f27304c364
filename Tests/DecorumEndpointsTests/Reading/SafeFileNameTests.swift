import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumEndpoints

@Suite struct SafeFileNameTests {
    @Test(
        arguments: [
            ("a.pdf", "a.pdf"), ("../../etc/passwd", "passwd"), (#"..\..\boot.ini"#, "boot.ini"),
            ("/etc/shadow", "shadow"),
            ("C:\\x\\a.txt", "a.txt"), ("..", nil), (".", nil), ("", nil), ("...", nil), ("a/", nil), ("~", "~"),
            (".bashrc", "bashrc"), ("a\0b.txt", "ab.txt"), ("a\r\nb", "ab"), ("NUL", "_NUL"), ("nul.txt", "_nul.txt"),
            ("com1", "_com1"), ("LPT9.tar.gz", "_LPT9.tar.gz"), ("CON ", "_CON"), ("com0.x", "_com0.x"),
            ("comb", "comb"),
            ("console", "console"), ("aux .c", "_aux .c"), ("COM¹", "_COM¹"), ("a:b|c?.txt", "a_b_c_.txt"),
            ("x\u{202E}fdp.exe", "xfdp.exe"), ("  a b  ", "a b"), ("a.txt. . ", "a.txt"), ("\u{200F}", nil),
            ("日本.txt", "日本.txt"), (".\u{301}bashrc", "bashrc"), ("\u{301}.\u{301}.", nil),
            ("e\u{301}.txt", "e\u{301}.txt"),
        ] as [(String, String?)])
    func `A name is reduced to one segment`(name: String, safe: String?) {
        #expect(SafeFileName(name)?.text == safe)
    }

    @Test func `A long name keeps its extension, and no character is cut`() throws {
        let name = try #require(SafeFileName(String(repeating: "é", count: 4000) + ".pdf")?.text)
        #expect(name.utf8.count <= 200 && name.utf8.count > 190)
        #expect(name.hasSuffix("é.pdf"))
        let zalgo = try #require(SafeFileName("a" + String(repeating: "\u{301}", count: 4000))?.text)
        #expect(zalgo.utf8.count <= 200)
        let dots = try #require(SafeFileName("x." + String(repeating: "y", count: 4000))?.text)
        #expect(dots.utf8.count == 200)
    }

    @Test(
        arguments: [
            (#"attachment; filename="a b.txt""#, "a b.txt"), ("inline", nil),
            ("Attachment; filename=a.txt", "a.txt"),
            (#"attachment; filename="a\"b\\c.txt""#, #"a"b\c.txt"#),
            ("attachment; filename=x; filename*=UTF-8''%e2%82%ac%20rates", "€ rates"),
            ("attachment; filename*=utf-8'en'a%2Fb.txt; filename=x", "a/b.txt"),
            ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
            ("attachment; filename*=UTF-8''%ff; filename=x", "x"),
            ("attachment; filename*=koi8-r''a; filename=x", "x"),
            ("attachment; filename*=UTF-8'a; filename=x", "x"),
            (#"attachment; filename="a;b.txt"; size=3"#, "a;b.txt"),
            (#"attachment; filename="open"#, nil), ("attachment;;; filename=a", "a"),
            (#"attachment; x=";"; FILENAME = "a""#, "a"), ("", nil), ("; filename=a", "a"),
            ("attachment; filename", nil), (#"attachment; filename="a"b"#, "a"),
        ] as [(String, String?)])
    func `The field gives a name`(value: String, name: String?) {
        #expect(ContentDisposition(value).fileName == name)
    }

    @Test(
        arguments: [
            ([0x63, 0x61, 0x66, 0xE9, 0x20, 0x80], "café €"), (Array("café €".utf8), "café €"),
            ([0x61, 0xC3], "aÃ"), ([0xE9, 0x2F, 0xE8], "è"),
        ] as [([UInt8], String)])
    func `A field that is not UTF-8 is read as windows-1252`(name: [UInt8], text: String) {
        let value = Array("attachment; filename=\"".utf8) + name + Array("\"".utf8)
        let fields = HTTPFields([HTTPField(name: .contentDisposition, lenientValue: value)])
        #expect(Response(status: .ok, fields: fields).suggestedFileName == text)
    }

    @Test func `No random value makes a name that leads elsewhere`() {
        let generator = SeededGenerator(seed: 6266)
        let pieces = [
            "filename", "filename*", "=", ";", "\"", "\\", "/", "..", "UTF-8''", "%2e%2e%2f", "%00", "a", " ",
            "\u{202E}", "NUL", "~", "é",
        ]
        for _ in 0..<5000 {
            let value =
                "attachment; filename="
                + (0..<12).map { _ in pieces[Int(generator.next() % UInt64(pieces.count))] }.joined()
            let response = Response(status: .ok, fields: [.contentDisposition: value])
            let name = response.suggestedFileName
            #expect(!name.isEmpty && name.utf8.count <= 201 && !name.hasPrefix("."))
            #expect(!name.unicodeScalars.contains { $0 == "/" || $0 == "\\" || $0.value < 0x20 })
        }
    }

    @Test(arguments: [
        ("https://example.com/a/manual.pdf?x=1", "manual.pdf"), ("https://example.com/", "download"),
        ("https://example.com/a/..%2F..%2Fb", "b"), ("https://example.com/a/", "a"),
    ])
    func `Without the field, the URL gives the name`(url: String, name: String) {
        var response = Response(status: .ok)
        response.metadata.url = URL(string: url)
        #expect(response.suggestedFileName == name)
    }
}
