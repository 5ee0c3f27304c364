import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9111, section 4.1, and RFC 9110, section 12.5.
@Suite struct SelectingFieldsTests {
    static let rows: [(vary: String, stored: String, asked: String, isSelected: Bool)] = [
        ("", "A: 1", "A: 2", true), ("*", "", "", false), ("A, *", "A: 1", "A: 1", false),
        ("A", "", "", true), ("A", "A: 1", "A: 1", true), ("a", "A: 1", "a: 1", true), ("A", "A: 1", "A: 2", false),
        ("A", "A: 1", "", false), ("A", "", "A: 1", false), ("A", "", "A: ", false), ("A", "A: x", "A: X", false),
        ("A, B", "A: 1 | B: 2", "B: 2 | A: 1", true), ("A, B", "A: 1 | B: 2", "A: 1 | B: 3", false),
        ("A", "A: 1 | B: 2", "A: 1 | B: 3", true),
        // A field on several lines is one list. White space counts only where it may be a part of a value.
        ("A", "A: 1, 2", "A: 1 | A: 2", true), ("A", "A: 2 | A: 1", "A: 1 | A: 2", false),
        ("A", "A: 1,2", "A: 1, 2", true), ("A", "A: 1 \t,\t2", "A: 1 | A: 2", true), ("A", "A: 1,,2", "A: 1,2", false),
        ("A", "A: 1, 2", "A: 12", false), ("A", "A: 1 2", "A: 1  2", false), ("A", "A: 1 2, 3", "A: 1 2,3", true),
        ("A", "A: \"1, 2\"", "A: \"1,2\"", false), ("A", "A: \"1, 2\" ,3", "A: \"1, 2\", 3", true),
        ("A", "A: \"\\\", 2\"", "A: \"\\\",2\"", false), ("A", "A: \"1, 2", "A: \"1,2", false),
        ("A", "A: \"1,\", 2", "A: \"1,\",2", true), ("A", "A: ,", "A: , ", true), ("A", "A: ,", "A: ,,", false),
        ("Cookie", "Cookie: a=1; b=2", "Cookie: a=1 | Cookie: b=2", true),
        // A field that is known to be a list.
        ("Accept-Encoding", "Accept-Encoding: gzip, br", "Accept-Encoding: gzip,br", true),
        ("Accept-Encoding", "Accept-Encoding: gzip, br", "Accept-Encoding: gzip | Accept-Encoding: br", true),
        ("Accept-Encoding", "Accept-Encoding: gzip, br", "Accept-Encoding: gzip", false),
        ("Accept", "Accept: a/b , c/d", "Accept: a/b,c/d", true), ("Accept", "Accept: a/b", "Accept: c/d", false),
        // Languages.
        ("Accept-Language", "Accept-Language: en, de", "Accept-Language: DE,en", true),
        ("Accept-Language", "Accept-Language: en;q=0.50", "Accept-Language: en; q=0.5", true),
        ("Accept-Language", "Accept-Language: en;q=1.0", "Accept-Language: en", true),
        ("Accept-Language", "Accept-Language: en;q=0.5", "Accept-Language: en;q=0.4", false),
        ("Accept-Language", "Accept-Language: en, de", "Accept-Language: en", false),
        ("Accept-Language", "Accept-Language: en;q=x", "Accept-Language: EN;q=x", false),
        ("Accept-Language", "Accept-Language: en;q=x", "Accept-Language: en;q=x", true),
        ("Accept-Language", "Accept-Language: en;q=0.1, en", "Accept-Language: EN, en;q=0.1", false),
    ]

    @Test(arguments: rows)
    func `A request selects the response that was stored for the same fields`(
        vary: String, stored: String, asked: String, isSelected: Bool
    ) {
        let response = StoredPage.response(vary.isEmpty ? "" : "Vary: \(vary)", to: stored)
        #expect(response.isSelected(by: StoredPage.request(asked)) == isSelected)
    }

    static let languages: [(content: String, asked: String, isSelected: Bool)] = [
        ("nl", "nl", true), ("NL", "nl, en;q=0.9", true), ("nl", "en;q=0.1, nl;q=0.2", true),
        ("nl", "nl, en", false), ("nl", "en, nl;q=0.9", false), ("nl", "nl;q=0", false), ("nl", "nl;q=0.000", false),
        ("nl", "nl-NL", false), ("nl, en", "nl", false), ("nl", "*", false), ("nl", "nl, *", false),
        ("nl", "nl;q=9", false), ("nl", "nl;q=inf", false), ("nl", "nl;q=-1", false), ("nl", "nl;x=1", false),
        ("nl", "nl;q=0x1", false), ("nl", "nl;q=nan, en", false), ("nl", "", false), ("nl", ";;q=1", false),
        ("", "nl", false),
    ]

    @Test(arguments: languages)
    func `A response in the preferred language is selected`(
        content: String, asked: String, isSelected: Bool
    ) {
        let fields = content.isEmpty ? "" : " | Content-Language: \(content)"
        let response = StoredPage.response("Vary: Accept-Language\(fields)", to: "Accept-Language: fr")
        #expect(response.isSelected(by: StoredPage.request("Accept-Language: \(asked)")) == isSelected)
    }

    @Test func `A response replaces one with the same Vary and the same fields`() {
        let stored = StoredPage.response("Vary: A", to: "A: 1, 2")
        #expect(StoredPage.response("Vary: a", to: "A: 1 | A: 2").isOfSameVariant(as: stored))
        #expect(!StoredPage.response("Vary: A", to: "A: 1").isOfSameVariant(as: stored))
        #expect(!StoredPage.response("Vary: A, B", to: "A: 1, 2").isOfSameVariant(as: stored))
        #expect(!StoredPage.response("", to: "A: 1, 2").isOfSameVariant(as: stored))
        #expect(StoredPage.response("Vary: A", to: "A: 1,2 | Cookie: a=b").isOfSameVariant(as: stored))
    }

    // MARK: Cookies

    static let kept: [(response: String, asked: String, kept: String)] = [
        ("", "A: 1", ""), ("Vary: A", "A: 1 | B: 2", "A: 1"), ("", "A: 1 | Cookie: a=b", "Cookie: a=b"),
        ("Vary: A", "Cookie: a=b | A: 1", "Cookie: a=b | A: 1"), ("Cache-Control: public", "Cookie: a=b", ""),
        ("Cache-Control: Public, max-age=5", "Cookie: a=b", ""), ("Cache-Control: private", "Cookie: a", "Cookie: a"),
        ("Cache-Control: public | Vary: cookie", "Cookie: a=b", "Cookie: a=b"),
    ]

    @Test(arguments: kept)
    func `A stored response has the fields that Vary names and its cookie`(
        response: String, asked: String, kept: String
    ) {
        #expect(StoredPage.response(response, to: asked).selectingFields == HTTPFields(lines: kept))
    }

    static let cookies: [(response: String, stored: String, asked: String, differs: Bool)] = [
        ("", "", "", false), ("", "Cookie: a=1", "Cookie: a=1", false), ("", "Cookie: a=1", "Cookie: a=2", true),
        ("", "Cookie: a=1", "", true), ("", "", "Cookie: a=1", true),
        ("", "Cookie: a=1; b=2", "Cookie: a=1 | Cookie: b=2", false),
        ("", "Cookie: a=1; b=2", "Cookie: b=2; a=1", true),
        ("Cache-Control: public", "Cookie: a=1", "Cookie: a=2", false),
        ("Cache-Control: public", "", "Cookie: a=2", false), ("Cache-Control: public", "Cookie: a=1", "", false),
        ("Cache-Control: private", "Cookie: a=1", "Cookie: a=2", true),
        ("Vary: Cookie", "Cookie: a=1", "Cookie: a=2", false), ("Vary: A, cookie", "", "Cookie: a=2", false),
        ("Vary: A", "Cookie: a=1", "Cookie: a=2", true), ("Vary: *", "Cookie: a=1", "Cookie: a=2", true),
    ]

    @Test(arguments: cookies)
    func `A response may depend on another cookie unless it is public or varies by it`(
        response: String, stored: String, asked: String, differs: Bool
    ) {
        let response = StoredPage.response(response, to: stored)
        #expect(response.cookieDiffers(from: StoredPage.request(asked)) == differs)
        let kept = StoredResponse(
            head: response.head, body: response.body, selectingFields: response.selectingFields,
            requestDate: response.requestDate, date: response.date)
        #expect(kept.cookieDiffers(from: StoredPage.request(asked)) == differs)
    }
}
