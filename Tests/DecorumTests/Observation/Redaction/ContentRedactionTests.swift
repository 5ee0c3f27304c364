import Decorum
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
    func `A form loses the values of listed names`(form: String, expected: String) {
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

    @Test func `Without a media type only what is JSON is read as JSON`() {
        #expect(redacted(#"{"token":"s3cret"}"#, nil) == #"{"token":"REDACTED"}"#)
        #expect(redacted("[INFO] all is well", nil) == "[INFO] all is well")
    }

    @Test func `Other content stays as it is`() {
        #expect(redacted("<token>x</token>", "application/xml") == "<token>x</token>")
        let bytes = Data((0...255).map { UInt8($0) })
        #expect(Redaction.standard.applied(to: bytes, mediaType: "application/octet-stream") == bytes)
    }

    @Test func `No redaction leaves even broken JSON alone`() {
        #expect(redacted(#"{"token":"s3c"#, "application/json", by: .none) == #"{"token":"s3c"#)
    }

    @Test func `Content may be a slice`() {
        let slice = Data(#"xx{"token":"s3cret"}"#.utf8).dropFirst(2)
        let output = Redaction.standard.applied(to: slice, mediaType: "application/json")
        #expect(output == Data(#"{"token":"REDACTED"}"#.utf8))
    }
}
