import Foundation
import HTTPTypes
import Testing

@testable import Decorum

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct URLSessionResponseHeadTests {
    private func head(_ status: Int, _ fields: [String: String]) throws -> HTTPResponse? {
        let url = try #require(URL(string: "http://example.com/"))
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        return HTTPResponse(try #require(response))
    }

    @Test func `The fields are sorted by name`() throws {
        let head = try head(200, ["X-B": "2", "X-A": "1", "X-C": "3"])

        #expect(head?.headerFields.map(\.value) == ["1", "2", "3"])
    }

    @Test(arguments: [-1, 0, 99, 1000])
    func `A status out of range makes the head invalid`(status: Int) throws {
        #expect(try head(status, [:]) == nil)
    }

    @Test func `More cookies than a head can hold make it invalid`() throws {
        let cookies = (0..<70_000).map { "c\($0)=1" }.joined(separator: ", ")

        #expect(try head(200, ["Set-Cookie": cookies]) == nil)
    }

    @Test(arguments: [("3", 3), ("3, 3", 3), ("3,3", 3), ("9223372036854775807", Int64.max)])
    func `A length may be repeated`(value: String, length: Int64) throws {
        #expect(try head(200, ["Content-Length": value])?.contentLength == length)
    }

    @Test func `More fields than a head can hold make it invalid`() throws {
        let fields = (0..<70_000).map { ("X-\($0)", "1") }

        #expect(try head(200, Dictionary(uniqueKeysWithValues: fields)) == nil)
    }

    @Test(arguments: [
        "", "x", ",", "3,", ",3", "3, 4", "3, 3, 4", "3, x", "3 0", "0x3", "+3", "-3", "3abc", "3.0", "3;", "\"3\"",
        "٣", "9223372036854775808", "99999999999999999999", "3, 99999999999999999999",
    ])
    func `Lengths that are not numbers, or differ, make the head invalid`(value: String) throws {
        #expect(try head(200, ["Content-Length": value]) == nil)
    }

    @Test(arguments: ["chunked", "gzip, chunked", "identity", ""])
    func `A transfer coding beside a length makes the head invalid`(coding: String) throws {
        #expect(try head(200, ["Content-Length": "3", "Transfer-Encoding": coding]) == nil)
        #expect(try head(200, ["Transfer-Encoding": coding])?.contentLength == .some(nil))
    }

    @Test(arguments: [
        ("gzip", ["gzip"]), ("GZIP", ["gzip"]), ("gzip, br", ["br", "gzip"]), ("identity, gzip", ["gzip"]),
    ])
    func `Codings that were undone are removed with the length`(value: String, codings: [String]) throws {
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
