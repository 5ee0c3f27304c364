import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// A server that asks for credentials of another scheme than the request has.
@Suite struct RefusedSchemeTests {
    @Test(
        arguments: [
            ("Bearer mango-42-plum", ["Token"], "Token"),
            ("Bearer mango-42-plum", [#"Token realm="a, b", charset="UTF-8""#], "Token"),
            (
                "Bearer mango-42-plum", [#"Basic realm = "Bearer", Digest nonce="x""#, "Negotiate abc=="],
                "Basic or Digest or Negotiate"
            ),
            ("Bearer mango-42-plum", [#"Basic realm="x", bearer error="invalid_token""#], nil),
            ("Bearer mango-42-plum", [], nil), ("mango-42-plum", ["Token"], nil), ("", ["Token"], nil),
        ] as [(String, [String], String?)])
    func `The schemes of the challenges are told where that of the request is none of them`(
        credentials: String, challenges: [String], asked: String?
    ) {
        var request = RecordedRequest(method: "GET", url: "https://example.com/me")
        if !credentials.isEmpty { request.fields[.authorization] = credentials }
        var fields = HTTPFields()
        fields[values: .wwwAuthenticate] = challenges
        let words = RefusedScheme.words(for: request, RecordedResponse(status: 401, fields: fields))
        #expect(words == asked.map { "challenge  the server asks for \($0); the request had Bearer" })
        #expect(RefusedScheme.words(for: request, RecordedResponse(status: 403, fields: fields)) == nil)
    }

    @Test func `Verifying tells the scheme and no credentials`() async throws {
        let recorder = try TestRecorder()
        let requests = [
            try Request.get("https://example.com/me", fields: [.authorization: "Bearer x7Rq2LmZ9sKd4TbVw8NcYh3J"])
        ]
        _ = try await recorder.run(.once, requests, rules: .silent) { _ in TestRecorder.json("{}") }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests, rules: .silent) { _ in
                Response(status: .unauthorized, fields: [.wwwAuthenticate: "Token"])
            }
        }
        let text = try #require(error).description
        #expect(
            text.contains(
                "is 401, so the server does not accept the credentials\n    challenge  the server asks for Token; the request "
                    + "had Bearer\n"), "\(text)")
        #expect(!text.contains("x7Rq2"), "\(text)")
    }
}
