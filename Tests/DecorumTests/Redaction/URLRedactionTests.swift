import Decorum
import DecorumTestSupport
import Foundation
import Testing

@Suite struct URLRedactionTests {
    @Test(arguments: [
        ("https://a.example/feed?page=2&token=s3cret#top", "https://a.example/feed?page=2&token=REDACTED#top"),
        ("/feed?access_token=s3cret&page=2", "/feed?access_token=REDACTED&page=2"),
        ("/feed?ACCESS-Token=s3cret", "/feed?ACCESS-Token=REDACTED"),
        ("/feed?accessToken=s3cret", "/feed?accessToken=REDACTED"),
        ("/feed?t%6Fken=s3cret", "/feed?t%6Fken=REDACTED"),
        ("/feed?%74%6f%6b%65%6e=s3cret", "/feed?%74%6f%6b%65%6e=REDACTED"),
        ("/feed?user[password]=s3cret", "/feed?user[password]=REDACTED"),
        ("/feed?user%5Bpassword%5D=s3cret", "/feed?user%5Bpassword%5D=REDACTED"),
        ("/feed?a=1;token=s3cret", "/feed?a=1;token=REDACTED"),
        ("/feed?token=s3;cret?s3#f", "/feed?token=REDACTED#f"),
        ("/feed?token=s3=cret&b=2", "/feed?token=REDACTED&b=2"),
        ("/feed?token=a&token=b", "/feed?token=REDACTED&token=REDACTED"),
        ("/o?X-Amz-Signature=s&X-Amz-Expires=9", "/o?X-Amz-Signature=REDACTED&X-Amz-Expires=9"),
        ("/o?AWSAccessKeyId=s&Signature=t", "/o?AWSAccessKeyId=REDACTED&Signature=REDACTED"),
        ("/feed;jsessionid=s3cret/x?y=1", "/feed;jsessionid=REDACTED/x?y=1"),
        ("https://me:s3cret@a.example/", "https://REDACTED@a.example/"),
        ("https://s3cret@a.example", "https://REDACTED@a.example"),
        ("https://me:s3@cret@a.example/@x", "https://REDACTED@a.example/@x"),
        ("https://me:s3/cret?s3cret@a.example/", "https://REDACTED@a.example/"),
        ("https://b.example:80/?u=https://me:s3cret@a.example", "https://b.example:80/?u=https://REDACTED@a.example"),
        ("//me:s3cret@a.example/", "//REDACTED@a.example/"),
        ("https://a.example/cb#access_token=s3cret&state=1", "https://a.example/cb#access_token=REDACTED&state=1"),
        ("https://a.example/#/cb?token=s3cret", "https://a.example/#/cb?token=REDACTED"),
        ("/login?next=https://me:s3cret@b.example/", "/login?next=https://REDACTED@b.example/"),
        ("/login?next=https%3A%2F%2Fb.example%2F%3Ftoken%3Ds3cret&x=1", "/login?next=REDACTED&x=1"),
        ("/login?next=https%3A%2F%2Fme%3As3cret%40b.example", "/login?next=REDACTED"),
        ("/login?next=%252Fx%253Ftoken%253Ds3cret", "/login?next=REDACTED"),
        ("/hook?payload=%7B%22password%22%3A%22s3cret%22%7D", "/hook?payload=REDACTED"),
        ("/hook?payload={\"password\":\"s3cret\"}", "/hook?payload=REDACTED"),
    ])
    func `Secrets are replaced and the rest stays`(url: String, expected: String) {
        #expect(Redaction.standard.applied(toURL: url) == expected)
        #expect(Redaction.standard.applied(toURL: expected) == expected)
    }

    @Test(arguments: [
        "", "/", "?", "#", "&&&", "*", "/feed?page=2&sort=name", "/feed?token", "//a.example//@scope/x", "/tokens/1",
        "https://a.example:8080/a/b;c=d?e=%zz&f=%", "/feed?tokenizer=bpe", "/p%C3%A4th?q=100%25+sure", "mailto:a@b.c",
        "https://a.example/@x", "https://a.example:8080/@x", "https://[::1]/@x", "https://[::1]:80/@x", "https://@x",
        "://",
    ])
    func `A URL without secrets stays as it is`(url: String) {
        #expect(Redaction.standard.applied(toURL: url) == url)
    }

    @Test func `Names are added and removed by value`() {
        var redaction = Redaction.standard
        redaction.queryItems.insert("Invitation_Id")
        redaction.queryItems.remove("code")

        #expect(redaction.applied(toURL: "/?invitationId=1&code=2") == "/?invitationId=REDACTED&code=2")
        #expect(Redaction.standard.applied(toURL: "/?invitationId=1&code=2") == "/?invitationId=1&code=REDACTED")
        #expect(redaction != .standard)
    }

    @Test func `A placeholder is percent-encoded`() {
        var redaction = Redaction.standard
        redaction.placeholder = "[x&y]"
        #expect(redaction.applied(toURL: "/?token=1&a=2") == "/?token=%5Bx%26y%5D&a=2")
    }

    @Test func `Hostile URLs neither crash nor leak`() {
        let generator = SeededGenerator(seed: 7)
        let alphabet = Array("?&;#=/%@:+[].{\"\\2F5B token".utf8)
        for _ in 0..<2_000 {
            let length = Int(generator.next() % 40)
            let noise = String(
                decoding: (0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] },
                as: UTF8.self)
            let url = "/" + noise + "&token=s3cret"
            #expect(!Redaction.standard.applied(toURL: url).contains("s3cret"), "\(url)")
            _ = Redaction.standard.applied(toURL: noise)
        }
    }
}
