import Decorum
import DecorumArchive
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct SecretNamesTests {
    private func json(_ text: String, naming pseudonyms: Pseudonyms? = nil) -> String {
        let data = Data(text.utf8)
        let redaction = Redaction.standard
        return String(
            decoding: pseudonyms.map {
                SecretRewriting(redaction, by: $0).applied(to: data, mediaType: "application/json")
            }
                ?? redaction.applied(to: data, mediaType: "application/json"), as: UTF8.self)
    }

    @Test(arguments: [
        "accessKey", "sessionCookie", "auth", "userToken", "oauth", "db_password", "GITHUB_TOKEN", "sasToken",
        "aws.secret", "clientCredentials", "x-my-api-key", "tokens", "device_tokens", "user[cookie]",
        "backend_token", "ipad_token", "videos_token",
    ])
    func `A text is secret if its name ends like that of a secret`(name: String) {
        #expect(json(#"{"\#(name)":"s3cret"}"#) == #"{"\#(name)":"REDACTED"}"#)
        for value in [#"["s3cret"]"#, #"{"value":"s3cret"}"#, #""s3cret""#] {
            #expect(!json(#"{"\#(name)":\#(value)}"#).contains("s3cret"))
            #expect(!json(#"{"\#(name)":\#(value)}"#, naming: Pseudonyms()).contains("s3cret"))
        }
        let url = "https://a.example/?\(name)=s3cret&a=1"
        #expect(Redaction.standard.applied(toURL: url) == "https://a.example/?\(name)=REDACTED&a=1")
    }

    @Test(arguments: [
        #"{"tokens_used":12,"max_tokens":1234567,"totalTokens":1.5,"auth":true,"oauth":null,"tokens":[]}"#,
        #"{"next_page_token":"a","pageToken":"b","nextToken":"c","continuation-token":"d","sync_token":"e"}"#,
        #"{"keyboard":"a","author":"b","key":"c","authority":"d","token_type":"bearer","secretary":"e","monkey":"f"}"#,
        #"{"end_token":"a","eosToken":"b","pad_token":"c"}"#,
    ])
    func `Numbers, cursors and other words stay`(text: String) {
        #expect(json(text, naming: Pseudonyms()) == text)
        #expect(json(text) == text.replacing("[]", with: "\"REDACTED\""))
    }

    @Test func `The numbers under a guessed name keep their values`() {
        let text = #"{"tokens":[1234567,"a1b2"],"userToken":7654321,"password":7654321}"#
        #expect(
            json(text, naming: Pseudonyms())
                == #"{"tokens":[1234567,"__token-1__"],"userToken":7654321,"password":1010101}"#)
    }

    @Test(arguments: [
        ("max_tokens=100&page_token=abc&auth=1", "max_tokens=100&page_token=abc&auth=REDACTED"),
        ("myToken=true&otherToken=abc", "myToken=true&otherToken=REDACTED"), ("session=abc", "session=REDACTED"),
        ("daemon_key=a&snapshot_key=b&arrow_key=c", "daemon_key=REDACTED&snapshot_key=REDACTED&arrow_key=REDACTED"),
        ("websiteKey=a&end_key=b&hotKey=c&monkey=d", "websiteKey=REDACTED&end_key=b&hotKey=c&monkey=d"),
        ("row_key=a&site-key=b", "row_key=a&site-key=b"),
    ])
    func `Values in queries count as texts or numbers by their form`(query: String, expected: String) {
        #expect(Redaction.standard.applied(toURL: "/?" + query) == "/?" + expected)
    }

    @Test(arguments: [
        ("X-Session", true), ("X-My-Token", true), ("X-Acme-Secret", true), ("X-Acme-Access-Key", true),
        ("X-Acme-Pass", true), ("X-Bypass", false), ("X-Sort-Key", false), ("X-Key-Pair-Id", false),
        ("Acme-Api-Key", true), ("Mcp-Session-Id", true), ("Idempotency-Key", false), ("Surrogate-Key", false),
        ("X-Continuation-Token", false), ("Sec-WebSocket-Key", false), ("X-Tokens-Left", false), ("ETag", false),
    ])
    func `A field is secret if its name ends like that of a secret`(name: String, isSecret: Bool) throws {
        let name = try #require(HTTPField.Name(name))
        #expect(Redaction.standard.applied(to: [name: "s3cret"])[name] == (isSecret ? "REDACTED" : "s3cret"))
        #expect(Redaction.none.applied(to: [name: "s3cret"])[name] == "s3cret")
    }

    @Test func `A set holds names and endings, which can be added and removed`() {
        var names: SecretNames = ["*_token", "pin"]
        #expect(names.contains("accessToken") && names.contains("TOKEN") && names.contains("user[x-token]"))
        #expect(!names.contains("tokens") && !names.contains("mypin") && !names.contains("page_token"))
        names.insert("page_token")
        #expect(names.contains("PageToken"))
        names.remove("*token")
        #expect(!names.contains("accessToken"))
        names.remove("pin")
        names.remove("page-token")
        #expect(names.isEmpty)
        #expect(SecretNames(["*a", "b"]) == SecretNames(["b", "*A"]))
        #expect(!SecretNames(["*"]).contains("a"))
    }

    @Test func `A pattern may have an ending too`() {
        let redaction = Redaction(jsonPaths: ["user.*_pin", #"\*raw"#], placeholder: "-")
        let text = Data(#"{"user":{"card_pin":"1","pin":2,"pins":3},"card_pin":"4","*raw":5,"raw":6}"#.utf8)
        let redacted = redaction.applied(to: text, mediaType: "application/json")
        #expect(
            String(decoding: redacted, as: UTF8.self)
                == #"{"user":{"card_pin":"-","pin":"-","pins":3},"card_pin":"4","*raw":"-","raw":6}"#)
    }
}
