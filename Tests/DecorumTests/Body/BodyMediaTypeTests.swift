import Decorum
import Foundation
import HTTPTypes
import Testing

@Suite struct BodyMediaTypeTests {
    @Test func `JSON, text and forms have a media type, and bytes have none`() throws {
        #expect(try Body(json: [1]).mediaType == "application/json")
        #expect(Body("text").mediaType == "text/plain; charset=utf-8")
        #expect(("literal" as Body).mediaType == "text/plain; charset=utf-8")
        #expect(Body(form: [:]).mediaType == "application/x-www-form-urlencoded")
        #expect(Body(Data([1])).mediaType == nil)
        #expect(Body.empty.mediaType == nil)
        #expect(Body(replay: .once) { _ in throw CancellationError() }.mediaType == nil)
    }

    @Test(arguments: [
        ("a.json", "application/json"), ("A.JPG", "image/jpeg"), ("b.tar.gz", "application/gzip"),
        ("page.html", "text/html"), ("c.unknown", nil), ("json", nil), (".json", nil),
    ])
    func `A file has the media type of its extension`(name: String, type: String?) throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "decorum-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: name)
        try Data("1".utf8).write(to: file)

        let body = try Body(contentsOf: file)
        #expect(body.mediaType == type)
        #expect(body.file == file)
        #expect(body.typed(as: nil).mediaType == nil)
        #expect(body.typed(as: "text/x").file == file)
    }

    @Test func `A stated type replaces the known one and changes nothing else`() async throws {
        let body = Body("hello").typed(as: "text/markdown")
        #expect(body.mediaType == "text/markdown")
        #expect(body.bytes == Data("hello".utf8))
        #expect(body.replay == .fromAnyOffset)
        #expect(body == Body("hello"))
        #expect(body.description == "5 bytes")
        var reader = try await body.open(at: 3)
        #expect(try await reader.next() == Data("lo".utf8))
    }

    @Test func `A form is encoded as browsers encode it`() async throws {
        let cases: [(form: Body, text: String)] = [
            (Body(form: ["b": "1", "a": "2"]), "b=1&a=2"),
            (Body(form: ["a": "", "a": "x y"]), "a=&a=x+y"),
            (Body(form: [("k&=", "+%~*-._")]), "k%26%3D=%2B%25%7E*-._"),
            (Body(form: [("n", "\u{E9}\r\n")]), "n=%C3%A9%0D%0A"),
            (Body(form: [:]), ""),
        ]
        for (form, text) in cases { #expect(try await form.text(upTo: 100) == text) }
    }

    @Test func `A request takes the type of its body over`() throws {
        let url = "https://a.example/"
        let post = try Request.post(url, body: Body(json: [1]))
        #expect(post.head.headerFields[.contentType] == "application/json")
        let plain = try Request.put(url, body: Body(Data([1])))
        #expect(plain.head.headerFields[.contentType] == nil)
        #expect(try Request.get(url).head.headerFields.isEmpty)
        #expect(Request(head: plain.head, body: "a").head.headerFields[.contentType] == "text/plain; charset=utf-8")
    }

    @Test
    func `A body that is set later replaces the type of the old body, and none that the caller has set or removed`()
        throws
    {
        var request = try Request.get("https://a.example/")
        request.body = try Body(json: [1])
        #expect(request.head.headerFields[.contentType] == "application/json")
        request.body = "text"
        #expect(request.head.headerFields[values: .contentType] == ["text/plain; charset=utf-8"])
        request.body = Body(Data([1]))
        #expect(request.head.headerFields[.contentType] == "text/plain; charset=utf-8")
        request.head.headerFields[.contentType] = "application/problem+json"
        request.body = "text"
        #expect(request.head.headerFields[.contentType] == "application/problem+json")
        var untyped = try Request.post("https://a.example/", body: "text")
        untyped.head.headerFields[.contentType] = nil
        untyped.body = untyped.body.observed { _ in }.teed(upTo: 10) { _, _ in }
        #expect(untyped.body.mediaType == "text/plain; charset=utf-8")
        #expect(untyped.head.headerFields[.contentType] == nil)
    }
}
