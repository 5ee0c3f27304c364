import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9110, section 13, and RFC 9111, section 4.3.2.
@Suite struct PreconditionsTests {
    static let rows: [(stored: String, asked: String, areMet: Bool)] = [
        ("ETag: \"1\"", "", false), ("ETag: \"1\"", "If-None-Match: \"1\"", true),
        ("ETag: \"1\"", "If-None-Match: W/\"1\"", true), ("ETag: W/\"1\"", "If-None-Match: \"1\"", true),
        ("ETag: \"1\"", "If-None-Match: \"2\"", false), ("ETag: \"1\"", "If-None-Match: \"2\", \"1\"", true),
        ("ETag: \"1\"", "If-None-Match: \"2\" | If-None-Match: \"1\"", true),
        ("ETag: \"1,2\"", "If-None-Match: \"0\", \"1,2\"", true), ("ETag: \"1\"", "If-None-Match: *", true),
        ("ETag: \"1\"", "If-None-Match: \"*\"", false), ("", "If-None-Match: *", true),
        ("", "If-None-Match: \"1\"", false),
        ("", "If-None-Match: ", false), ("ETag: \"1\"", "If-None-Match: 1", false),
        // A date.
        (modified, "If-Modified-Since: Sun, 09 Sep 2001 01:45:00 GMT", true),
        (modified, "If-Modified-Since: Sun, 09 Sep 2001 01:45:01 GMT", true),
        (modified, "If-Modified-Since: Sun, 09 Sep 2001 01:44:59 GMT", false),
        (modified, "If-Modified-Since: Sunday, 09-Sep-01 01:45:00 GMT", true),
        (modified, "If-Modified-Since: yesterday", false),
        ("Date: Sun, 09 Sep 2001 01:45:00 GMT", "If-Modified-Since: Sun, 09 Sep 2001 01:45:00 GMT", true),
        ("Last-Modified: x", "If-Modified-Since: Sun, 09 Sep 2001 01:45:00 GMT", false),
        ("", "If-Modified-Since: Sun, 09 Sep 2001 01:45:00 GMT", false),
        // A tag takes precedence over a date.
        ("ETag: \"1\" | \(modified)", "If-None-Match: \"2\" | If-Modified-Since: Sun, 09 Sep 2001 01:45:00 GMT", false),
        ("ETag: \"1\" | \(modified)", "If-None-Match: \"1\" | If-Modified-Since: Sun, 09 Sep 2001 01:44:00 GMT", true),
    ]

    static let modified = "Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT"

    @Test(arguments: rows)
    func `A condition that the stored response meets is answered with 304`(stored: String, asked: String, areMet: Bool)
    {
        let fields = HTTPFields(lines: asked)
        #expect(Preconditions.areMet(fields, by: StoredPage.head(stored), at: StoredPage.date) == areMet)
        let missing = StoredPage.head(stored, status: 404)
        #expect(!Preconditions.areMet(fields, by: missing, at: StoredPage.date))
    }

    @Test func `A 304 has the fields of the stored response that do not describe its content`() {
        let stored = StoredPage.head(
            "Date: x | ETag: \"1\" | Vary: A | Cache-Control: max-age=5 | Expires: y | Content-Location: /z | "
                + "Content-Length: 10 | Content-Type: a | Content-Encoding: gzip | Content-Range: bytes 0-9/20")
        let head = Preconditions.notModified(stored)
        #expect(head.status == .notModified)
        let kept = "Date: x | ETag: \"1\" | Vary: A | Cache-Control: max-age=5 | Expires: y | Content-Location: /z"
        #expect(head.headerFields == HTTPFields(lines: kept))
    }
}
