import Foundation
import HTTPTypes
import Testing

@testable import Decorum

@Suite struct DecompressionDecisionTests {
    @Test(
        arguments: [
            ([:], "gzip, br"), ([.range: "bytes=0-9"], "identity"), ([.acceptEncoding: "identity"], nil),
            ([.acceptEncoding: ""], nil), ([.acceptEncoding: "br", .range: "bytes=0-9"], nil),
        ] as [(HTTPFields, String?)])
    func `The codings to ask for`(fields: HTTPFields, expected: String?) {
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/", headerFields: fields)
        let offer = HTTPField(name: .acceptEncoding, value: "gzip, br")
        let field = DecompressionDecision.acceptEncoding(for: head, offering: offer)
        #expect(field == expected.map { HTTPField(name: .acceptEncoding, value: $0) })
    }

    @Test(
        arguments: [
            (["gzip", "br", "zstd"], "gzip, br, zstd"), (["br"], "br"), ([], "identity"),
            (["deflate", "zstd"], "zstd"),
        ] as [(Set<String>, String)])
    func `A coding that is not available is not offered`(available: Set<String>, expected: String) {
        #expect(
            DecompressionDecision.offer([.gzip, .brotli, .zstd]) { available.contains($0.name) } == expected)
    }

    @Test(arguments: [
        (200, "GET", ["gzip"], ["gzip"]), (200, "GET", ["GZIP"], ["gzip"]), (200, "GET", ["x-gzip"], ["x-gzip"]),
        (200, "GET", [], []), (200, "GET", [""], []), (200, "GET", ["identity"], []),
        (200, "GET", ["identity, gzip"], ["gzip"]), (200, "GET", ["gzip, br"], ["gzip", "br"]),
        (200, "GET", ["gzip", "br"], ["gzip", "br"]), (200, "GET", ["gzip, x-odd"], ["gzip", "x-odd"]),
        (200, "GET", ["x-odd, gzip"], ["x-odd", "gzip"]), (200, "GET", [" gzip ,, br,"], ["gzip", "br"]),
        (404, "GET", ["gzip"], ["gzip"]), (503, "POST", ["gzip"], ["gzip"]), (301, "GET", ["gzip"], ["gzip"]),
        (200, "HEAD", ["gzip"], []), (204, "GET", ["gzip"], []), (304, "GET", ["gzip"], []), (206, "GET", ["gzip"], []),
        (416, "GET", ["gzip"], ["gzip"]), (200, "GET", ["gzip;q=1"], ["gzip;q=1"]),
    ])
    func `The codings to undo`(code: Int, method: String, values: [String], expected: [String]) throws {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .contentEncoding, value: value)) }
        let head = HTTPResponse(status: .init(code: code), headerFields: fields)
        let codings = DecompressionDecision.codings(of: head, to: try #require(HTTPRequest.Method(rawValue: method)))
        #expect(codings.map(\.name) == expected)
    }

    @Test func `Fields that describe the coded bytes go, and validators stay`() throws {
        let kept: HTTPFields = [
            .contentType: "application/json", .eTag: #""1-gzip""#, .vary: "Accept-Encoding",
            .lastModified: "Sat, 29 Oct 1994 19:43:31 GMT", .acceptRanges: "bytes",
        ]
        var head = HTTPResponse(status: .ok, headerFields: kept)
        for name in ["Content-Encoding", "Content-Length", "Content-Digest", "Repr-Digest", "Content-MD5", "Digest"] {
            for _ in 1...2 { head.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: "1")) }
        }
        head.headerFields = DecompressionDecision.withoutCodedFields(head.headerFields)
        #expect(head.headerFields == kept)
    }
}
