import Decorum
import Foundation
import HTTPTypes
import Testing

@Suite struct OriginTests {
    @Test(arguments: [
        ("https://example.com", "https://EXAMPLE.com:443/", true),
        ("http://example.com", "http://example.com:80", true),
        ("http://example.com", "https://example.com", false),
        ("https://example.com", "https://example.com:8443", false),
        ("https://example.com", "https://www.example.com", false),
        ("https://example.com", "https://example.com.evil.example", false),
        ("http://[::1]:80", "http://[::1]", true),
        ("http://example.com:", "http://example.com", true),
    ]) func `Origins are equal if scheme, host and port are equal`(one: String, other: String, same: Bool) throws {
        #expect(try (Origin(one) == Origin(other)) == same)
    }

    @Test func `The port is shown if it is not the default`() throws {
        #expect(try Origin("http://Example.com").description == "http://example.com")
        #expect(try Origin("http://example.com:443").description == "http://example.com:443")
        #expect(try Origin(scheme: "https", host: "[::1]", port: 1).authority == "[::1]:1")
    }

    @Test(
        arguments: [
            ("http", "", nil), ("ftp", "a", nil), ("http", "a", -1), ("http", "a", 65_536), ("http", "a b", nil),
            ("http", "a/b", nil), ("http", "u@a", nil), ("http", "a\r\n", nil),
            ("http", "a:1", nil), ("http", "::1", nil), ("http", "[]", nil), ("http", "[::1]x", nil),
            ("http", "[::1", nil), ("http", "a<b", nil), ("http", "a\"b", nil), ("http", "a%2eb", nil),
            ("http", "b\u{FC}cher.example", nil),
            // The Kelvin sign becomes a `k` in lower case.
            ("http", "\u{212A}ing.example", nil),
        ] as [(String, String, Int?)]) func `Invalid parts of an origin throw`(scheme: String, host: String, port: Int?)
    {
        #expect(throws: InvalidRequestError.self) { try Origin(scheme: scheme, host: host, port: port) }
    }

    @Test(arguments: ["", "example.com", "/path", "https:", "https://u:p@example.com"])
    func `Text that is not an absolute URL throws`(url: String) {
        #expect(throws: InvalidRequestError.self) { try Origin(url) }
    }

    @Test(arguments: ["/path", "/?key=s3cret", "?key=s3cret", "/#s3cret", "//"])
    func `The origin of a whole URL is that in front of its path`(rest: String) throws {
        let text = "https://example.com:8443" + rest
        #expect(try Origin(text).description == "https://example.com:8443")
        let url = try #require(URL(string: text))
        #expect(try Origin(url) == Origin("https://example.com:8443"))
    }
}
