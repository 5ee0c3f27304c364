import DecorumEndpoints
import Foundation
import Testing

@Suite struct TextTests {
    private func response(_ bytes: [UInt8], _ type: String?) -> Response {
        var response = Response(status: .ok, body: Body(Data(bytes)))
        response.head.headerFields[.contentType] = type
        response.metadata.url = URL(string: "https://example.com/page?token=secret")
        return response
    }

    @Test(
        arguments: [
            ([0x61, 0xC3, 0xA9], nil, "aé"), ([0x61, 0xE9], "text/plain; charset=ISO-8859-1", "aé"),
            ([0x80, 0x93, 0x81, 0x9F], "text/plain;charset=\"latin1\"", "€“\u{81}Ÿ"),
            ([0x61, 0, 0x3D, 0xD8, 0, 0xDE], "text/plain; charset=utf-16", "a😀"),
            ([0, 0x61, 0xD8, 0x3D, 0xDE, 0], "text/plain; charset=UTF-16BE", "a😀"),
            ([0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "text/plain; charset=utf-16", "é"),
            ([0xFE, 0xFF, 0, 0x61], "text/plain; charset=utf-8", "a"), ([0xFF, 0xFE, 0x61, 0], nil, "a"),
            ([0x61, 0xFF], "text/plain; charset=utf-8", "a\u{FFFD}"), ([], "text/plain; charset=utf-16le", ""),
            ([0x61, 0, 0x62], "text/plain; charset=utf-16le", "a\u{FFFD}"),
            ([0xCF, 0xF0], "text/plain; charset=cp1251", "Пр"),
            ([0xE9], "text/plain; charset=iso-8859-2", "é"),
            ([0x82, 0xA0], "text/plain; charset=sjis", "あ"),
            ([0xDD], "text/plain; charset=windows-1254", "İ"), ([0xE1], "text/plain; charset=windows-1253", "α"),
            ([0x8C], "text/plain; charset=windows-1250", "Ś"), ([0xC3, 0xA9], "text/plain; charset=UTF8MB4", "é"),
            ([0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "text/plain; charset=utf-8-sig", "é"),
            ([0xC3, 0xA9], "text/plain; charset=\"utf-8-sig\"", "é"),
        ] as [([UInt8], String?, String)])
    func `A text has the charset of its mark, its type, or UTF-8`(bytes: [UInt8], type: String?, text: String)
        async throws
    {
        #expect(try await response(bytes, type).text(upTo: 100) == text)
    }

    @Test(
        arguments: [
            ([0x61, 0xFF, 0x62], nil), ([0xC3], nil), ([0xEF, 0xBB, 0xBF, 0x61, 0xC0], nil),
            ([0x61, 0, 0, 0xD8], "text/plain; charset=utf-16"), ([0x61, 0, 0x62], "text/plain; charset=utf-16"),
        ] as [([UInt8], String?)])
    func `Invalid bytes are an error without the query of the URL`(bytes: [UInt8], type: String?) async throws {
        let error = await #expect(throws: TextDecodingError.self) {
            try await response(bytes, type).text(upTo: 100, repairing: false)
        }
        let text = "\(try #require(error))"
        #expect(text.contains("https://example.com/page") && !text.contains("secret"))
    }

    @Test func `A valid replacement character is no error`() async throws {
        #expect(try await response(Array("a\u{FFFD}".utf8), nil).text(upTo: 100, repairing: false) == "a\u{FFFD}")
    }

    @Test(arguments: ["gzip", "x-zap, br", "br, x-zap"])
    func `Coded bytes are no text`(codings: String) async throws {
        var response = response(Array("text".utf8), "text/plain")
        response.head.headerFields[.contentEncoding] = codings
        let error = await #expect(throws: TextDecodingError.self) { try await response.text(upTo: 100) }
        #expect(error?.charset == nil && error?.description.contains(codings) == true)
        response.head.headerFields[.contentEncoding] = "identity"
        #expect(try await response.text(upTo: 100) == "text")
        response.head.headerFields[.contentEncoding] = codings
        response.body = .empty
        #expect(try await response.text(upTo: 100).isEmpty)
    }

    @Test func `A charset that is not known, and a limit, are errors`() async throws {
        let error = await #expect(throws: TextDecodingError.self) {
            try await response([0x61], "text/plain; charset=klingon").text(upTo: 100)
        }
        #expect(error?.charset == nil)
        await #expect(throws: BodyLimitError.self) { try await response([1, 2, 3], nil).text(upTo: 2) }
    }
}
