import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Codings of an app's own: run lengths, and decoders that break their contract.
@Suite(.timeLimit(.minutes(3))) struct OwnCodingTests {
    static let packed = ContentCoding("X-Packed", encoder: { _ in RunLengthEncoder() }, decoder: { RunLengthDecoder() })
    private static let policy = DecompressionPolicy(codings: [packed, .gzip])

    private static func pack(_ data: Data) throws -> Data {
        try #require(try ContentEncoder(packed)?.encode(data, flush: .end))
    }

    @Test(arguments: [1, 2, 700, 1 << 20])
    func `M69: A coding of the app's own is asked for, decoded and reported, in chunks of any size`(size: Int)
        async throws
    {
        let content = try CodedItems.content() + Data(repeating: 7, count: 100_000)
        let coded = try Self.pack(content)
        let stub = StubConnection(
            answers: [Body(chunksOf: coded, of: size), Body(chunksOf: coded, of: size).unannounced].map {
                body in { _ in Response(status: .ok, fields: [.contentEncoding: "x-packed"], body: body) }
            })
        for isAnnounced in [true, false] {
            let response = try await stub.decompressing(Self.policy).send(.get("https://a.example/"))
            #expect(stub.requests[0].head.headerFields == [.acceptEncoding: "x-packed, gzip"])
            #expect(response.report.codings == ["x-packed"] && response.report.bytesReceived == 0)
            #expect(response.report.codedLength == (isAnnounced ? Int64(coded.count) : nil))
            #expect(try await response.body.data(upTo: 1 << 20) == content)
            let report = response.report
            #expect(report.codedLength == Int64(coded.count) && report.bytesReceived == Int64(content.count))
            #expect(report.explain().contains("(x-packed, \(coded.count) as sent)"))
        }
    }

    @Test func `M69: It comes slowly over a real socket, under a coding of the system`() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let content = try CodedItems.content()
        let coded = try #require(try ContentEncoder(.gzip)?.encode(Self.pack(content), flush: .end))
        let gate = Gate()
        origin.enqueue(
            .script(
                .head(.ok, ["Content-Encoding": "x-packed, gzip", "Transfer-Encoding": "chunked"]),
                .chunk(coded.prefix(1500)), .wait(gate), .chunk(coded.dropFirst(1500)), .lastChunk()))
        let response = try await SystemConnection().decompressing(Self.policy).send(.get(origin.url))
        var (reader, read) = (try await response.body.open(), Data())
        while let part = try await reader.next() {
            read += part
            gate.open()
        }
        #expect(read == content && response.metadata.decodedContentCodings == ["gzip", "x-packed"])
        #expect(response.report.codedLength == Int64(coded.count))
    }

    @Test func `A reader that is dropped early ends the transfer`() async throws {
        let transfer = GatedTransfer.open
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentEncoding: "x-packed"], body: transfer.body(chunks: 1000)))
        var body: Body? = try await stub.decompressing(Self.policy).send(.get("https://a.example/")).body
        var reader = try await body?.open()
        #expect(try await reader?.next() != nil)
        (reader, body) = (nil, nil)
        #expect(!transfer.isAlive && transfer.chunksRead < 3)
    }

    enum Fault { case throwing, incomplete, idle, generous, growing, endless, millionfold }

    @Test(
        arguments: [
            (.throwing, .malformed, 10), (.incomplete, .truncated, 10), (.generous, .malformed, 10),
            // One that never takes a byte would keep all of the content.
            (.growing, .malformed, 10), (.idle, .malformed, 1000), (.idle, .truncated, 2),
            (.endless, .maximumRatio, 10), (.endless, .maximumLength, 10), (.millionfold, .maximumRatio, 10),
        ] as [(Fault, ContentCodingError.Reason, Int)])
    func `A decoder that throws, breaks its contract or never ends stops the transfer, and its error is not shown`(
        fault: Fault, reason: ContentCodingError.Reason, chunks: Int
    ) async throws {
        let transfer = GatedTransfer.open
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentEncoding: "x-own"], body: transfer.body(chunks: chunks)))
        var policy = DecompressionPolicy(codings: [ContentCoding("x-own") { FaultyDecoder(fault: fault) }])
        if reason == .maximumLength {
            policy.limits = .init(maximumRatio: .max, maximumLength: Int64(ContentDecodingLimits.freeLength))
        }
        var reader = try await stub.decompressing(policy).send(.get("https://a.example/")).body.open()
        var count = 0
        let error = await #expect(throws: ContentCodingError.self) {
            while let part = try await reader.next() { count += part.count }
        }
        #expect(error?.reason == reason && count <= ContentDecodingLimits.freeLength)
        #expect(!transfer.isAlive && transfer.bytesRead < 70_000)
        #expect(error.map { "\($0) \(String(reflecting: $0))".contains("s3cret") } == false)
    }

    @Test func `A request is compressed with it, and an encoder that throws fails the call`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let content = Data(repeating: 1, count: 10_000)
        let connection = stub.compressing(CompressionPolicy(coding: Self.packed))
        _ = try await connection.send(.post("https://a.example/", body: Body(content)))
        _ = try await connection.send(.post("https://a.example/", body: Body(chunksOf: content, of: 3000)))
        for sent in stub.requests {
            #expect(sent.head.headerFields[.contentEncoding] == "x-packed")
            let coded = try await sent.body.data(upTo: 1 << 20)
            #expect(coded.count < 1000)
            #expect(try ContentDecoder.decode(coded, from: [Self.packed]) == content)
        }
        let failing = ContentCoding("x-own", encoder: { _ in FailingEncoder() }, decoder: { RunLengthDecoder() })
        let error = await #expect(throws: ContentCodingError.self) {
            try await stub.compressing(CompressionPolicy(coding: failing)).send(
                .post("https://a.example/", body: Body(content)))
        }
        #expect(error?.shortDescription == "unencodable" && error?.description.contains("s3cret") == false)
    }

    @Test func `A coding without a usable name or an encoder is not available`() async throws {
        for name in ["", "x own", "x,y", "x\r\ny"] {
            let coding = ContentCoding(name, encoder: { _ in RunLengthEncoder() }, decoder: { RunLengthDecoder() })
            #expect(!coding.isDecodable && !coding.isEncodable)
        }
        #expect(!ContentCoding("x-own") { RunLengthDecoder() }.isEncodable && Self.packed.isEncodable)
        #expect(ContentCoding("x-packed") == Self.packed && !ContentCoding("x-packed").isDecodable)
        // It takes the place of the system's only where it is passed.
        let coded = try Self.pack(Data("text".utf8))
        let own = ContentCoding("br") { RunLengthDecoder() }
        #expect(try ContentDecoder.decode(coded, from: [own]) == Data("text".utf8))
        #expect(ContentCoding.brotli.own == nil)
        let stub = StubConnection(Response(status: .ok, fields: [.contentEncoding: "x-packed"], body: Body(coded)))
        let unknown = try await stub.decompressing().send(.get("https://a.example/"))
        await #expect(throws: ContentCodingError.self) { try await unknown.body.data(upTo: 10) }
    }

    @Test func `Empty content has no end to check, and a coding of the platform's decoder is not added`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, fields: [.contentEncoding: "x-own"], body: "") }
        let policy = DecompressionPolicy(codings: [ContentCoding("x-own") { FaultyDecoder(fault: .incomplete) }])
        #expect(try await stub.decompressing(policy).send(.get("https://a.example/")).body.data(upTo: 1).isEmpty)
        #expect(try ContentDecoder.decode(Data(), from: policy.codings).isEmpty)
        #if os(Linux)
        let layers = URLSessionConnection().decompressing(Self.policy).layers
        #expect(layers.first?.description.contains("codings: gzip,") == true)
        #endif
    }
}

extension Body {
    /// The body, of which the head does not tell the length.
    fileprivate var unannounced: Body { Body(replay: .once) { _ in try await open() } }
}

private struct RunLengthDecoder: ContentCodingDecoder {
    mutating func decode(_ coded: inout Data, upTo count: Int) -> Data {
        let runs = min(coded.count / 2, count / 255)
        var decoded = Data()
        for run in 0..<runs { decoded += Data(repeating: coded[2 * run + 1], count: Int(coded[2 * run])) }
        coded.removeFirst(2 * runs)
        return decoded
    }

    mutating func finish() {}
}

private struct RunLengthEncoder: ContentCodingEncoder {
    mutating func encode(_ data: Data, flushing: Bool) -> Data {
        var (coded, rest) = (Data(), data)
        while let first = rest.first {
            let run = rest.prefix(255).prefix { $0 == first }.count
            coded += [UInt8(run), first]
            rest = rest.dropFirst(run)
        }
        return coded
    }

    mutating func finish() -> Data { Data() }
}

private struct FailingEncoder: ContentCodingEncoder {
    mutating func encode(_ data: Data, flushing: Bool) throws -> Data { throw SecretError() }
    mutating func finish() throws -> Data { throw SecretError() }
}

private struct SecretError: Error, CustomStringConvertible { let description = "s3cret content" }

private struct FaultyDecoder: ContentCodingDecoder {
    let fault: OwnCodingTests.Fault
    private var due = 0

    init(fault: OwnCodingTests.Fault) { self.fault = fault }

    mutating func decode(_ coded: inout Data, upTo count: Int) throws -> Data {
        if fault == .idle { return Data() }
        if fault == .growing {
            coded.append(0)
            return Data()
        }
        due += coded.count * 1_000_000
        coded = Data()
        switch fault {
        case .throwing: throw SecretError()
        case .incomplete: return Data()
        case .generous: return Data(count: count + 1)
        case .endless: return Data(count: count)
        default:
            defer { due -= min(due, count) }
            return Data(count: min(due, count))
        }
    }

    mutating func finish() throws { throw SecretError() }
}
