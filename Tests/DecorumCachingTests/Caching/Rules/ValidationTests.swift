import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9111, section 4.3, and RFC 9110, sections 8.8.3 and 13.1.
@Suite struct ValidationTests {
    static let modified = "Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT"
    static let later = "Last-Modified: Sun, 09 Sep 2001 01:46:00 GMT"
    static let since = "If-Modified-Since: Sun, 09 Sep 2001 01:45:00 GMT"

    // MARK: Asking

    static let questions: [(stored: [String], asked: String, sent: String)] = [
        ([], "If-Modified-Since: x | If-None-Match: \"c\"", "If-Modified-Since: x | If-None-Match: \"c\""),
        (["ETag: \"1\""], "", "If-None-Match: \"1\""), (["ETag: W/\"1\""], "", "If-None-Match: W/\"1\""),
        ([modified], "", since), (["ETag: \"1\" | \(modified)"], "", "If-None-Match: \"1\" | \(since)"),
        (["ETag: \"1\"", "ETag: \"2\" | \(modified)"], "", "If-None-Match: \"1\", \"2\""),
        (["ETag: \"1\""], "If-None-Match: \"c\"", "If-None-Match: \"c\""),
        (["ETag: \"1\""], "If-None-Match: \"c\", W/\"1\"", "If-None-Match: \"c\", W/\"1\""),
        (
            ["ETag: \"1\" | \(modified)"], "If-None-Match: \"c\" | If-Modified-Since: x",
            "If-None-Match: \"c\" | If-Modified-Since: x"
        ),
        (["ETag: \"1\""], "If-Modified-Since: x", "If-None-Match: \"1\""),
        (["ETag: \"1\"", "ETag: \"2\""], "If-Modified-Since: x", "If-Modified-Since: x"),
        ([modified], "If-Modified-Since: x", since),
    ]

    @Test(arguments: questions)
    func `The request has the validators of the stored response, or of the caller`(
        stored: [String], asked: String, sent: String
    ) {
        var fields = HTTPFields(lines: asked)
        Validation.ask(about: stored.map { StoredPage.response($0) }, in: &fields)
        #expect(fields[.ifNoneMatch] == HTTPFields(lines: sent)[.ifNoneMatch])
        #expect(fields[.ifModifiedSince] == HTTPFields(lines: sent)[.ifModifiedSince])
    }

    static let questionsByDate: [(stored: String, sent: String)] = [
        ("Date: x", "If-Modified-Since: x"), ("Date: x | \(modified)", since),
        ("Date: x | ETag: \"1\"", "If-None-Match: \"1\""), ("A: 1", ""),
    ]

    @Test(arguments: questionsByDate)
    func `A date is asked about where a response has no validator, if the mode wants it`(stored: String, sent: String) {
        let isByDate = sent == "If-Modified-Since: x"
        for byDate in [true, false] {
            var fields = HTTPFields()
            Validation.ask(about: [StoredPage.response(stored)], in: &fields, byDate: byDate)
            #expect(fields == HTTPFields(lines: isByDate && !byDate ? "" : sent))
        }
    }

    @Test func `A date does not validate a variant that the request does not select`() {
        let stored = StoredPage.response("ETag: \"1\" | Vary: A | \(Self.modified)", to: "A: nl")
        var fields = HTTPFields(lines: "A: en")
        Validation.ask(about: [stored], in: &fields)
        #expect(fields == HTTPFields(lines: "A: en | If-None-Match: \"1\""))
    }

    static let otherCookies: [(stored: String, asked: String, sent: String)] = [
        ("ETag: \"1\" | \(modified)", "", "If-None-Match: \"1\""), ("ETag: W/\"1\" | \(modified)", "", ""),
        (modified, "", ""),
        ("ETag: \"1\"", "If-None-Match: \"c\"", "If-None-Match: \"c\""),
        ("ETag: \"1\"", "If-Modified-Since: x", "If-Modified-Since: x"),
        ("Cache-Control: public | ETag: W/\"1\" | \(modified)", "", "If-None-Match: W/\"1\" | \(since)"),
    ]

    @Test(arguments: otherCookies)
    func `A response for another cookie is asked about by its strong tag`(stored: String, asked: String, sent: String) {
        let response = StoredPage.response(stored, to: "Cookie: a=1")
        var fields = HTTPFields(lines: "Cookie: a=2 | \(asked)")
        Validation.ask(about: [response], in: &fields)
        #expect(fields == HTTPFields(lines: "Cookie: a=2 | \(sent)"))
    }

    static let answersForOtherCookies: [(stored: String, validation: String, asked: String, isConfirmed: Bool)] = [
        ("ETag: \"1\"", "ETag: \"1\"", "", true), ("ETag: \"1\"", "", "", true),
        ("ETag: \"1\"", "ETag: W/\"1\"", "", false),
        ("ETag: \"1\"", "ETag: \"2\"", "", false), ("ETag: \"1\" | \(modified)", modified, "", true),
        ("ETag: \"1\"", "", "If-None-Match: \"c\"", false), ("ETag: \"1\"", "", "If-Modified-Since: x", false),
        ("ETag: \"1\"", "ETag: \"1\"", "If-None-Match: \"1\"", true), ("ETag: W/\"1\"", "ETag: W/\"1\"", "", false),
        (modified, modified, "", false), ("", "", "", false),
        ("Cache-Control: public | ETag: W/\"1\"", "ETag: W/\"1\"", "", true),
    ]

    @Test(arguments: answersForOtherCookies)
    func `A 304 confirms a response for another cookie only by a strong tag`(
        stored: String, validation: String, asked: String, isConfirmed: Bool
    ) {
        let confirmed = Validation.confirmed(
            by: StoredPage.head(validation, status: 304), among: [StoredPage.response(stored, to: "Cookie: a=1")],
            for: StoredPage.request("Cookie: a=2 | \(asked)"))
        #expect((confirmed != nil) == isConfirmed)
    }

    // MARK: Confirming

    static let confirmations: [(stored: String, validation: String, isConfirmed: Bool)] = [
        ("ETag: \"1\"", "ETag: \"1\"", true), ("ETag: \"1\"", "ETag: \"2\"", false), ("ETag: \"1\"", "", true),
        ("ETag: \"1\"", "ETag: W/\"1\"", true), ("ETag: W/\"1\"", "ETag: W/\"1\"", true),
        ("ETag: W/\"1\"", "ETag: \"1\"", true), ("ETag: W/\"1\"", "ETag: W/\"2\"", false),
        ("ETag: \"1\" | \(modified)", "ETag: \"1\" | \(later)", true),
        ("ETag: \"1\" | \(modified)", "ETag: \"2\" | \(modified)", false),
        ("ETag: \"1\" | \(modified)", later, false), ("ETag: \"1\" | \(modified)", modified, true),
        (modified, modified, true), (modified, later, false), (modified, "", true),
        // A strong tag confirms only content with that tag (RFC 9111, section 4.3.4).
        (modified, "ETag: \"1\"", false), (modified, "ETag: \"1\" | \(modified)", false),
        (modified, "ETag: W/\"1\"", true), (modified, "ETag: W/\"1\" | \(later)", false),
    ]

    @Test(arguments: confirmations)
    func `A 304 confirms the response that was validated`(stored: String, validation: String, isConfirmed: Bool) {
        let confirmed = Validation.confirmed(
            by: StoredPage.head(validation, status: 304), among: [StoredPage.response(stored)],
            for: StoredPage.request())
        #expect((confirmed != nil) == isConfirmed)
    }

    static let variants: [(validation: String, confirmed: String?)] = [
        ("ETag: \"nl\"", "\"nl\""), ("ETag: \"fr\"", "\"fr\""), ("ETag: W/\"nl\"", nil), ("ETag: \"x\"", nil),
        ("ETag: W/\"x\"", nil), ("ETag: \"de\"", nil), ("", nil), (modified, nil),
    ]

    @Test(arguments: variants)
    func `Of several variants only a strong tag confirms one`(validation: String, confirmed: String?) {
        let stored = [
            StoredPage.response("ETag: W/\"x\" | Vary: A | \(Self.modified)", to: "A: x"),
            StoredPage.response("ETag: \"nl\" | Vary: A | \(Self.modified)", to: "A: nl"),
            StoredPage.response("ETag: \"fr\" | Vary: A | \(Self.modified)", to: "A: fr"),
        ]
        let found = Validation.confirmed(
            by: StoredPage.head(validation, status: 304), among: stored, for: StoredPage.request("A: en"))
        #expect(found?.head.headerFields[.eTag] == confirmed)
    }

    static let mismatches: [(stored: String, validation: String, isConfirmed: Bool)] = [
        ("ETag: \"1\" | \(modified)", "ETag: \"1\"", true), ("ETag: \"1\" | \(modified)", modified, false),
        ("ETag: \"1\" | \(modified)", "", false), ("ETag: \"1\" | \(modified)", "ETag: W/\"1\"", false),
        ("ETag: W/\"1\"", "ETag: W/\"1\"", false), ("ETag: W/\"1\"", "ETag: \"1\"", false), (modified, modified, false),
        (modified, "", false),
    ]

    @Test(arguments: mismatches)
    func `A single variant that is not selected is confirmed only by its strong tag`(
        stored: String, validation: String, isConfirmed: Bool
    ) {
        let dutch = StoredPage.response("Vary: A | \(stored)", to: "A: nl")
        let confirmed = Validation.confirmed(
            by: StoredPage.head(validation, status: 304), among: [dutch], for: StoredPage.request("A: en"))
        #expect((confirmed != nil) == isConfirmed)
    }

    @Test func `A 304 that may mean the caller's own tag confirms only the tag of a stored response`() {
        let request = StoredPage.request("If-None-Match: \"2\"")
        for stored in [StoredPage.response("ETag: \"1\""), StoredPage.response(Self.modified)] {
            for validation in ["", Self.modified, "ETag: \"2\""] {
                let head = StoredPage.head(validation, status: 304)
                #expect(Validation.confirmed(by: head, among: [stored], for: request) == nil)
            }
        }
        let same = StoredPage.head("ETag: \"1\"", status: 304)
        #expect(Validation.confirmed(by: same, among: [StoredPage.response("ETag: \"1\"")], for: request) != nil)
    }

    // MARK: Refreshing

    static let refreshed: [(stored: String, update: String, fields: String)] = [
        ("A: 1 | B: 2", "B: 3 | C: 4", "A: 1 | B: 3 | C: 4"), ("A: 1 | A: 2", "A: 3", "A: 3"),
        ("A: 1", "A: 2 | A: 3", "A: 2 | A: 3"), ("A: 1", "", "A: 1"),
        // Fields that describe the stored content.
        (
            "Content-Type: a | Content-Length: 10", "Content-Type: b | Content-Length: 0",
            "Content-Type: a | Content-Length: 10"
        ),
        ("Content-Encoding: gzip", "Content-Encoding: br | Content-Range: bytes 0-1/2", "Content-Encoding: gzip"),
        ("ETag: W/\"1\"", "ETag: \"1\"", "ETag: W/\"1\""), ("A: 1", "ETag: \"1\"", "A: 1"),
        ("A: 1", "ETag: W/\"1\"", "A: 1"),
        // Fields of the connection.
        ("A: 1", "Connection: A | A: 2 | Keep-Alive: x | Transfer-Encoding: chunked", "A: 1"),
        // Fields of the message.
        ("Set-Cookie: a=1 | A: 1", "", "A: 1"), ("Set-Cookie: a=1", "Set-Cookie: a=2", "Set-Cookie: a=2"),
        ("Set-Cookie: a=1", "Set-Cookie: a=1", "Set-Cookie: a=1"),
        ("ETag: \"1\" | Age: 500 | Date: x", "", "ETag: \"1\""), ("Age: 500 | Date: x | A: 1", "", "Date: x | A: 1"),
        ("Age: 500 | Date: x", "Age: 5 | Date: y", "Age: 5 | Date: y"),
        ("Age: 500 | Date: x", "Date: y", "Date: y"),
    ]

    @Test(arguments: refreshed)
    func `The fields of a 304 replace the stored ones`(stored: String, update: String, fields: String) {
        let head = Validation.freshened(StoredPage.head(stored), with: HTTPFields(lines: update))
        #expect(head.status == .ok)
        #expect(head.headerFields == HTTPFields(lines: fields))
    }

    static let updates: [(stored: String, head: String, isUpdate: Bool)] = [
        ("", "", true), ("ETag: \"1\"", "ETag: \"1\"", true), ("ETag: \"1\"", "", true),
        ("ETag: \"1\"", "ETag: \"2\"", false),
        ("", "ETag: \"1\"", false), (modified, modified, true), (modified, later, false),
        ("", "Content-Length: 10", true),
        ("", "Content-Length: 11", false), ("", "Content-Length: x", true),
        ("ETag: \"1\"", "ETag: \"1\" | Content-Length: 0", false),
    ]

    @Test(arguments: updates)
    func `A response to HEAD matches the stored one unless a validator or the length differs`(
        stored: String, head: String, isUpdate: Bool
    ) {
        let effect = Validation.effect(ofHead: StoredPage.head(head), on: StoredPage.response(stored))
        #expect(effect == (isUpdate ? .refreshed : .forgotten))
    }

    static let effects: [(stored: Int, head: Int, effect: Validation.HeadEffect)] = [
        (200, 200, .refreshed), (200, 404, .forgotten), (200, 410, .forgotten), (206, 404, .forgotten),
        (404, 200, .forgotten), (301, 200, .forgotten), (404, 410, .forgotten), (206, 200, .none), (404, 404, .none),
        (200, 304, .none), (200, 301, .none), (200, 403, .none), (200, 405, .none), (200, 500, .none),
        (200, 503, .none),
    ]

    @Test(arguments: effects)
    func `A response to HEAD with another status invalidates the stored one`(
        stored: Int, head: Int, effect: Validation.HeadEffect
    ) {
        let response = StoredPage.response("Content-Range: bytes 0-9/20", status: stored)
        #expect(Validation.effect(ofHead: StoredPage.head(status: head), on: response) == effect)
    }
}

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
