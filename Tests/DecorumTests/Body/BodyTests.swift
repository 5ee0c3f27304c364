import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct BodyTests {
    @Test func `Bytes are read any number of times, from any offset`() async throws {
        let body = Body("hello")
        #expect(body.length == 5)
        #expect(body.replay == .fromAnyOffset)
        for _ in 1...2 { #expect(try await body.text(upTo: 5) == "hello") }
        #expect(try await body.rest(from: 3) == Data("lo".utf8))
        #expect(try await body.rest(from: 5).isEmpty)
        #expect(Body.empty.isEmpty)
    }

    @Test(arguments: [-1, 6, .max]) func `An offset that a body does not have throws`(offset: Int64) async throws {
        await #expect(throws: BodyOffsetError.self) { _ = try await Body("hello").open(at: offset) }
    }

    @Test func `An offset within a body that starts at the front throws`() async throws {
        let body = Body(replay: .fromStart) { _ in ChunkReader(chunks: ["a", "b"]) }
        await #expect(throws: BodyOffsetError.self) { _ = try await body.open(at: 1) }
        for _ in 1...2 { #expect(try await body.text(upTo: 2) == "ab") }
    }

    @Test func `A body for one reading throws at the second, even if nothing was read`() async throws {
        let body = Body(chunks: Self.stream("a", "b"))
        #expect(body.replay == .once)
        _ = try await body.open()
        await #expect(throws: BodyReadTwiceError.self) { try await body.data(upTo: 10) }
        await #expect(throws: BodyReadTwiceError.self) { for try await _ in body {} }
    }

    @Test func `Content that has arrived is in memory until it is read, once`() async throws {
        let (body, unread) = (Body(arrived: Data("ab".utf8)), Body(arrived: Data("ab".utf8)))
        #expect(body.replay == .once && body.length == 2 && body.bytes == Data("ab".utf8))
        #expect(try await body.text(upTo: 2) == "ab")
        #expect(body.bytes == nil)
        await #expect(throws: BodyReadTwiceError.self) { try await body.open() }
        await #expect(throws: CancellationError.self) { try await cancelled { try await unread.text(upTo: 2) } }
    }

    @Test func `Of many readers of a body for one reading, one gets the content`() async throws {
        let body = Body(chunks: Self.stream("a"))
        let texts = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<50 { group.addTask { try? await body.text(upTo: 10) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts.compactMap(\.self) == ["a"])
    }

    @Test func `Collecting stops at the limit`() async throws {
        #expect(try await Body("hello").data(upTo: 5).count == 5)
        let streamed = Body(chunks: Self.stream("hel", "lo"))
        await #expect(throws: BodyLimitError(limit: 4)) { try await streamed.data(upTo: 4) }
        await #expect(throws: BodyLimitError(limit: 4, length: 5)) { try await Body("hello").text(upTo: 4) }
        await #expect(throws: BodyLimitError(limit: -1, length: 0)) { try await Body.empty.data(upTo: -1) }
        let announced = Body(length: .max, replay: .once) { _ in ChunkReader(chunks: []) }
        await #expect(throws: BodyLimitError(limit: 4, length: .max)) { try await announced.data(upTo: 4) }
    }

    @Test(arguments: [["abc"], ["a"], [], ["a", "bc"]]) func `A stream that differs from its length throws`(
        chunks: [String]
    ) async throws {
        let body = Body(length: 2, replay: .fromStart) { _ in ChunkReader(chunks: chunks) }
        await #expect(throws: BodyLengthError.self) { try await body.data(upTo: 100) }
    }

    @Test func `Trailer fields come after the end`() async throws {
        let body = Body(replay: .fromStart) { _ in ChunkReader(chunks: ["a"], trailers: [.eTag: "\"1\""]) }
        #expect(try await body.collect(upTo: 10).trailers == [.eTag: "\"1\""])
        #expect(try await body.observed { _ in }.collect(upTo: 10).trailers == [.eTag: "\"1\""])
        #expect(try await Body("a").collect(upTo: 10).trailers.isEmpty)
    }

    @Test func `The captures of a body for one reading are released with the body or with its reader`() async throws {
        weak var lease: Lease?
        do {
            let body = Self.leased(&lease)
            #expect(lease != nil)
            _ = body
        }
        #expect(lease == nil)

        let opened = Self.leased(&lease)
        do {
            var reader: (any BodyReader)? = try await opened.open()
            #expect(try await reader?.next() != nil)
            #expect(lease != nil)
            reader = nil
        }
        #expect(lease == nil)
        #expect(opened.replay == .once)
    }

    @Test func `Draining reads at most up to its limit`() async throws {
        #expect(try await Body(chunks: Self.stream("ab")).drain(upTo: 2))
        #expect(try await !Body(chunks: Self.stream("ab", "c")).drain(upTo: 2))
        let failing = Body(replay: .once) { _ in throw TransportError(.connectionLost, at: .body) }
        #expect(try await !failing.drain(upTo: 2))
        let cancelled = Body(replay: .once) { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await cancelled.drain(upTo: 2) }
    }

    @Test func `Equality is by bytes, by file and by stream`() throws {
        let stream = Body(chunks: Self.stream("a"))
        let copy = stream
        #expect(stream == copy)
        #expect(stream != Body(chunks: Self.stream("a")))
        #expect(stream != "a")
        #expect(Body("a") == Body(Data([0x61])))
        #expect(Body("a") != "b")
    }

    private static func stream(_ chunks: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
            continuation.finish()
        }
    }

    private static func leased(_ reference: inout Lease?) -> Body {
        let lease = Lease()
        reference = lease
        return Body(replay: .once) { _ in LeasedReader(lease: lease) }
    }
}

private final class Lease: Sendable {}

private struct LeasedReader: BodyReader {
    let lease: Lease
    mutating func next() -> Data? { Data([1]) }

    var trailers: HTTPFields? { nil }
}

struct ChunkReader: BodyReader {
    var chunks: [String]
    var trailers: HTTPFields?

    mutating func next() -> Data? {
        chunks.isEmpty ? nil : Data(chunks.removeFirst().utf8)
    }
}

extension Body {
    func rest(from offset: Int64) async throws -> Data {
        var reader = try await open(at: offset)
        var data = Data()
        while let chunk = try await reader.next() { data += chunk }
        return data
    }
}

@Suite final class BodyFileTests {
    let file = FileManager.default.temporaryDirectory
        .appending(component: "decorum-body-\(UInt64.random(in: .min ... .max))")

    deinit {
        try? FileManager.default.removeItem(at: file)
    }

    @Test func `A file is read in chunks, any number of times, from any offset`() async throws {
        let content = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try content.write(to: file)
        let body = try Body(contentsOf: file)

        #expect(body.length == 1_000_000)
        #expect(body.replay == .fromAnyOffset)
        #expect(body.file == file)
        for _ in 1...2 { #expect(try await body.data(upTo: 1_000_000) == content) }
        #expect(try await body.rest(from: 999_990) == content.suffix(10))
        #expect(body == (try Body(contentsOf: file)))
    }

    @Test func `A missing file and a folder throw when the body is made`() {
        #expect(throws: (any Error).self) { try Body(contentsOf: file) }
        #expect(throws: CocoaError.self) { try Body(contentsOf: FileManager.default.temporaryDirectory) }
    }

    @Test func `A file that has become shorter throws, and a longer one is read to the length it had`() async throws {
        try Data(count: 100).write(to: file)
        let body = try Body(contentsOf: file)
        try Data(count: 99).write(to: file)
        await #expect(throws: BodyLengthError.self) { try await body.data(upTo: 100) }
        try Data(count: 200).write(to: file)
        #expect(try await body.data(upTo: 200).count == 100)
    }

    @Test func `An empty file is an empty body`() async throws {
        try Data().write(to: file)
        #expect(try Body(contentsOf: file).isEmpty)
        #expect(try await Body(contentsOf: file).data(upTo: 0).isEmpty)
    }
}

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
