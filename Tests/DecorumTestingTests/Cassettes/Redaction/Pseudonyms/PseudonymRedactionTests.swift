import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct PseudonymRedactionTests {
    private let pseudonyms = Pseudonyms()

    private var rewriting: SecretRewriting { SecretRewriting(.standard, by: pseudonyms) }

    /// Makes a secret known by a field.
    private func learn(_ secret: String) { _ = fields([.authorization: secret]) }

    private func url(_ url: String) -> String {
        rewriting.applied(toURL: url)
    }

    private func fields(_ fields: HTTPFields) -> HTTPFields {
        rewriting.applied(to: fields)
    }

    private func json(_ json: String, mediaType: String? = "application/json") -> String {
        let data = rewriting.applied(to: Data(json.utf8), mediaType: mediaType)
        return String(decoding: data, as: UTF8.self)
    }

    @Test func `A secret has the same pseudonym in JSON, URL, form, cookie and field`() {
        #expect(json(#"{"access_token":"aB+c\/d=="}"#) == #"{"access_token":"Xq1AAA=="}"#)
        #expect(url("/feed?token=aB%2Bc%2fd%3D%3D&page=2") == "/feed?token=Xq1AAA%3D%3D&page=2")
        #expect(
            json("password=aB%2Bc%2Fd%3D%3D&a=b", mediaType: "application/x-www-form-urlencoded")
                == "password=Xq1AAA%3D%3D&a=b")
        #expect(fields([.authorization: "Bearer aB+c/d=="]) == [.authorization: "Bearer Xq1AAA=="])
        #expect(fields([.cookie: "sid=aB%2Bc/d==; lang=de"]) == [.cookie: "sid=Xq1AAA%3D%3D; lang=de"])
        #expect(json(#"{"authorization":"Bearer aB+c/d=="}"#) == #"{"authorization":"Bearer Xq1AAA=="}"#)
    }

    @Test(arguments: [
        ("Bearer abc", "Bearer __credentials-1__"), ("Basic bWU6czNjcmV0", "Basic __credentials-1__"),
        ("Digest username=\"me\", response=\"s3cret\"", "Digest __credentials-1__"),
        ("s3cret", "__credentials-1__"), ("", ""), ("Bearer", "__credentials-1__"),
        ("Bearer  __token-4__", "Bearer  __token-4__"), ("Bearer REDACTED", "Bearer REDACTED"),
    ])
    func `The scheme of credentials stays`(value: String, expected: String) {
        #expect(fields([.authorization: value]) == [.authorization: expected])
    }

    @Test(arguments: [
        ("sid=s3cret; Path=/; HttpOnly", "sid=__cookie-1__; Path=/; HttpOnly"),
        ("sid=; Max-Age=0", "sid=; Max-Age=0"), ("sid=\"s3cret\"; Path=/", "sid=\"__cookie-1__\"; Path=/"),
        ("sid=\"\"", "sid=\"\""), ("s3cret", "__cookie-1__"),
        (
            "a=one1; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=two2; Path=/",
            "a=__cookie-1__; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=__cookie-2__; Path=/"
        ),
    ])
    func `Only the value of a cookie in Set-Cookie is secret`(value: String, expected: String) {
        #expect(fields([.setCookie: value]) == [.setCookie: expected])
    }

    @Test func `Each sent cookie keeps its name, and an empty value stays empty`() {
        #expect(
            fields([.cookie: "session=s3cret-ab1cd2e; theme=;csrf=s3cret-zz1cd2e ; alone"])
                == [.cookie: "session=__cookie-1__; theme=;csrf=__cookie-2__ ; alone"])
    }

    @Test func `Values of JSON keep their type`() {
        let text = #"{"token":null,"secret":{"a":"one two","n":1234567,"b":[true,"",12]},"otp":123456,"id":1234567}"#
        let expected =
            #"{"token":null,"secret":{"a":"__secret-1__","n":1010101,"b":[true,"",12]},"otp":101001,"id":1234567}"#

        #expect(json(text) == expected)
    }

    @Test(arguments: [
        (#"{"password":"s3cret","a":[1,"#, #"{"password":"__password-1__","a":[1,"#),
        (#"{"a":1,"password":"s3cr"#, #"{"a":1,"password":"__password-1__"#),
        (#"callback({"token" : "s3cret", "page": 1});"#, #"callback({"token" : "__token-1__", "page": 1});"#),
        (#")]}',{"token":"s3cret"}"#, #")]}',{"token":"__token-1__"}"#),
        ("Not found", "Not found"), ("{'token': 1}", "{'token': 1}"), (#"{"token":"#, #"{"token":"#),
        (#"{"password":"\"#, #"{"password":"__password-1__"#),
        (#"{"password":"a\u00"#, #"{"password":"__password-1__"#),
    ])
    func `Unreadable content is unchanged except for known secrets`(text: String, expected: String) {
        #expect(json(text) == expected)
        #expect(json(expected) == expected)
    }

    @Test func `Text is unchanged except for secrets in links and known secrets`() {
        let page = #"<a href="/reset?token=s3cret-s3cret">a</a> <script>if(a?b:c.token=d)f()</script> s3cret-s3cret"#
        let expected =
            #"<a href="/reset?token=__token-1__">a</a> <script>if(a?b:c.token=d)f()</script> __token-1__"#

        #expect(json(page, mediaType: "text/html") == expected)
        #expect(
            json("https://a.example/?token=one1\nhttps://a.example/?page=2", mediaType: "text/plain")
                == "https://a.example/?token=__token-2__\nhttps://a.example/?page=2")
    }

    @Test func `A long known secret is replaced at places that no name marks`() {
        learn("123456:ABC-DEF1234")
        learn("short")

        #expect(url("/bot123456:ABC-DEF1234/getMe") == "/bot__credentials-1__/getMe")
        #expect(url("/bot123456%3AABC-DEF1234/getMe") == "/bot__credentials-1__/getMe")
        #expect(json(#"{"echo":"[123456:ABC-DEF1234]"}"#) == #"{"echo":"[__credentials-1__]"}"#)
        #expect(url("/short") == "/short")
    }

    @Test func `The user name and password of a URL are redacted`() {
        #expect(url("https://me:pw@a.example/of") == "https://__credentials-1__@a.example/of")
    }

    @Test func `A number with a known secret's digits does not break JSON`() {
        learn("1234567890123456")

        #expect(json(#"{"id":1234567890123456}"#) == #"{"id":1234567890123456}"#)
    }

    @Test func `Content that is not text stays`() {
        learn("s3cret-s3cret")
        let data = Data([0xFF, 0]) + Data("s3cret-s3cret".utf8)

        #expect(rewriting.applied(to: data, mediaType: "image/png") == data)
    }

    @Test func `Redacting twice changes nothing more`() async {
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
                let rewriting = SecretRewriting(.standard, by: Pseudonyms())
                let once = rewriting.applied(to: Data(text.utf8), mediaType: mediaType)
                let twice = rewriting.applied(to: once, mediaType: mediaType)
                let anew = SecretRewriting(.standard, by: Pseudonyms()).applied(to: once, mediaType: mediaType)
                #expect(String(decoding: twice, as: UTF8.self) == String(decoding: once, as: UTF8.self), "\(text)")
                // Short placeholders may as well be secrets, and get others of their length.
                #expect(anew.count == once.count, "\(text)")
            }
        }
    }
}
