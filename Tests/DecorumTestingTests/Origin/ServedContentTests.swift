import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Ranges, validators and redirections of a stub and of an origin, which have one implementation.
@Suite(.timeLimit(.minutes(3))) struct ServedContentTests {
    private static let date = Date(timeIntervalSince1970: 1_700_000_000)
    private static let modified = "Tue, 14 Nov 2023 22:13:20 GMT"
    private let content = ServedContent("0123456789", fields: [.eTag: #""1""#], lastModified: date)

    private func response(_ fields: HTTPFields, method: HTTPRequest.Method = .get) throws -> Response {
        content.response(to: try Request(method, "https://a.example/", fields: fields).head)
    }

    @Test(
        arguments: [
            ("bytes=0-3", "0123", "0-3"), ("bytes=7-", "789", "7-9"), ("bytes=-2", "89", "8-9"),
            ("bytes=9-9", "9", "9-9"),
            ("BYTES=4-400", "456789", "4-9"), ("bytes=-99", "0123456789", "0-9"),
            ("bytes=1-99999999999999999999", "123456789", "1-9"),
        ] as [(String, String, String)])
    func `A range gets a part`(range: String, part: String, bounds: String) throws {
        let response = try response([.range: range])
        #expect(response.status == .partialContent && response.body.bytes == Data(part.utf8))
        #expect(response.head.headerFields[.contentRange] == "bytes \(bounds)/10")
        #expect(response.head.headerFields[.contentLength] == "\(part.utf8.count)")
        #expect(response.head.headerFields[.eTag] == #""1""#)
    }

    @Test(arguments: ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=99999999999999999999-"])
    func `A range behind the end gets a 416 with the length`(range: String) throws {
        let response = try response([.range: range])
        #expect(response.status == .rangeNotSatisfiable && response.body.isEmpty)
        #expect(response.head.headerFields[.contentRange] == "bytes */10")
    }

    @Test(arguments: ["bytes=0-1,4-5", "bytes=3-1", "bytes=-", "bytes", "lines=0-1", "bytes=a-b", "bytes=+1-2", ""])
    func `Several ranges, and what is no range, get the whole content`(range: String) throws {
        let response = try response([.range: range])
        #expect(response.status == .ok && response.body.bytes?.count == 10)
        #expect(response.head.headerFields[.acceptRanges] == "bytes")
    }

    @Test(arguments: [
        (#""1""#, 206), (modified, 206), (#""2""#, 200), (#"W/"1""#, 200), ("Tue, 14 Nov 2023 22:13:21 GMT", 200),
    ])
    func `A range counts only for the content that If-Range names`(condition: String, status: Int) throws {
        #expect(try response([.range: "bytes=0-3", .ifRange: condition]).status.code == status)
        let weak = ServedContent("0123456789", fields: [.eTag: #"W/"1""#])
        let request = try Request.get("https://a.example/", fields: [.range: "bytes=0-3", .ifRange: #"W/"1""#])
        #expect(weak.response(to: request.head).status == .ok)
    }

    @Test(
        arguments: [
            ([.ifNoneMatch: #""0", W/"1""#], 304), ([.ifNoneMatch: "*"], 304), ([.ifNoneMatch: #""0""#], 200),
            ([.ifModifiedSince: modified], 304), ([.ifModifiedSince: "Tue, 14 Nov 2023 22:13:19 GMT"], 200),
            ([.ifModifiedSince: modified, .ifNoneMatch: #""0""#], 200), ([.ifModifiedSince: "yesterday"], 200),
        ] as [(HTTPFields, Int)])
    func `A client that has the content gets a 304`(fields: HTTPFields, status: Int) throws {
        let response = try response(fields)
        #expect(response.status.code == status && response.body.isEmpty == (status == 304))
    }

    @Test func `The entity tag follows from the bytes, and a file has its date`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "served-\(SystemGenerator().next())")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("content".utf8).write(to: file)
        try FileManager.default.setAttributes([.modificationDate: Self.date], ofItemAtPath: file.path)
        let served = try ServedContent(contentsOf: file, fields: [.contentType: "text/plain"])
        #expect(served.data == Data("content".utf8) && served.fields[.lastModified] == Self.modified)
        #expect(served.fields[.contentType] == "text/plain")
        #expect(served.fields[.eTag] == ServedContent("content").fields[.eTag])
        #expect(served.fields[.eTag] != ServedContent("Content").fields[.eTag])
    }

    @Test func `M89: A stub and an origin serve it, and redirect to it`() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.route(.get, "/file", .serving(content))
        origin.route(.get, "/old", .redirect(to: "/file", .movedPermanently))
        let stub = StubConnection { [content] request in
            request.head.path == "/old" ? .redirect(to: "/file") : content.response(to: request.head)
        }
        for (connection, url) in [
            (AnyConnection(SystemConnection()), origin.url), (AnyConnection(stub), "https://a.example"),
        ] {
            let following = connection.followingRedirects()
            for (range, status, text) in [
                ("bytes=2-5", 206, "2345"), ("bytes=20-", 416, ""), ("bytes=0-1,3-4", 200, nil),
            ] {
                let response = try await following.send(.get(url + "/old", fields: [.range: range]))
                #expect(response.status.code == status && response.metadata.redirects.count == 1)
                #expect(try await response.body.text(upTo: 100) == text ?? "0123456789")
            }
            let head = try await connection.send(Request(.head, url + "/file"))
            #expect(head.head.headerFields[.contentLength] == "10" && head.status == .ok)
            let known = try await connection.send(.get(url + "/file", fields: [.ifNoneMatch: #""1""#]))
            #expect(known.status == .notModified)
        }
        #expect(StubConnection(serving: content).layers == stub.layers)
        #expect("\(LoopbackOrigin.Answer.serving(content))" == "content of 10 bytes")
    }
}
