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
    }

    @Test(
        arguments: [
            (#"[{"id": 1}, {"id": "s3cret"}]"#, "[1].id", "[1].id is a string, not Int8."),
            (#"[{"id": []}]"#, "[0].id", "[0].id is an array, not Int8."),
            (#"{"id": 1}"#, nil, "the top level is an object, not an array."),
            (#"[{"id": null}]"#, "[0].id", "[0].id is null, not Int8."), ("[{}]", "[0].id", "[0] has no “id”."),
            (#"[{"id": 1, "kind": "s3cret"}]"#, "[0].kind", "[0].kind has a value that its type does not accept."),
            (#"[{"id": 1, "names": {"s": 1}}]"#, "[0].names.s", "[0].names.s is a number, not String."),
            (#"[{"id": 300}]"#, nil, "the content has a value that its type does not accept."),
            ("", nil, "it is empty."), (" \r\n", nil, "it is empty."),
            ("<html>s3cret</html>", nil, "it is HTML or XML, not JSON."),
            ("[{\"id\": 1},\n {\"id\"; s3cret}]", nil, "from line 2, column 7 on."),
            ("[{\"id\": 1},\n", nil, "ends at line 2, column 1 "),
            (#"[{"id": 1, "kind": "s3\"cr"#, nil, "ends at line 1, column 27 "),
            ("[{\"id\": 2026-11-22", nil, "from line 1, column 9 on."),
            ("[{\"kind\": \"s3\ncret", nil, "from line 1, column 14 on."),
            ("[{\"id\": 1, \"kind\": \"s3cret\t\"}]", nil, "from line 1, column 27 on."),
            ("[{\"id\": 1}]\n[{\"id\": \"s3cret\"}]", nil, "from line 2, column 1 on."),
            (#"[{"id": 1, "kind": "s3cret\q"}]"#, nil, "from line 1, column 27 on."),
        ] as [(String, String?, String)])
    func `A failure names the place and the reason, without a value`(
        content: String, path: String?, reason: String
    ) async throws {
        let error = try await error(Body(content))
        #expect(
            error.description.contains("https://api.example.com/items (application/json, \(content.utf8.count) bytes)"))
        #expect(error.description.contains(reason) && error.path == path, "\(error) at \(error.path ?? "")")
        #expect(error.status == .ok && error.contentType == "application/json" && error.length == content.utf8.count)
        #expect(error.underlying is DecodingError)
        var dumped = ""
        dump(error, to: &dumped)
        for text in [
            String(reflecting: error), error.localizedDescription, dumped, Redaction.standard.description(of: error),
        ] {
            #expect(!text.contains("s3cret"))
        }
    }

    @Test(
        arguments: [
            ([0x1F, 0x8B, 8, 0, 1, 2, 3], nil, "gzip", true), ([0x28, 0xB5, 0x2F, 0xFD, 1, 2], "zstd", "zstd", true),
            ([0x1F, 0x00], "zstd", "zstd", true), ([0x28, 0xB5, 0x2F, 0xFD, 1, 2], "compress", "compress", false),
        ] as [([UInt8], String?, String, Bool)])
    func `Content with a coding is named as such`(
        content: [UInt8], field: String?, name: String, isKnown: Bool
    ) async throws {
        var fields: HTTPFields = [:]
        fields[.contentEncoding] = field
        let text = try await error(Body(Data(content)), fields: fields).description
        #expect(text.contains("it has the content coding \(name).") && text.contains("`decompressing()`") == isKnown)
    }

    @Test func `A name that comes from the content is redacted`() async throws {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
        let error = try await error(Body(#"[{"id": 1, "names": {"\#(token)": 7}}]"#))
        #expect(!error.description.contains(token))
        #expect(error.description.contains("[0].names."))
    }
}
