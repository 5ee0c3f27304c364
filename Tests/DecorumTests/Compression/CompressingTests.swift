import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

@Suite struct CompressionDecisionTests {
    private static let long = Body(String(repeating: "x", count: 2000))
    private static let once = Body(replay: .once) { _ in DataBodyReader(data: Data()) }
    private static let again = Body(replay: .fromStart) { _ in DataBodyReader(data: Data()) }
    private static let known = Body(length: 5000, replay: .once) { _ in DataBodyReader(data: Data()) }

    @Test(
        arguments: [
            (.empty, [:], .pass), ("short", [:], .pass), (long, [:], .whole),
            (long, [.contentType: "text/plain"], .whole),
            (long, [.contentType: "image/jpeg"], .pass), (long, [.contentEncoding: "br"], .pass),
            (long, [.contentEncoding: "identity"], .pass), (long, [.contentRange: "bytes 0-1999/4000"], .pass),
            (long, [.contentMD5: "x"], .pass), (Body(Data(count: (1 << 20) + 1)), [:], .streamed), (once, [:], .pass),
            (again, [:], .streamed), (known, [:], .streamed),
        ] as [(Body, HTTPFields, CompressionDecision)])
    func `How a request is compressed`(body: Body, fields: HTTPFields, expected: CompressionDecision) throws {
        let request = try Request.post("https://a.example/", fields: fields, body: body)
        #expect(CompressionDecision.of(request, policy: .standard) == expected)
    }

    @Test func `A stream is compressed where the policy says so, and the length from which on`() throws {
        let stream = try Request.post("https://a.example/", body: Self.once)
        #expect(CompressionDecision.of(stream, policy: .init(compressesStreams: true)) == .streamed)
        let bytes = try Request.post("https://a.example/", body: Self.long)
        #expect(CompressionDecision.of(bytes, policy: .init(minimumLength: 2000)) == .whole)
        #expect(CompressionDecision.of(bytes, policy: .init(minimumLength: 2001)) == .pass)
    }

    @Test(
        arguments: [
            (nil, false), ("text/plain", false), ("application/json", false), ("image/svg+xml; charset=utf-8", false),
            ("image/png", true), ("IMAGE/PNG ; q", true), ("video/mp4", true), ("application/zip", true),
            ("application/epub+zip", true), ("application/octet-stream", false), ("font/woff2", true),
            ("font/ttf", false),
            ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", true),
        ] as [(String?, Bool)])
    func `Media types that are compressed as such`(type: String?, expected: Bool) {
        #expect(CompressionDecision.isCoded(mediaType: type) == expected)
    }

    @Test(
        arguments: [
            (415, nil, false), (415, "", true), (415, "identity", true), (415, "br", true), (415, "br, gzip", false),
            (415, "x-gzip", false), (415, "*", false), (415, "gzip;q=0, *", true), (415, "*;q=0", true),
            (415, "gzip;q=0.5", false), (415, "*;q=0, gzip", false), (400, "identity", false), (200, "identity", false),
        ] as [(Int, String?, Bool)])
    func `A response that refuses the coding`(code: Int, value: String?, expected: Bool) {
        var head = HTTPResponse(status: .init(code: code))
        head.headerFields[.acceptEncoding] = value
        #expect(CompressionDecision.isRefused(.gzip, by: head) == expected)
    }
}

extension HTTPField.Name {
    // A name without blanks.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let contentMD5 = HTTPField.Name("Content-MD5")!
}

@Suite(.timeLimit(.minutes(3))) struct CompressingTests {
    private static let text = String(repeating: "A line of a log that repeats.\n", count: 200)

    private func post(_ body: Body, fields: HTTPFields = [:]) throws -> Request {
        try .post("https://api.example.com/logs", fields: fields, body: body)
    }

    @Test(arguments: [ContentCoding.gzip, .deflate, .brotli, .zstd])
    func `Content in memory is compressed, with its new length`(coding: ContentCoding) async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let length = "\(Self.text.utf8.count)"
        _ = try await stub.compressing(CompressionPolicy(coding: coding))
            .send(post(Body(Self.text), fields: [.contentLength: length, .contentType: "text/plain"]))

        let sent = stub.requests[0]
        let coded = try #require(sent.body.bytes)
        #expect(sent.head.headerFields[.contentEncoding] == coding.name)
        #expect(sent.head.headerFields[.contentLength] == "\(coded.count)")
        #expect(sent.head.headerFields[.contentType] == "text/plain")
        #expect(try ContentDecoder.decode(coded, from: [coding]) == Data(Self.text.utf8))
        #expect(coded.count < 200)
    }

    @Test func `Content that does not become smaller is sent as it is`() async throws {
        let generator = SeededGenerator(seed: 1)
        let noise = Data((0..<4000).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
        let stub = StubConnection { _ in Response(status: .ok) }
        let request = try post(Body(noise), fields: [.contentLength: "4000"])
        _ = try await stub.compressing().send(request)
        #expect(stub.requests == [request])
    }

    @Test func `A stream is compressed as it is read, with its trailer fields, and as often as before`() async throws {
        let text = Data(Self.text.utf8)
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.compressing(CompressionPolicy(compressesStreams: true))
        let again = Body(length: Int64(text.count), replay: .fromAnyOffset) { _ in
            ChunkedDataReader(rest: text, size: 100, trailers: [.server: "x"])
        }
        let once = Body(replay: .once) { _ in ChunkedDataReader(rest: text, size: 100, trailers: [.server: "x"]) }
        for (body, replay) in [(again, Body.Replay.fromStart), (once, .once)] {
            _ = try await connection.send(post(body, fields: [.contentLength: "6000"]))
            let sent = try #require(stub.requests.last)
            #expect(sent.head.headerFields[.contentLength] == nil)
            #expect(sent.body.length == nil)
            #expect(sent.body.replay == replay)
            for _ in 1...(replay == .once ? 1 : 2) {
                let (coded, trailers) = try await sent.body.collect(upTo: 1 << 20)
                #expect(try ContentDecoder.decode(coded, from: [.gzip]) == text)
                #expect(trailers == [.server: "x"])
            }
        }
    }

    @Test(arguments: [ContentCoding.gzip, .brotli, .zstd])
    func `Each chunk of a live stream can be decoded when it is sent`(coding: ContentCoding) async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let lines = ["one\n", "two\n", "three\n"]
        let body = Body(replay: .once) { _ in ChunkReader(chunks: lines) }
        _ = try await stub.compressing(CompressionPolicy(coding: coding, compressesStreams: true)).send(post(body))

        let decoder = try ContentDecoder([coding])
        var reader = try await stub.requests[0].body.open()
        for line in lines {
            decoder.feed(try #require(try await reader.next()))
            var text = Data()
            while let part = try decoder.next() { text.append(part) }
            #expect(text == Data(line.utf8))
        }
        while let rest = try await reader.next() { decoder.feed(rest) }
        #expect(try decoder.next() == nil)
        try decoder.finish()
    }

    @Test func `A retry and a redirect send the whole content again`() async throws {
        let stub = StubConnection(
            answers: [
                { _ in Response(status: .serviceUnavailable, fields: [.retryAfter: "0"]) },
                { _ in Response(status: .temporaryRedirect, fields: [.location: "/new"]) },
                { _ in Response(status: .ok) },
            ])
        let connection = stub.compressing().retrying(clock: ImpatientClock()).followingRedirects()
        var request = try post(Body(Self.text))
        request.head.method = .put
        _ = try await connection.send(request)

        #expect(stub.requests.map(\.head.path) == ["/logs", "/logs", "/new"])
        for sent in stub.requests {
            #expect(sent.head.headerFields[values: .contentEncoding] == ["gzip"])
            let coded = try await sent.body.data(upTo: 1 << 20)
            #expect(try ContentDecoder.decode(coded, from: [.gzip]) == Data(Self.text.utf8))
        }
    }

    @Test func `A server that refuses the coding gets the content as it is, and is remembered`() async throws {
        let stub = StubConnection { request in
            request.head.headerFields.contains(.contentEncoding)
                ? Response(status: .unsupportedMediaType, fields: [.acceptEncoding: "identity"], body: "no")
                : Response(status: .ok)
        }
        let connection = stub.compressing()
        let request = try post(Body(Self.text))
        let response = try await connection.send(request)
        #expect(response.status == .ok)
        #expect(response.metadata.attempts == 2)
        #expect(stub.requests.count == 2 && stub.requests[1] == request)

        _ = try await connection.send(request)
        #expect(stub.requests.count == 3)
        _ = try await connection.send(.post("https://other.example/", body: Body(Self.text)))
        #expect(stub.requests.count == 5)
    }

    @Test func `A refusal of a body that cannot be read again is returned`() async throws {
        let stub = StubConnection(
            Response(status: .unsupportedMediaType, fields: [.acceptEncoding: "identity"], body: "no"))
        let body = Body(length: 2000, replay: .once) { _ in ChunkedDataReader(rest: Data(count: 2000), size: 2000) }
        let response = try await stub.compressing().send(post(body))
        #expect(response.status == .unsupportedMediaType)
        #expect(try await response.body.text(upTo: 10) == "no")
    }

    @Test func `An unknown coding compresses nothing`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let request = try post(Body(Self.text))
        _ = try await stub.compressing(CompressionPolicy(coding: ContentCoding("x-odd"))).send(request)
        #expect(stub.requests == [request])
    }

    @Test func `The error of a body passes unwrapped`() async throws {
        let stub = StubConnection { request in
            _ = try await request.body.data(upTo: 1 << 20)
            return Response(status: .ok)
        }
        let body = Body(chunksOf: Data(count: 3000), of: 1000, failure: BodyLengthError())
        await #expect(throws: BodyLengthError.self) {
            try await stub.compressing(CompressionPolicy(compressesStreams: true)).send(post(body))
        }
    }

    @Test(arguments: [ContentCoding.gzip, .deflate, .brotli, .zstd])
    func `Random content survives at each level`(coding: ContentCoding) throws {
        let generator = SeededGenerator(seed: 5)
        for level in [nil, -5, 0, 1, 9, 99] as [Int?] {
            let encoder = try #require(ContentEncoder(coding, level: level))
            var (content, coded) = (Data(), Data())
            for _ in 0..<40 {
                let byte = UInt8(truncatingIfNeeded: generator.next())
                let part =
                    byte % 2 == 0
                    ? Data(repeating: byte, count: Int(generator.next() % 20_000))
                    : Data((0..<Int(generator.next() % 5000)).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
                content.append(part)
                coded.append(try encoder.encode(part, flush: byte % 3 == 0 ? .all : .none))
            }
            coded.append(try encoder.encode(Data(), flush: .end))
            #expect(try ContentDecoder.decode(coded, inPiecesOf: 777, from: [coding.name]) == content)
        }
    }
}
