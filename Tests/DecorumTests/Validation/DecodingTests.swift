import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct DecodingTests {
    private struct Item: Decodable, Equatable {
        enum Kind: String, Decodable { case book }

        let id: Int8
        var kind: Kind?
        var names: [String: String]?
    }

    private func response(
        _ content: Body, status: HTTPResponse.Status = .ok, fields: HTTPFields = [.contentType: "application/json"]
    ) async throws -> Response {
        let response = Response(status: status, fields: fields, body: content)
        let stub = ClosureConnection { request in
            var response = response
            response.metadata = ResponseMetadata(answering: request, from: .stub)
            return response
        }
        return try await stub.send(.get("https://api.example.com/items?token=s3cret#s3cret"))
    }

    private func error(
        _ content: Body, status: HTTPResponse.Status = .ok, fields: HTTPFields = [.contentType: "application/json"]
    ) async throws -> ResponseDecodingError {
        let response = try await response(content, status: status, fields: fields)
        return try await #require(throws: ResponseDecodingError.self) {
            try await response.decode([Item].self, upTo: 1 << 20)
        }
    }

    @Test func `A response is decoded under a limit`() async throws {
        #expect(try await response(#"[{"id": 1, "kind": "book"}]"#).decode([Item].self, upTo: 30).map(\.id) == [1])
        let long = try await response(#"[{"id": 1}]"#)
        let error = await #expect(throws: BodyLimitError.self) { try await long.decode([Item].self, upTo: 3) }
        #expect(error?.limit == 3 && error?.length == 11)
        #expect(
            error?.description
                == "The body has 11 bytes, and 3 are accepted. Raise `upTo:` (`limit:` of an `API`), or read it chunk by chunk. "
                + "It belongs to the response 200 of https://api.example.com/items (application/json).")
    }

    @Test(arguments: [
        (#"[{"id": 1}, {"id": "s3cret"}]"#, "[1].id is a string, not Int8."),
        (#"[{"id": []}]"#, "[0].id is an array, not Int8."),
        (#"[{"id": {}}]"#, "[0].id is an object, not Int8."),
        (#"[{"id": true}]"#, "[0].id is a boolean, not Int8."),
        (#"{"id": 1}"#, "the top level is an object, not an array."),
        (#"[{"id": null}]"#, "[0].id is null, not Int8. Make the property optional if the server may leave it out."),
        ("[{}]", "[0] has no “id”. Make the property optional if the server may leave it out."),
        (#"[{"id": 1, "kind": "s3cret"}]"#, "[0].kind has a value that its type does not accept."),
        (#"[{"id": 300}]"#, "the content has a value that its type does not accept."),
        ("", "it is empty."), (" \r\n", "it is empty."),
        ("[{\"id\": 1},\n {\"id\"; s3cret}]", "it is not valid JSON from line 2, column 7 on."),
        (
            "[{\"id\": 1},\n",
            "the JSON ends at line 2, column 1 before it is complete. Send the request again; if it is cut again, look for a limit of the server."
        ),
        (
            #"[{"id": 1, "kind": "s3\"cr"#,
            "the JSON ends at line 1, column 27 before it is complete. Send the request again; if it is cut again, look for a limit of the server."
        ),
        ("[{\"id\": 2026-11-22", "it is not valid JSON from line 1, column 9 on."),
        ("[{\"kind\": \"s3\ncret", "it is not valid JSON from line 1, column 14 on."),
        ("[{\"id\": 1, \"kind\": \"s3cret\n\"}]", "it is not valid JSON from line 1, column 27 on."),
        ("[{\"id\": 1, \"kind\": \"s3cret\t\"}]", "it is not valid JSON from line 1, column 27 on."),
        ("[{\"id\": 1}]\n[{\"id\": \"s3cret\"}]", "it is not valid JSON from line 2, column 1 on."),
        ("[{\"id\": 1}] \"s3cret", "it is not valid JSON from line 1, column 13 on."),
        (#"[{"id": 1, "kind": "s3cret\q"}]"#, "it is not valid JSON from line 1, column 27 on."),
        (
            "<html>s3cret</html>",
            "it is HTML or XML, not JSON. Check the URL, and whether a proxy or a page for signing in has answered."
        ),
    ]) func `A failure names the response and the place, without a value`(content: String, reason: String) async throws
    {
        let error = try await error(Body(content))
        #expect(
            error.description
                == "The response 200 of https://api.example.com/items (application/json, "
                + "\(content.utf8.count) bytes) cannot be decoded as Array<Item>: \(reason)")
        #expect(error.underlying is DecodingError)
        var dumped = ""
        dump(error, to: &dumped)
        for text in [
            String(reflecting: error), error.localizedDescription, dumped, Redaction.standard.description(of: error),
        ] {
            #expect(!text.contains("s3cret"))
        }
    }

    @Test(arguments: [
        (#"[{"id": 1}, {"id": "x"}]"#, "[1].id"), (#"[{"id": 1}, {}]"#, "[1].id"),
        (#"[{"id": 1, "kind": "x"}]"#, "[0].kind"),
        (#"[{"id": 1, "names": {"a": 1}}]"#, "[0].names.a"), (#"{"id": 1}"#, nil), ("[", nil), ("", nil), ("<p>", nil),
    ])
    func `The place of the value at fault can be read`(content: String, path: String?) async throws {
        #expect(try await error(Body(content)).path == path)
    }

    @Test func `Content with a coding is named as such`() async throws {
        let gzip = Body(Data([0x1F, 0x8B, 8, 0, 1, 2, 3]))
        let other = Body(Data([0x28, 0xB5, 0x2F, 0xFD, 1, 2]))
        let first = try await error(gzip, fields: [:]).description
        #expect(
            first.hasSuffix("it has the content coding gzip. Apply `decompressing()`, or do not ask for the coding."))
        let second = try await error(other, fields: [.contentEncoding: "zstd"]).description
        #expect(
            second.hasSuffix("it has the content coding zstd. Apply `decompressing()`, or do not ask for the coding."))
        let blank = Body(Data([0x1F, 0x00]))
        #expect(
            try await error(blank, fields: [.contentEncoding: "zstd"]).description == second.replacing("6", with: "2"))
        let third = try await self.error(other, fields: [.contentEncoding: "compress"]).description
        #expect(
            third.hasSuffix(
                "it has the content coding compress. Do not ask for the coding, since it cannot be decoded here."))
    }

    @Test func `A name that comes from the content is redacted`() async throws {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
        let error = try await error(Body(#"[{"id": 1, "names": {"\#(token)": 7}}]"#))
        #expect(!error.description.contains(token))
        #expect(error.description.contains("[0].names."))
    }
}
