#if Signing
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// RFC 9530.
@Suite(.timeLimit(.minutes(3))) struct ContentDigestTests {
    private static let hello = "{\"hello\": \"world\"}\n"
    private static let ofHello = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    // The digests are of these bytes; the RFC shows 8B 08 as the first ones, which code something else.
    private static let coded = Data([0x0B, 0x09, 0x80] + Array(hello.utf8) + [0x03])

    private func stub(
        _ status: HTTPResponse.Status = .ok, _ fields: HTTPFields, _ content: Data, trailers: HTTPFields? = nil
    ) -> StubConnection {
        StubConnection { _ in
            let body = Body(length: Int64(content.count), replay: .once) { _ in
                PiecesReader(pieces: content.map { Data([$0]) }[...], trailers: trailers)
            }
            return Response(status: status, fields: fields, body: content.isEmpty ? .empty : body)
        }
    }

    /// The appendices A and B, each with another content than the one of the digest too.
    private static let examples: [(HTTPResponse.Status, HTTPFields, Data, HTTPFields?)] = [
        (.ok, [.contentDigest: ofHello], Data(hello.utf8), nil),
        (
            .ok,
            [
                .contentDigest:
                    "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:"
            ], Data(hello.utf8), nil
        ),
        (
            .partialContent,
            [
                .reprDigest: ofHello, .contentRange: "bytes 10-18/19",
                .contentDigest: "sha-256=:jjcgBDWNAtbYUXI37CVG3gRuGOAjaaDRGpIUFsdyepQ=:",
            ], Data("\"world\"}\n".utf8), nil
        ),
        (
            .ok, [.contentEncoding: "br", .reprDigest: "sha-256=:d435Qo+nKZ+gLcUHn7GQtQ72hiBVAgqoLsZnZPiTGPk=:"], coded,
            nil
        ),
        (
            .ok,
            [
                .contentEncoding: "br",
                .reprDigest: "sha-256=:d435Qo+nKZ+gLcUHn7GQtQ72hiBVAgqoLsZnZPiTGPk=:, sha-512=:"
                    + "db7fdBbgZMgX1Wb2MjA8zZj+rSNgfmDCEEXM8qLWfpfoNY0sCpHAzZbj09X1/7HAb7Od5Qfto4QpuBsFbUO3dQ==:",
            ], coded, nil
        ),
        (
            .created, [.reprDigest: "sha-256=:uVSlinTTdQUwm2On4k8TJUikGN1bf/Ds8WPX4oe0h9I=:"],
            Data("{\n  \"id\": \"123\",\n  \"title\": \"New Title\"\n}\n".utf8), nil
        ),
        (
            .notFound, [.reprDigest: "sha-256=:EXB0S2VF2H7ijkAVJkH1Sm0pBho0iDZcvVUHHXTTZSA=:"],
            Data(
                ("{\n  \"title\": \"Not Found\",\n  \"detail\": \"Cannot PATCH a non-existent resource\","
                    + "\n  \"status\": 404\n}\n").utf8), nil
        ),
        (.ok, [.trailer: "Digest"], Data(hello.utf8), [.reprDigest: ofHello]),
    ]

    @Test(arguments: examples.indices)
    func `The content of an example passes, and any other does not`(index: Int) async throws {
        let (status, fields, content, trailers) = Self.examples[index]
        for isRequired in [true, false] {
            let good = stub(status, fields, content, trailers: trailers).verifyingDigests(isRequired: isRequired)
            let response = try await good.send(.get("https://a.example/"))
            #expect(try await response.body.data(upTo: 1000) == content)

            let bad = stub(status, fields, content + [0x20], trailers: trailers).verifyingDigests(
                isRequired: isRequired)
            var reader = try await bad.send(.get("https://a.example/")).body.open()
            for _ in content { _ = try await reader.next() }
            _ = try await reader.next()
            for _ in 0..<2 {
                let error = try await #require(throws: SigningError.self) { try await reader.next() }
                #expect(error.reason == .invalidSignature)
            }
        }
    }

    @Test func `A response without a digest passes unless one is required`() async throws {
        for fields in [[:], [.contentDigest: "md5=:AAAA:"], [.contentDigest: ""]] as [HTTPFields] {
            let stub = stub(.ok, fields, Data("a".utf8))
            let text = try await stub.verifyingDigests().send(.get("https://a.example/")).body.text(upTo: 10)
            #expect(text == "a")
            let error = try await #require(throws: SigningError.self) {
                try await stub.verifyingDigests(isRequired: true).send(.get("https://a.example/"))
            }
            #expect(error.reason == .missingSignature)
        }
        let announced = stub(.ok, [.trailer: "Content-Digest"], Data("a".utf8)).verifyingDigests(isRequired: true)
        let body = try await announced.send(.get("https://a.example/")).body
        await #expect(throws: SigningError.self) { try await body.data(upTo: 10) }
        // There is no content whose digest it could be.
        let empty = stub(.noContent, [.reprDigest: Self.ofHello], Data()).verifyingDigests(isRequired: true)
        _ = try await empty.send(.get("https://a.example/"))
        let head = stub(.ok, [.contentDigest: Self.ofHello], Data()).verifyingDigests(isRequired: true)
        _ = try await head.send(Request(.head, "https://a.example/"))
    }

    @Test(arguments: [
        "sha-256=1", "sha-256=?1", "sha-256", "=", "sha-256=:A:", String(repeating: "a,", count: 500_000),
    ])
    func `A digest that cannot be read is refused`(value: String) async throws {
        let error = try await #require(throws: SigningError.self) {
            try await stub(.ok, [.contentDigest: value], Data("a".utf8)).verifyingDigests().send(
                .get("https://a.example/"))
        }
        #expect(error.reason == .invalidSignature)
    }

    @Test func `Content that the transport has decoded cannot be checked`() async throws {
        let stub = StubConnection { _ in
            var response = Response(status: .ok, fields: [.contentDigest: Self.ofHello], body: "hello")
            response.metadata.decodedContentCodings = ["gzip"]
            return response
        }
        let error = try await #require(throws: SigningError.self) {
            try await stub.verifyingDigests().send(.get("https://a.example/"))
        }
        #expect(error.reason == .invalidConfiguration)
    }

    @Test func `Requests get digests of what is sent`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.digestingContent([.sha256, .sha512], addsRepresentation: true).compressing()
        let text = String(repeating: "the same line\n", count: 200)
        _ = try await connection.send(.put("https://a.example/", body: Body(Data(text.utf8))))
        let fields: HTTPFields = [.contentRange: "bytes 0-4/9", .contentDigest: "sha-256=:AAAA:"]
        _ = try await connection.send(.put("https://a.example/", fields: fields, body: "hello"))
        _ = try await connection.send(.get("https://a.example/"))
        for request in stub.requests.prefix(2) {
            let content = try await request.body.data(upTo: 1000)
            let digest = try await ContentDigest.of(Body(content), by: [.sha256, .sha512]).digest
            #expect(request.head.headerFields[.contentDigest] == digest.text)
        }
        #expect(stub.requests[0].head.headerFields[.contentEncoding] == "gzip")
        #expect(stub.requests[0].head.headerFields[.reprDigest] == stub.requests[0].head.headerFields[.contentDigest])
        #expect(stub.requests[1].head.headerFields[.reprDigest] == nil)
        #expect(stub.requests[2].head.headerFields.isEmpty)
    }

    @Test func `A file is hashed before it is sent, and a stream is kept or read twice`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        let content = BytePattern.bytes((1 << 20) + 1)
        try content.write(to: file)
        let whole = try await ContentDigest.of(Body(content), by: [.sha256]).digest
        #expect(try await ContentDigest.of(Body(contentsOf: file), by: [.sha256]).digest == whole)
        for (count, openings) in [(1 << 20, 1), ((1 << 20) + 1, 2)] {
            let opened = Monitor(0)
            let stream = Body(replay: .fromStart) { _ in
                opened.update { $0 += 1 }
                return PiecesReader(pieces: [content.prefix(count)], trailers: [.eTag: "1"])
            }
            let (_, body) = try await ContentDigest.of(stream, by: [.sha256])
            let (data, trailers) = try await body.collect(upTo: 1 << 21)
            #expect(data == content.prefix(count) && trailers == [.eTag: "1"])
            #expect(opened.state == openings)
        }
    }

    @Test func `The digest of content that is read once is refused, or follows it`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        func request() throws -> Request {
            let chunks = AsyncStream<Data> { continuation in
                continuation.yield(Data(Self.hello.utf8))
                continuation.finish()
            }
            return try .put(
                "https://a.example/", fields: [.contentLength: "19"], body: Body(chunks: chunks, length: 19))
        }
        let error = try await #require(throws: SigningError.self) {
            try await stub.digestingContent().send(request())
        }
        #expect(error.reason == .bodyReadOnce && stub.requests.isEmpty)
        _ = try await stub.digestingContent(streams: .trailers).send(request())
        let sent = try #require(stub.requests.first)
        #expect(sent.head.headerFields[.trailer] == "Content-Digest" && sent.head.headerFields[.contentLength] == nil)
        #expect(sent.body.length == nil)
        #expect(try await sent.body.collect(upTo: 100).trailers == [.contentDigest: Self.ofHello])
    }
}

/// Gives a body piece by piece.
private struct PiecesReader: BodyReader {
    var pieces: ArraySlice<Data>
    let trailers: HTTPFields?

    mutating func next() async throws -> Data? { pieces.popFirst() }
}
#endif
