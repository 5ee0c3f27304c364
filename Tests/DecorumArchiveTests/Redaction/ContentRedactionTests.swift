import Decorum
import DecorumArchive
import DecorumTesting
import Foundation
import Testing

@Suite struct ContentRedactionTests {
    private func redacted(_ content: String, _ mediaType: String?, by redaction: Redaction = .standard) -> String {
        String(decoding: redaction.applied(to: Data(content.utf8), mediaType: mediaType), as: UTF8.self)
    }

    @Test(arguments: [
        ("grant_type=password&password=s3cret&a=1", "grant_type=password&password=REDACTED&a=1"),
        ("user%5Bpassword%5D=s3#cret", "user%5Bpassword%5D=REDACTED"),
        ("code=s3cret", "code=REDACTED"),
        ("payload=%7B%22token%22%3A%22s3cret%22%7D&b=+", "payload=REDACTED&b=+"),
        ("next=https%3A%2F%2Fme%3As3cret%40a.example", "next=REDACTED"),
        ("a=1&b=2&&=&token", "a=1&b=2&&=&token"),
    ])
    func `A form has the values of listed names redacted`(form: String, expected: String) {
        #expect(redacted(form, "application/x-www-form-urlencoded; charset=utf-8") == expected)
    }

    @Test(arguments: [
        "application/json", "Application/JSON;charset=utf-8", "application/problem+json", "text/json",
        "application/x-ndjson", "application/jsonl", "application/json-seq", "application/x-amz-json-1.1",
    ])
    func `Every kind of JSON is read as JSON`(mediaType: String) {
        #expect(redacted(#"{"token":"s3cret"}"#, mediaType) == #"{"token":"REDACTED"}"#)
        #expect(redacted(#"{"token":1}\#n{"token":2}\#n"#, mediaType).contains("1") == false)
    }

    @Test func `Without a media type only valid JSON is read as JSON`() {
        #expect(redacted(#"{"token":"s3cret"}"#, nil) == #"{"token":"REDACTED"}"#)
        #expect(redacted("[INFO] all is well", nil) == "[INFO] all is well")
    }

    @Test func `Other content stays as it is`() {
        #expect(redacted("<token>x</token>", "text/plain") == "<token>x</token>")
        let bytes = Data((0...255).map { UInt8($0) })
        #expect(Redaction.standard.applied(to: bytes, mediaType: "application/octet-stream") == bytes)
    }

    @Test(arguments: [
        ("<r><access_token>s3cret</access_token></r>", "<r><access_token>REDACTED</access_token></r>"),
        ("<a:Password x='1'>\n s3cret\n</a:Password>", "<a:Password x='1'>\n REDACTED\n</a:Password>"),
        ("<secret><![CDATA[s3<c>ret]]></secret>b", "<secret><![CDATA[REDACTED]]></secret>b"),
        ("<user api-key=\"s3cret\" id='1'/>s", "<user api-key=\"REDACTED\" id='1'/>s"),
        ("<meta name=\"csrf-token\" content=\"s3cret\">", "<meta name=\"csrf-token\" content=\"REDACTED\">"),
        ("<input value='s3cret' name=user[password]>", "<input value='REDACTED' name=user[password]>"),
        ("<INPUT TYPE=Password value=s3cret name=q>", "<INPUT TYPE=Password value=REDACTED name=q>"),
        ("<a token=s3cret id=1>b<i type=text value=c>", "<a token=REDACTED id=1>b<i type=text value=c>"),
        ("if(a<b&&token=shown())c>d", "if(a<b&&token=shown())c>d"),
        (
            "<input type=hidden name='user[password]' value='s3cret'>",
            "<input type=hidden name='user[password]' value='REDACTED'>"
        ),
        ("<token>s3cret", "<token>REDACTED"), ("<secret key='", "<secret key='"),
        ("<token/>a<token></token>", "<token/>a<token></token>"),
        ("<max_tokens>12</max_tokens><key>a</key><p>token</p>", "<max_tokens>12</max_tokens><key>a</key><p>token</p>"),
        ("a < b && c > d <", "a < b && c > d <"), ("<token", "<token"), ("", ""),
    ])
    func `XML and HTML have the values of listed elements and attributes redacted`(text: String, expected: String) {
        #expect(redacted(text, "application/xml") == expected)
        #expect(redacted(expected, "text/html; charset=utf-8") == expected)
    }

    @Test func `A multipart body has parts redacted by name, and others by type`() {
        func body(_ secret: String) -> String {
            """
            preamble
            --b
            Content-Disposition: form-data; name="password"

            \(secret)
            --b
            content-disposition: form-data; filename="a.json"; name=meta
            Content-Type: application/json

            {"token":"\(secret)","a":1}
            --b
            Content-Disposition: form-data; name="max_tokens"

            100
            --b
            Content-Disposition: form-data; name="text"

            password
            --b--
            epilogue
            """
        }
        for newline in ["\n", "\r\n"] {
            let text = redacted(body("s3cret").replacing("\n", with: newline), "multipart/form-data; boundary=\"b\"")
            #expect(text == body("REDACTED").replacing("\n", with: newline))
        }
        for broken in ["--b", "--b\r\n", "--b\nname=\"password\"\n\nx", "--b\n--b\n\n--b--", "--b\n\n\n\n--b\n\n--b--"]
        {
            #expect(redacted(broken, "multipart/form-data; boundary=b") == broken)
        }
    }

    @Test func `A part that is not text does not hide the secret in another part`() {
        var body = Data("--b\r\nContent-Type: image/png\r\n\r\n".utf8)
        body += Data([0xFF, 0, 0xFE])
        body += Data("\r\n--b\r\nContent-Disposition: form-data; name=api_key\r\n\r\ns3cret-s3cret\r\n--b--\r\n".utf8)
        let named = SecretRewriting(.standard, by: Pseudonyms())
            .applied(to: body, mediaType: "multipart/form-data; boundary=b")
        #expect(named.firstRange(of: Data("s3cret".utf8)) == nil)
        #expect(named.firstRange(of: Data("\r\n\r\n__key-1__\r\n--b".utf8)) != nil)
        #expect(named.firstRange(of: Data([0xFF, 0, 0xFE])) != nil)
    }

    @Test func `Content may be a slice`() {
        let slice = Data(#"xx{"token":"s3cret"}"#.utf8).dropFirst(2)
        let output = Redaction.standard.applied(to: slice, mediaType: "application/json")
        #expect(output == Data(#"{"token":"REDACTED"}"#.utf8))
    }
}
