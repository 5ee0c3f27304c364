import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// The cursors in JSON by which a verified test asks for further pages.
@Suite(.timeLimit(.minutes(3))) struct FollowedTextTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    private func text(of body: () async throws -> Void) async throws -> String {
        let error = await #expect(throws: CassetteDriftError.self) { try await body() }
        return try #require(error).description.replacing(recorder.folder.url.path + "/", with: "")
    }

    /// Reads pages by a cursor in JSON; `last` is the last page, `step` the number of pages in one answer, and `member` the name
    /// of the cursor.
    private func readList(
        _ mode: CassetteMode, last: Int, step: Int = 1, member: String = "next_cursor"
    ) async throws {
        let cassette = try recorder.cassette(mode)
        let stub = StubConnection { request in
            let page = Int(String(request.head.path?.last ?? "1")) ?? 1
            let next = page < last ? "\"cursor-\(page + step)\"" : "null"
            let items = Array(repeating: "0", count: step).joined(separator: ",")
            return TestRecorder.json(#"{"\#(member)":\#(next),"items":[\#(items)]}"#)
        }
        let connection = CassetteConnection(cassette, recording: stub)
        var url: String? = "https://example.com/items?from=cursor-1"
        while let page = url {
            let text = try await connection.send(.get(page)).body.text(upTo: 100)
            let cursor = text.firstMatch(of: /"next_cursor":"([^"]*)"/)?.output.1
            url = cursor.map { "https://example.com/items?from=\($0)" }
        }
        try await cassette.finish()
    }

    @Test func `A cursor in JSON that is missing is told with the pages that were not asked for`() async throws {
        try await readList(.once, last: 3)
        try await readList(.verify, last: 3)
        let text = try await text { try await readList(.verify, last: 3, member: "next") }
        #expect(
            text.contains(
                """
                  GET https://example.com/items?from=cursor-1  (line 4)
                    $.next  is new: a string
                    $.next_cursor  is missing: was a string
                    likely the reason why these recorded requests were not sent:
                      GET https://example.com/items?from=cursor-2 (line 21)
                      GET https://example.com/items?from=cursor-3 (line 38)
                """), "\(text)")
    }

    @Test func `A further page to which a cursor in JSON leads is one of the server`() async throws {
        try await readList(.once, last: 2)
        let text = try await text { try await readList(.verify, last: 4) }
        #expect(text.hasPrefix("The server no longer answers as the cassette feed.json has it:"), "\(text)")
        #expect(
            text.contains("the `$.next_cursor` in the answer to GET https://example.com/items?from=cursor-2 led there"),
            "\(text)")
        #expect(
            text.contains("the `$.next_cursor` in the answer to GET https://example.com/items?from=cursor-3 led there"),
            "\(text)")
    }

    @Test func `A page of fewer elements is told with the request in addition`() async throws {
        try await readList(.once, last: 3, step: 2)
        let text = try await text { try await readList(.verify, last: 3) }
        #expect(text.contains("$.items  had 2 elements, has 1"), "\(text)")
        #expect(
            text.contains(
                "  GET https://example.com/items?from=cursor-3\n    is sent in addition to those that are recorded\n"),
            "\(text)")
        #expect(!text.contains("sent once more"), "\(text)")
    }

    @Test(
        arguments: [
            ("https://example.com/items?state=active&from=a%2Bb%2Fcdef", ["a+b/cdef", "active"]),
            ("https://example.com/orders/ord_123/lines#section", ["ord_123", "orders"]),
            ("https://example.com/items?cursor=YWJjZGVm==&q=a+few+words", ["YWJjZGVm==", "a few words"]),
            ("https://example.com", []), ("/relative/segment", ["segment"]),
        ])
    func `The parts of a URL are its segments and the values of its query`(url: String, words: [String]) {
        #expect(FollowedTexts.words(in: url).sorted() == words)
    }
}
