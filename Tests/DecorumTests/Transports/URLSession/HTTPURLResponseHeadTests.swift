import Foundation
import HTTPTypes
import Testing

@testable import Decorum

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct HTTPURLResponseHeadTests {
    private func head(_ status: Int, _ fields: [String: String]) throws -> HTTPResponse? {
        let url = try #require(URL(string: "http://example.com/"))
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        return HTTPResponse(try #require(response))
    }

    @Test func `The fields come in the order of their names`() throws {
        let head = try head(200, ["X-B": "2", "X-A": "1", "X-C": "3"])

        #expect(head?.headerFields.map(\.value) == ["1", "2", "3"])
    }

    @Test(arguments: [-1, 0, 99, 1000])
    func `A status out of range is no head`(status: Int) throws {
        #expect(try head(status, [:]) == nil)
    }

    @Test func `More cookies than a head can hold are no head`() throws {
        let cookies = (0..<70_000).map { "c\($0)=1" }.joined(separator: ", ")

        #expect(try head(200, ["Set-Cookie": cookies]) == nil)
    }

    @Test(arguments: [("3", 3), ("3, 3", 3), ("3,3", 3), ("9223372036854775807", Int64.max)])
    func `A length may be told more than once`(value: String, length: Int64) throws {
        #expect(try head(200, ["Content-Length": value])?.contentLength == length)
    }

    @Test func `Two lengths are no head`() throws {
        #expect(try head(200, ["Content-Length": "3, 4"]) == nil)
    }

    @Test(arguments: ["", "x", "99999999999999999999"])
    func `A length that is no number is not told`(value: String) throws {
        #expect(try head(200, ["Content-Length": value])?.contentLength == nil)
    }

    @Test func `A transfer coding overrides the length`() throws {
        #expect(try head(200, ["Content-Length": "3", "Transfer-Encoding": "chunked"])?.contentLength == nil)
    }

    @Test(arguments: [
        ("gzip", ["gzip"]), ("GZIP", ["gzip"]), ("gzip, br", ["br", "gzip"]), ("identity, gzip", ["gzip"]),
    ])
    func `Codings that were undone leave with the length`(value: String, codings: [String]) throws {
        var head = try #require(try head(200, ["Content-Encoding": value, "Content-Length": "3", "X-A": "1"]))

        #expect(head.removeDecodedCodings() == codings)
        #expect(head.headerFields.map(\.name.canonicalName) == ["x-a"])
    }

    @Test(arguments: ["identity", "", "foo", "gzip, foo"])
    func `Codings that were not undone stay with the length`(value: String) throws {
        var head = try #require(try head(200, ["Content-Encoding": value, "Content-Length": "3"]))

        #expect(head.removeDecodedCodings() == [])
        #expect(head.headerFields[.contentLength] == "3")
    }
}
