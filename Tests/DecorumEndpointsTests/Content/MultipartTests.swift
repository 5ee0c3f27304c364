import DecorumTestSupport
import Foundation
import Testing

@testable import DecorumEndpoints

@Suite struct MultipartTests {
    private func text(_ form: Multipart) async throws -> (text: String, boundary: String) {
        let body = Body(multipart: form, generator: SeededGenerator(seed: 1))
        let boundary = try #require(body.mediaType?.components(separatedBy: "boundary=").last)
        return (try await body.text(upTo: 1 << 20), boundary)
    }

    @Test func `Fields and files have the form of RFC 7578`() async throws {
        var form: Multipart = ["title": "Summer", "count": 2]
        form.append("photo", Body(Data("PNG".utf8)), named: "a.png", as: "image/png")
        form.append("raw", Body(Data([0, 1])), named: "b")
        let (text, boundary) = try await text(form)
        #expect(
            text == """
                --\(boundary)\r
                Content-Disposition: form-data; name="title"\r
                \r
                Summer\r
                --\(boundary)\r
                Content-Disposition: form-data; name="count"\r
                \r
                2\r
                --\(boundary)\r
                Content-Disposition: form-data; name="photo"; filename="a.png"\r
                Content-Type: image/png\r
                \r
                PNG\r
                --\(boundary)\r
                Content-Disposition: form-data; name="raw"; filename="b"\r
                Content-Type: application/octet-stream\r
                \r
                \u{0}\u{1}\r
                --\(boundary)--\r\n
                """)
    }

    private struct Name: Decodable, Sendable {
        let name: String
        let field: String
        let file: String
    }

    @Test(arguments: try Fixtures.rows("endpoints/multipart-names.json", of: Name.self))
    private func `Names are escaped as browsers escape them`(row: Name) async throws {
        var form = Multipart()
        form.append(row.name, Body(Data()), named: row.name)
        let (text, _) = try await text(form)
        let line = text.components(separatedBy: "\r\n")[1]
        #expect(line == "Content-Disposition: form-data; name=\"\(row.field)\"; filename=\"\(row.file)\"")
    }

    private struct Value: Decodable, Sendable {
        let value: String
        let sent: String
    }

    @Test(arguments: try Fixtures.rows("endpoints/multipart-values.json", of: Value.self))
    private func `The line breaks of a value are CRLF`(row: Value) async throws {
        let form: Multipart = ["v": row.value]
        let bytes = try #require(form.parts.first?.body.bytes)
        #expect(bytes == Data(row.sent.utf8))
    }

    @Test func `A media type cannot begin another field`() async throws {
        var form = Multipart()
        form.append("a", Body(Data()), named: "f", as: "text/plain\r\nEvil: 1")
        #expect(!(try await text(form).text).contains("\r\nEvil"))
    }

    @Test func `A form without parts has its end alone`() async throws {
        let (text, boundary) = try await text(Multipart())
        #expect(text == "--\(boundary)--\r\n")
    }

    @Test func `The length is known where each part's is`() async throws {
        let big = Data(repeating: 7, count: 300 << 10)
        var form: Multipart = ["a": "b"]
        form.append("f", Body(big), named: "f")
        let body = Body(multipart: form, generator: SeededGenerator(seed: 1))
        let length = try #require(body.length)
        #expect(body.bytes == nil)
        #expect(try await body.data(upTo: 1 << 20).count == Int(length))

        form.append("s", Body(length: nil, replay: .once) { _ in OneByteReader(count: 3) }, named: "s")
        let unknown = Body(multipart: form, generator: SeededGenerator(seed: 1))
        #expect(unknown.length == nil)
        #expect(unknown.replay == .once)
        #expect(try await unknown.data(upTo: 1 << 20).count > big.count)
    }

    @Test func `A stream that is too short fails, and is never padded`() async throws {
        var form = Multipart()
        form.append("s", Body(length: 6, replay: .once) { _ in OneByteReader(count: 5) }, named: "s")
        let body = Body(multipart: form)
        await #expect(throws: BodyLengthError.self) { try await body.data(upTo: 1 << 10) }
    }

    @Test func `Reading from any offset gives the rest of the same bytes`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "decorum-\(UInt64.random(in: 0 ... .max)).txt")
        try Data((0..<300).map { UInt8($0 & 255) }).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var form: Multipart = ["a": "b"]
        try form.append("f", file: file)
        form.append("m", Body(Data("memory".utf8)), named: "m")
        let body = Body(multipart: form, generator: SeededGenerator(seed: 3))
        #expect(body.replay == .fromAnyOffset)
        let whole = try await body.data(upTo: 1 << 20)
        #expect(String(decoding: whole, as: UTF8.self).contains("Content-Type: text/plain\r\n"))
        for offset in 0...whole.count {
            var reader = try await body.open(at: Int64(offset))
            var rest = Data()
            while let chunk = try await reader.next() { rest += chunk }
            #expect(rest == whole.dropFirst(offset), "offset \(offset)")
        }
    }
}

/// A stream that gives its bytes one by one.
struct OneByteReader: BodyReader {
    var count: Int

    mutating func next() async throws -> Data? {
        guard count > 0 else { return nil }
        count -= 1
        return Data([UInt8(ascii: "x")])
    }

    var trailers: HTTPFields? { nil }
}
