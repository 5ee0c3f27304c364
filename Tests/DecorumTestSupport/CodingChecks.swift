public import Decorum
import DecorumTesting
public import Foundation
import HTTPTypes
import Testing

/// `Fixtures/content-codings`: one content in each coding, as other programs made it.
public enum CodedItems: Sendable {
    /// Each file with the codings that it has, in the order in which they were applied.
    public static let all: [(file: String, codings: [String])] = [
        ("items.gz", ["gzip"]), ("items.gz", ["x-gzip"]), ("items.header.gz", ["gzip"]),
        ("items.members.gz", ["gzip"]), ("items.zlib", ["deflate"]), ("items.deflate", ["deflate"]),
        ("items.br", ["br"]), ("items.zst", ["zstd"]), ("items.frames.zst", ["zstd"]),
        ("items.gz.br", ["gzip", "br"]),
    ]

    /// The content of each file.
    public static func content() throws -> Data { try data("items.json") }

    /// The coded content.
    public static func data(_ file: String) throws -> Data { try Fixtures.data("content-codings/\(file)") }
}

extension ContentDecoder {
    /// Decodes content that comes in pieces of a size.
    public static func decode(
        _ data: Data, inPiecesOf size: Int, from codings: [String], limits: ContentDecodingLimits = .standard
    ) throws(ContentCodingError) -> Data {
        let decoder = try ContentDecoder(codings.map { ContentCoding($0) }, limits: limits)
        var content = Data()
        var rest = data
        while !rest.isEmpty {
            decoder.feed(rest.prefix(size))
            rest = rest.dropFirst(size)
            while let part = try decoder.next() { content.append(part) }
        }
        try decoder.finish()
        return content
    }
}

/// Checks of one stack over real sockets, which hold for each transport.
public struct CodingChecks<Transport: Connection>: Sendable {
    private let transport: Transport
    private let origin: LoopbackOrigin
    /// The files that the transport decodes itself, and cannot decode.
    private let undecodable: Set<String>

    /// Creates checks of a transport and an origin for them.
    public init(_ transport: Transport, undecodable: Set<String> = []) throws {
        self.transport = transport
        self.undecodable = undecodable
        origin = try LoopbackOrigin()
    }

    /// Each coding gives the same bytes, the same metadata and a head that claims nothing else.
    public func checkAnswers() async throws {
        let connection = transport.retrying().decompressing()
        for (file, codings) in CodedItems.all where !undecodable.contains(file) {
            let fields: RawFields = ["Content-Encoding": codings.joined(separator: ", "), "ETag": #""1""#]
            let coded = try CodedItems.data(file)
            let chunks = [coded.prefix(1), coded.dropFirst(1).prefix(1500), coded.dropFirst(1501)]
            for answer in [
                LoopbackOrigin.Answer(fields: fields, body: coded), .chunked(fields: fields, chunks: chunks),
                .untilClose(fields: fields, body: coded),
            ] {
                origin.enqueue(answer)
                let response = try await connection.send(.get(origin.url + "/items"))
                #expect(response.head.headerFields[.contentEncoding] == nil)
                #expect(response.head.headerFields[.contentLength] == nil)
                #expect(response.head.headerFields[.eTag] == #""1""#)
                #expect(response.metadata.decodedContentCodings == codings.reversed())
                do {
                    let content = try await response.body.data(upTo: 1 << 20)
                    #expect(content == (try CodedItems.content()), "\(file)")
                } catch {
                    Issue.record(error, "\(file)")
                }
            }
        }
        let decodesItself = transport.layers.contains { $0.facts.contains(.decodesContent) }
        let offer = decodesItself ? "gzip" : "gzip, br, zstd"
        #expect(origin.requests.allSatisfy { $0.fields["Accept-Encoding"] == offer })
    }

    /// Trailer fields stay, and the connection is used again.
    public func checkTrailers() async throws {
        let coded = try CodedItems.data("items.gz")
        for _ in 1...3 {
            origin.enqueue(
                .chunked(fields: ["Content-Encoding": "gzip"], chunks: [coded], trailers: ["Server-Timing": "a"]))
            let response = try await transport.decompressing().send(.get(origin.url + "/items"))
            let (data, trailers) = try await response.body.collect(upTo: 1 << 20)
            #expect(data == (try CodedItems.content()))
            #expect(trailers.map(\.value) == ["a"])
        }
        #expect(origin.connectionCount == 1)
    }

    /// A message that ends too early is an error of the transport.
    public func checkTruncatedMessage() async throws {
        let coded = try CodedItems.data("items.gz")
        origin.enqueue(
            .script(
                .head(.ok, ["Content-Encoding": "gzip", "Content-Length": "\(coded.count)"]),
                .raw(coded.prefix(2000)), .close))
        await #expect(throws: TransportError.self) {
            try await transport.decompressing().send(.get(origin.url + "/items")).body.data(upTo: 1 << 20)
        }
    }

    /// A coding that ends too early in a complete message is an error of the layer.
    public func checkTruncatedCoding() async throws {
        let part = try CodedItems.data("items.gz").prefix(2000)
        origin.enqueue(LoopbackOrigin.Answer(fields: ["Content-Encoding": "gzip"], body: part))
        let error = await #expect(throws: ContentCodingError.self) {
            try await transport.decompressing().send(.get(origin.url + "/items")).body.data(upTo: 1 << 20)
        }
        #expect(error?.reason == .truncated)
    }

    /// A bomb ends in the error of the limit, and its transfer ends.
    public func checkBomb() async throws {
        let member = try CodedItems.data("items.gz")
        let limits = ContentDecodingLimits(maximumRatio: 1)
        let connection = transport.decompressing(DecompressionPolicy(limits: limits))
        var chunk = Data()
        while chunk.count < 60_000 { chunk.append(member) }
        let steps = [LoopbackOrigin.Step](repeating: .chunk(chunk), count: 1000)
        origin.enqueue(
            LoopbackOrigin.Answer(
                steps: [.head(.ok, ["Content-Encoding": "gzip", "Transfer-Encoding": "chunked"])] + steps + [.hang]))
        let body = try await connection.send(.get(origin.url + "/bomb")).body
        var count = 0
        let error = await #expect(throws: ContentCodingError.self) {
            for try await part in body { count += part.count }
        }
        #expect(error?.reason == .maximumRatio)
        #expect(count < 2 << 20)
        try await origin.waitForOpenConnections(0)
    }

    /// Requests arrive compressed with their true length, or in chunks.
    public func checkRequests() async throws {
        origin.route(.put, "*", LoopbackOrigin.Answer(body: "ok"))
        let connection = transport.compressing(CompressionPolicy(compressesStreams: true)).retrying()
        let content = try CodedItems.content()
        let stream = Body(replay: .fromStart) { _ in try await Body(content).open() }
        for body in [Body(content), stream] {
            let response = try await connection.send(.put(origin.url + "/items", body: body))
            #expect(try await response.body.text(upTo: 10) == "ok")
            let received = try #require(origin.requests.last)
            #expect(received.fields["Content-Encoding"] == "gzip")
            #expect(received.fields["Content-Length"].map { $0 == "\(received.bodyLength)" } ?? true)
            #expect(try ContentDecoder.decode(received.body, from: [.gzip]) == content)
        }
    }
}
