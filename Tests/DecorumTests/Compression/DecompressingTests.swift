import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

@Suite struct DecompressionDecisionTests {
    @Test(
        arguments: [
            ([:], "gzip, br"), ([.range: "bytes=0-9"], "identity"), ([.acceptEncoding: "identity"], nil),
            ([.acceptEncoding: ""], nil), ([.acceptEncoding: "br", .range: "bytes=0-9"], nil),
        ] as [(HTTPFields, String?)])
    func `The codings to ask for`(fields: HTTPFields, expected: String?) {
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/", headerFields: fields)
        let offer = HTTPField(name: .acceptEncoding, value: "gzip, br")
        let field = DecompressionDecision.acceptEncoding(for: head, offering: offer)
        #expect(field == expected.map { HTTPField(name: .acceptEncoding, value: $0) })
    }

    @Test(
        arguments: [
            (["gzip", "br", "zstd"], "gzip, br, zstd"), (["br"], "br"), ([], "identity"),
            (["deflate", "zstd"], "zstd"),
        ] as [(Set<String>, String)])
    func `A coding that is not available is not offered`(available: Set<String>, expected: String) {
        #expect(
            DecompressionDecision.offer([.gzip, .brotli, .zstd]) { available.contains($0.name) } == expected)
    }

    @Test(arguments: [
        (200, "GET", ["gzip"], ["gzip"]), (200, "GET", ["GZIP"], ["gzip"]), (200, "GET", ["x-gzip"], ["x-gzip"]),
        (200, "GET", [], []), (200, "GET", [""], []), (200, "GET", ["identity"], []),
        (200, "GET", ["identity, gzip"], ["gzip"]), (200, "GET", ["gzip, br"], ["gzip", "br"]),
        (200, "GET", ["gzip", "br"], ["gzip", "br"]), (200, "GET", ["gzip, x-odd"], ["gzip", "x-odd"]),
        (200, "GET", ["x-odd, gzip"], ["x-odd", "gzip"]), (200, "GET", [" gzip ,, br,"], ["gzip", "br"]),
        (404, "GET", ["gzip"], ["gzip"]), (503, "POST", ["gzip"], ["gzip"]), (301, "GET", ["gzip"], ["gzip"]),
        (200, "HEAD", ["gzip"], []), (204, "GET", ["gzip"], []), (304, "GET", ["gzip"], []), (206, "GET", ["gzip"], []),
        (416, "GET", ["gzip"], ["gzip"]), (200, "GET", ["gzip;q=1"], ["gzip;q=1"]),
    ])
    func `The codings to undo`(code: Int, method: String, values: [String], expected: [String]) throws {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .contentEncoding, value: value)) }
        let head = HTTPResponse(status: .init(code: code), headerFields: fields)
        let codings = DecompressionDecision.codings(of: head, to: try #require(HTTPRequest.Method(rawValue: method)))
        #expect(codings.map(\.name) == expected)
    }

    @Test func `Fields that describe the coded bytes go, and validators stay`() throws {
        let kept: HTTPFields = [
            .contentType: "application/json", .eTag: #""1-gzip""#, .vary: "Accept-Encoding",
            .lastModified: "Sat, 29 Oct 1994 19:43:31 GMT", .acceptRanges: "bytes",
        ]
        var head = HTTPResponse(status: .ok, headerFields: kept)
        for name in ["Content-Encoding", "Content-Length", "Content-Digest", "Repr-Digest", "Content-MD5", "Digest"] {
            for _ in 1...2 { head.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: "1")) }
        }
        head.headerFields = DecompressionDecision.withoutCodedFields(head.headerFields)
        #expect(head.headerFields == kept)
    }
}

@Suite(.timeLimit(.minutes(3))) struct DecompressingTests {
    let request: Request

    init() throws {
        request = try .get("https://api.example.com/items")
    }

    private func answer(_ file: String = "items.gz", coding: String = "gzip", fields: HTTPFields = [:]) throws
        -> Response
    {
        let data = try CodedItems.data(file)
        let digest = try #require(HTTPField.Name("Content-Digest"))
        var response = Response(
            status: .ok, fields: [.contentEncoding: coding, .contentLength: "\(data.count)"],
            body: Body(chunksOf: data, of: 1000, trailers: [.server: "trailer", digest: "sha-256=:AAAA:"]))
        response.head.headerFields.append(contentsOf: fields)
        return response
    }

    @Test(arguments: CodedItems.all)
    func `A coded response is decoded, and no field claims otherwise`(item: (file: String, codings: [String]))
        async throws
    {
        let coding = item.codings.joined(separator: ", ")
        let stub = StubConnection(try answer(item.file, coding: coding, fields: [.eTag: #""1""#]))
        let response = try await stub.decompressing().send(request)

        #expect(response.head.headerFields == [.eTag: #""1""#])
        #expect(response.metadata.decodedContentCodings == item.codings.reversed())
        #expect(response.metadata.source == .stub)
        #expect(response.body.length == nil)
        let (data, trailers) = try await response.body.collect(upTo: 1 << 20)
        #expect(data == (try CodedItems.content()))
        #expect(trailers == [.server: "trailer"])
        #expect(stub.requests[0].head.headerFields == [.acceptEncoding: "gzip, br, zstd"])
    }

    @Test func `Over a platform that decodes by itself, only the coding that every platform knows is offered`()
        async throws
    {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.intercepting(facts: [.decodesContent]) { request, base in try await base.send(request) }
        _ = try await connection.decompressing().send(request)
        #expect(stub.requests.map(\.head.headerFields) == [[.acceptEncoding: "gzip"]])
        #expect(URLSessionConnection().layers[0].facts.contains(.decodesContent))
    }

    @Test func `A request for a range asks for identity, and the wish of a caller stays`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.decompressing(DecompressionPolicy(codings: [.gzip, ContentCoding("x-odd")]))
        for fields in [[:], [.range: "bytes=1-"], [.acceptEncoding: "br;q=0.5"]] as [HTTPFields] {
            _ = try await connection.send(.get("https://api.example.com/", fields: fields))
        }
        #expect(stub.requests.map { $0.head.headerFields[.acceptEncoding] } == ["gzip", "identity", "br;q=0.5"])
        #expect(connection.layers.first?.description == "decompressing(codings: gzip, maximumRatio: 200)")
    }

    @Test(arguments: [
        ("GET", 206, "gzip"), ("GET", 206, "x-odd"), ("GET", 200, "identity"),
        ("HEAD", 200, "gzip"), ("GET", 304, "gzip"), ("GET", 204, "gzip"),
    ])
    func `A response that is not to be decoded passes unchanged`(method: String, code: Int, coding: String) async throws
    {
        let fields: HTTPFields = [.contentEncoding: coding, .contentLength: "4", .contentType: "text/plain"]
        let stub = StubConnection(Response(status: .init(code: code), fields: fields, body: "text"))
        let response = try await stub.decompressing().send(
            Request(try #require(HTTPRequest.Method(rawValue: method)), "https://api.example.com/"))

        #expect(response.head.headerFields == fields)
        #expect(response.metadata.decodedContentCodings.isEmpty)
        #expect(try await response.body.text(upTo: 10) == "text")
    }

    @Test(arguments: ["x-zap", "x-zap, br", "br, x-zap", "gzip, br, x-zap"])
    func `Content in a coding that is not known is not read, and the coding is named`(codings: String) async throws {
        for (body, isEmpty) in [
            (Body("coded"), false), (Body(chunksOf: Data("coded".utf8), of: 1), false), (.empty, true),
        ] {
            let answer = Response(status: .notFound, fields: [.contentEncoding: codings], body: body)
            let connection = StubConnection { _ in answer }.decompressing()
            let response = try await connection.send(request)

            #expect(response.head == answer.head && response.metadata.decodedContentCodings.isEmpty)
            guard !isEmpty else {
                #expect(try await response.body.data(upTo: 10).isEmpty)
                continue
            }
            let error = await #expect(throws: ContentCodingError.self) { try await response.body.text(upTo: 10) }
            #expect(error?.reason == .unavailable && error?.description.contains("x-zap") == true)
            await #expect(throws: StatusError.self) { try await connection.validatingStatus().send(request) }
        }
    }

    @Test func `A caller may keep the coding`() async throws {
        let stub = StubConnection(try answer())
        var request = request
        request.options.keepsContentCoding = true
        let response = try await stub.decompressing().send(request)

        #expect(stub.requests[0].head.headerFields == [:])
        #expect(response.head.headerFields[.contentEncoding] == "gzip")
        #expect(try await response.body.data(upTo: 1 << 20) == (try CodedItems.data("items.gz")))
    }

    @Test func `An empty body with a coding is empty`() async throws {
        for body in [Body.empty, Body(chunksOf: Data(), of: 1)] {
            let stub = StubConnection(Response(status: .ok, fields: [.contentEncoding: "gzip"], body: body))
            let response = try await stub.decompressing().send(request)
            #expect(try await response.body.data(upTo: 10).isEmpty)
        }
    }

    @Test func `A body that can be read again is decoded again, after what the transport undid`() async throws {
        var answer = Response(
            status: .ok, fields: [.contentEncoding: "gzip"], body: Body(try CodedItems.data("items.gz")))
        answer.metadata.decodedContentCodings = ["br"]
        let response = try await StubConnection(answer).decompressing().send(request)
        let body = response.body

        #expect(response.metadata.decodedContentCodings == ["br", "gzip"])
        #expect(body.replay == .fromStart)
        for _ in 1...2 { #expect(try await body.data(upTo: 1 << 20) == (try CodedItems.content())) }
    }

    @Test func `The cache within keeps what came, and a hit is decoded again`() async throws {
        let stub = StubConnection(try answer(fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding"]))
        let store = MemoryResponseStore()
        let connection = stub.caching(in: store).decompressing()
        for source in [ResponseMetadata.Source.stub, .cache] {
            let response = try await connection.send(request)
            #expect(response.metadata.source == source)
            #expect(response.metadata.decodedContentCodings == ["gzip"])
            #expect(try await response.body.data(upTo: 1 << 20) == (try CodedItems.content()))
        }
        #expect(stub.requests.count == 1)
        var coded = request
        coded.options.keepsContentCoding = true
        coded.head.headerFields[.acceptEncoding] = "gzip, br, zstd"
        let stored = try await connection.send(coded)
        #expect(stored.metadata.source == .cache)
        #expect(try await stored.body.data(upTo: 1 << 20) == (try CodedItems.data("items.gz")))
    }

    @Test func `Damaged content ends the transfer with an error that stays`() async throws {
        let transfer = GatedTransfer.open
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentEncoding: "gzip"], body: transfer.body(chunks: 1000)))
        let body = try await stub.decompressing().send(request).body
        var reader = try await body.open()
        for _ in 1...2 {
            let error = await #expect(throws: ContentCodingError.self) { try await reader.next() }
            #expect(error?.reason == .malformed)
        }
        #expect(!transfer.isAlive)
        #expect(transfer.chunksRead == 1)
        _ = reader
    }

    @Test func `Too many codings fail the reading, not the call`() async throws {
        let stub = StubConnection(try answer(coding: "gzip, gzip, gzip, gzip"))
        let response = try await stub.decompressing().send(request)
        #expect(response.status == .ok)
        let error = await #expect(throws: ContentCodingError.self) { try await response.body.data(upTo: 10) }
        #expect(error?.reason == .maximumCodings)
    }

    @Test func `A cancelled task decodes nothing more of what is in memory`() async throws {
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentEncoding: "gzip"], body: Body(try CodedItems.data("items.gz"))))
        let body = try await stub.decompressing().send(request).body
        await #expect(throws: CancellationError.self) { try await cancelled { try await body.data(upTo: 1 << 20) } }
    }
}
