#if CommandLine
import Decorum
import Foundation
import Testing

@testable import DecorumCommand

struct ExpectationTests {
    private let head = HTTPResponse(
        status: .created, headerFields: [.contentType: "application/json; charset=utf-8", .eTag: #""1""#])
    private let content = Data(
        #"{"id": 42, "name": "tea", "items": [{"price": 2.50}, null], "a.b": true, "big": 9007199254740993}"#.utf8)

    @Test(arguments: [("2xx", true), ("201", true), ("200, 201", true), ("4XX,200", false), ("20x", nil), ("", nil)])
    func `A status is met by its number or its class`(text: String, isMet: Bool?) {
        let expectation = try? Expectation(status: text)
        #expect(expectation.map { $0.failure(head, content) == nil } == isMet)
    }

    @Test(arguments: [
        (#"ETag: "1""#, true), ("Content-Type: application/json*", true), ("content-type: application/json", false),
        ("X-Missing: *", false), ("word", nil), ("a b: c", nil),
    ])
    func `A field is met by its value, of which an asterisk is any end`(text: String, isMet: Bool?) {
        let expectation = try? Expectation(field: text)
        #expect(expectation.map { $0.failure(head, content) == nil } == isMet)
    }

    @Test(arguments: [
        ("json $.id == 42", true), ("json $.id == 42.0", true), ("json $.id != 42", false), ("json $.id > 41", true),
        ("json $.id >= 42", true), ("json $.id < 42", false), ("json $.id <= 42", true), ("json $.name == tea", true),
        (#"json $.name == "tea""#, true), ("json $.name > 1", false), ("json $.items[0].price == 2.5", true),
        ("json $.items[1] == null", true), ("json $.items[2] exists", false), ("json $.items exists", true),
        ("json $['a.b'] == true", true), ("json $.big == 9007199254740992", false), ("json $.missing == 1", false),
        ("json $.missing != 1", true),
        ("json $.id", nil), ("json $.id ==", nil), ("json $id == 1", nil), ("xml $.id == 1", nil),
    ])
    func `A value in JSON is compared`(text: String, isMet: Bool?) {
        let expectation = try? Expectation(content: text)
        #expect(expectation.map { $0.failure(head, content) == nil } == isMet)
    }

    @Test func `Content that is no JSON meets no comparison`() throws {
        let expectation = try Expectation(content: "json $.id != 1")
        #expect(expectation.failure(head, Data("<html>".utf8)) == "The content is no JSON.")
    }
}
#endif
