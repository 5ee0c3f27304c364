import Decorum
import DecorumArchive
import Foundation
import HTTPTypes
import Testing

@Suite struct PseudonymRedactionTests {
    private let pseudonyms = Pseudonyms()

    private func url(_ url: String) -> String {
        Redaction.standard.applied(toURL: url, naming: pseudonyms)
    }

    private func fields(_ fields: HTTPFields) -> HTTPFields {
        Redaction.standard.applied(to: fields, naming: pseudonyms)
    }

    private func json(_ json: String, mediaType: String? = "application/json") -> String {
        let data = Redaction.standard.applied(to: Data(json.utf8), mediaType: mediaType, naming: pseudonyms)
        return String(decoding: data, as: UTF8.self)
    }

    @Test func `A secret reads the same in JSON, URL, form, cookie and field`() {
        #expect(json(#"{"access_token":"aB+c\/d=="}"#) == #"{"access_token":"__access-token-1__"}"#)
        #expect(url("/feed?token=aB%2Bc%2fd%3D%3D&page=2") == "/feed?token=__access-token-1__&page=2")
        #expect(
            json("password=aB%2Bc%2Fd%3D%3D&a=b", mediaType: "application/x-www-form-urlencoded")
                == "password=__access-token-1__&a=b")
        #expect(fields([.authorization: "Bearer aB+c/d=="]) == [.authorization: "Bearer __access-token-1__"])
        #expect(fields([.cookie: "sid=aB%2Bc/d==; lang=de"]) == [.cookie: "sid=__access-token-1__; lang=__lang-1__"])
        #expect(json(#"{"authorization":"Bearer aB+c/d=="}"#) == #"{"authorization":"Bearer __access-token-1__"}"#)
    }

    @Test(arguments: [
        ("Bearer abc", "Bearer __authorization-1__"), ("Basic bWU6czNjcmV0", "Basic __authorization-1__"),
        ("Digest username=\"me\", response=\"s3cret\"", "Digest __authorization-1__"),
        ("s3cret", "__authorization-1__"), ("", ""), ("Bearer", "__authorization-1__"),
        ("Bearer  __token-4__", "Bearer  __token-4__"), ("Bearer REDACTED", "Bearer REDACTED"),
    ])
    func `The scheme of credentials stays`(value: String, expected: String) {
        #expect(fields([.authorization: value]) == [.authorization: expected])
    }

    @Test(arguments: [
        ("sid=s3cret; Path=/; HttpOnly", "sid=__sid-1__; Path=/; HttpOnly"),
        ("sid=; Max-Age=0", "sid=; Max-Age=0"), ("sid=\"s3cret\"; Path=/", "sid=\"__sid-1__\"; Path=/"),
        ("sid=\"\"", "sid=\"\""), ("s3cret", "__cookie-1__"),
        (
            "a=one; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=two; Path=/",
            "a=__a-1__; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=__b-1__; Path=/"
        ),
    ])
    func `Of a cookie that is set, the value alone is secret`(value: String, expected: String) {
        #expect(fields([.setCookie: value]) == [.setCookie: expected])
    }

    @Test func `Each cookie that is sent has a name, and what is empty stays empty`() {
        #expect(
            fields([.cookie: "session=s3cret-one; theme=;csrf=s3cret-two ; alone"])
                == [.cookie: "session=__session-1__; theme=;csrf=__csrf-1__ ; __cookie-1__"])
    }

    @Test func `Values of JSON keep their type`() {
        let text = #"{"token":null,"secret":{"a":"one two","n":1234567,"b":[true,"",12]},"otp":123456,"id":1234567}"#
        let expected = #"{"token":null,"secret":{"a":"__secret-1__","n":0,"b":[true,"",12]},"otp":0,"id":1234567}"#

        #expect(json(text) == expected)
    }

    @Test(arguments: [
        (#"{"password":"s3cret","a":[1,"#, #"{"password":"__password-1__","a":[1,"#),
        (#"{"a":1,"password":"s3cr"#, #"{"a":1,"password":"__password-1__"#),
        (#"callback({"token" : "s3cret", "page": 1});"#, #"callback({"token" : "__token-1__", "page": 1});"#),
        (#")]}',{"token":"s3cret"}"#, #")]}',{"token":"__token-1__"}"#),
        ("Not found", "Not found"), ("{'token': 1}", "{'token': 1}"), (#"{"token":"#, #"{"token":"#),
        (#"{"token":"\"#, #"{"token":"__token-1__"#), (#"{"token":"a\u00"#, #"{"token":"__token-1__"#),
    ])
    func `What cannot be read stays but for the secrets in it`(text: String, expected: String) {
        #expect(json(text) == expected)
        #expect(json(expected) == expected)
    }

    @Test func `Text keeps everything but its links' secrets and the known ones`() {
        let page = #"<a href="/reset?token=s3cret-s3cret">a</a> <script>if(a?b:c.token=d)f()</script> s3cret-s3cret"#
        let expected = #"<a href="/reset?token=__token-1__">a</a> <script>if(a?b:c.token=d)f()</script> __token-1__"#

        #expect(json(page, mediaType: "text/html") == expected)
        #expect(
            json("https://a.example/?token=one\nhttps://a.example/?page=2", mediaType: "text/plain")
                == "https://a.example/?token=__token-2__\nhttps://a.example/?page=2")
    }

    @Test func `A known secret is replaced where no name marks it, if it is long`() {
        pseudonyms.learn("123456:ABC-DEF1234", named: "BOT_TOKEN")
        pseudonyms.learn("short", named: "pin")

        #expect(url("/bot123456:ABC-DEF1234/getMe") == "/bot__bot-token-1__/getMe")
        #expect(url("/bot123456%3AABC-DEF1234/getMe") == "/bot__bot-token-1__/getMe")
        #expect(json(#"{"echo":"[123456:ABC-DEF1234]"}"#) == #"{"echo":"[__bot-token-1__]"}"#)
        #expect(url("/short") == "/short")
    }

    @Test func `A head is redacted by what its fields make known too`() {
        let head = HTTPRequest(
            method: .get, scheme: "https", authority: "me:pw@a.example", path: "/of/s3cret-s3cret/x",
            headerFields: [.authorization: "Bearer s3cret-s3cret", .accept: "*/*"])
        let redacted = Redaction.standard.applied(to: head, naming: pseudonyms)

        #expect(redacted.path == "/of/__authorization-1__/x")
        #expect(redacted.authority == "__userinfo-1__@a.example")
        #expect(redacted.headerFields == [.authorization: "Bearer __authorization-1__", .accept: "*/*"])
        #expect(Redaction.standard.applied(to: redacted, naming: Pseudonyms()) == redacted)
    }

    @Test func `A number with a known secret's digits does not break JSON`() {
        pseudonyms.learn("1234567890123456", named: "card")

        #expect(json(#"{"id":1234567890123456}"#) == #"{"id":1234567890123456}"#)
    }

    @Test func `Content that is no text stays`() {
        pseudonyms.learn("s3cret-s3cret", named: "key")
        let data = Data([0xFF, 0]) + Data("s3cret-s3cret".utf8)

        #expect(Redaction.standard.applied(to: data, mediaType: "image/png", naming: pseudonyms) == data)
    }

    @Test func `What is redacted stays as it is`() async {
        let generator = SeededGenerator(seed: 7)
        let words = [
            "{", "}", "[", "]", "\"", ":", ",", "token", "\"password\":", "authorization", "?", "&", "=", "/", "//",
            "https://a.example/", "@", "%22", "%7B", "\\", "\\u00", "Bearer ", " ", "one-long-s3cret", "x", "12345678",
            "__token-1__", "__", "-", "1", "null", "#", ";", "é", "\"cookie\"", "\n", "token-1__token-1",
        ]
        for _ in 0..<(Footprint.isSoak ? 10_000 : 1000) {
            await Task.yield()
            let text = (0..<1 + generator.next() % 24)
                .map { _ in words[Int(generator.next() % UInt64(words.count))] }.joined()
            for mediaType in ["application/json", "text/plain", "application/x-www-form-urlencoded"] {
                let pseudonyms = Pseudonyms()
                let once = Redaction.standard.applied(to: Data(text.utf8), mediaType: mediaType, naming: pseudonyms)
                let twice = Redaction.standard.applied(to: once, mediaType: mediaType, naming: pseudonyms)
                let anew = Redaction.standard.applied(to: once, mediaType: mediaType, naming: Pseudonyms())
                #expect(String(decoding: twice, as: UTF8.self) == String(decoding: once, as: UTF8.self), "\(text)")
                #expect(String(decoding: anew, as: UTF8.self) == String(decoding: once, as: UTF8.self), "\(text)")
            }
        }
    }
}
