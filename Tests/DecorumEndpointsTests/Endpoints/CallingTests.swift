import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(1))) struct CallingTests {
    private let one = #"{"id":1,"name":"one"}"#

    @Test func `A call gives the value, the content, the head and the request`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(
            .get, "/v1/items/1", .init(fields: ["ETag": "\"a\"", "Content-Type": "application/json"], body: one))
        let connection = try SystemConnection().calling(at: origin.url + "/v1")
        let answer = try await connection.response(of: .item(1))
        #expect(answer.value == Item(id: 1, name: "one"))
        #expect(answer.content == Data(one.utf8))
        #expect(answer.head.headerFields[.eTag] == "\"a\"")
        #expect(answer.metadata.url?.absoluteString == origin.url + "/v1/items/1")
        #expect(answer.request.head.path == "items/1")
        #expect("\(answer)" == "200 with a value of Item")
        #expect(origin.requests.map(\.target) == ["/v1/items/1"])
    }

    @Test(arguments: ["https://api.example.com/v1", "https://api.example.com/v1/"])
    func `The base keeps its path`(base: String) async throws {
        let stub = StubConnection { [one] _ in Response(status: .ok, body: Body(one)) }
        let connection = try stub.calling(at: base)
        _ = try await connection.value(of: .item(1))
        _ = try await connection.value(of: Endpoint<Item>.get("items:search", query: ["q": "a"]))
        _ = try await connection.value(of: Endpoint<Item>.get("https://other.example/x"))
        _ = try await connection.send(.get("plain?a=b"))
        #expect(
            stub.requests.map { $0.url?.absoluteString } == [
                "https://api.example.com/v1/items/1", "https://api.example.com/v1/items:search?q=a",
                "https://other.example/x", "https://api.example.com/v1/plain?a=b",
            ])
    }

    @Test(arguments: ["https://api.example.com/v1?key=a", "https://api.example.com/#a", "api.example.com", "ftp://x/"])
    func `A base that cannot be one is refused`(base: String) {
        #expect(throws: InvalidRequestError.self) { try StubConnection().calling(at: base) }
    }

    @Test func `A body that is read whole has the time of its call, and one that is streamed may take longer`()
        async throws
    {
        let clock = VirtualClock()
        let transport = ClosureConnection { request in
            let (path, fields): (_, HTTPFields) = (request.head.path, [.contentType: "application/json"])
            let body = Body(replay: .once) { _ in DrippingReader(clock: clock, endsAfter: path == "/stream" ? 100 : nil)
            }
            return Response(
                head: HTTPResponse(status: path == "/refused" ? .badRequest : .ok, headerFields: fields), body: body,
                metadata: ResponseMetadata(answering: request, from: .stub))
        }
        let connection = try StandardStack(for: "https://api.example.com/").composed(over: transport, clock: clock)

        for read: @Sendable () async throws -> Void in [
            { _ = try await connection.value(of: .item(1)) },
            { _ = try await connection.send(.get("item")).decode(Item.self, upTo: 1000) },
            { _ = try await connection.send(.get("item")).text(upTo: 1000) },
        ] {
            let error = try await #require(throws: TransportError.self) { try await read() }
            #expect(error.code == .deadlineExceeded && error.stage == .body && error.elapsed == .seconds(30))
            #expect("\(error)".contains("The deadline of the call to api.example.com:443 passed"))
        }
        let refusal = await #expect(throws: RefusalError.self) {
            try await connection.value(of: Endpoint<Item>.get("refused"))
        }
        #expect(refusal?.status == .badRequest)
        await #expect(throws: TransportError.self) { try await refusal?.statusError.response.body.data(upTo: 1000) }
        try await connection.value(of: Endpoint<Void>.get("item"))

        var count = 0
        for try await chunk in try await connection.send(.get("stream")).body { count += chunk.count }
        #expect(count == 100)
    }

    @Test func `The decoder and the limit of the API count for each call`() async throws {
        struct Long: Decodable, Sendable, Equatable { var longName: String }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let stub = StubConnection { _ in Response(status: .ok, body: #"{"long_name":"x"}"#) }
        let connection: any Connection = stub.calling(API(decoder: decoder, limit: 20))
        #expect(try await connection.value(of: Endpoint<Long>.get("x")) == Long(longName: "x"))
        var short = Endpoint<Long>.get("x")
        short.limit = 5
        let limited = short
        await #expect(throws: BodyLimitError.self) { try await connection.value(of: limited) }
        var other = Endpoint<Long>.get("x")
        other.api = API()
        let foreign = other
        await #expect(throws: ResponseDecodingError.self) { try await connection.value(of: foreign) }
    }

    @Test func `Data and nothing are read as they are`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: "\"eA==\"") }
        #expect(try await stub.value(of: Endpoint<Data>.get("x")) == Data("\"eA==\"".utf8))
        #expect(try await stub.value(of: Endpoint<String>.get("x")) == "eA==")
        try await stub.value(of: Endpoint<Void>.delete("x"))
        #expect(stub.requests.map { $0.head.headerFields[.accept] } == [nil, "application/json", nil])
    }

    @Test func `Steps of a reading follow each other, and the first that throws ends the call`() async throws {
        struct Refused: Error {}
        let stored = StubConnection()
        let stub = StubConnection { [one] _ in Response(status: .ok, body: Body(one)) }
        var endpoint = Endpoint<String>.get(
            "x",
            as: ResponseReading<Item>.json.validated { if $0.id != 1 { throw Refused() } }
                .validated { _ in stored.enqueue { _ in Response(status: .ok) } }
                .map(\.name))
        #expect(try await stub.value(of: endpoint) == "one")
        #expect(try await stored.send(.get("https://example.com/")).status == .ok)
        endpoint.reading = endpoint.reading.validated { _ in throw Refused() }
        let refused = endpoint
        await #expect(throws: Refused.self) { try await stub.value(of: refused) }
    }

    @Test @MainActor func `Decoding is not on the main actor`() async throws {
        struct Probe: Decodable, Sendable {
            let isMain: Bool
            init(from decoder: any Decoder) { isMain = Thread.isMainThread }
        }
        let stub = StubConnection { _ in Response(status: .ok, body: "{}") }
        #expect(try await stub.value(of: Endpoint<Probe>.get("x")).isMain == false)
    }

    @Test func `A call that is cancelled ends at once`() async throws {
        let clock = VirtualClock()
        let connection = SampleConnection(after: Duration(attoseconds: .max), clock: clock)
        let call = Task { try await connection.value(of: Endpoint<Void>.get("x").sampled(.status(.noContent))) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test func `Uploads and downloads report their progress`() async throws {
        let origin = try LoopbackOrigin()
        let content = Data(repeating: 3, count: 300_000)
        origin.route(.post, "/x", .init(body: content))
        let log = TransferProgressTests.Log()
        let endpoint = Endpoint<Data>.post("x", content: .body(Body(content)), as: .data)
            .reportingUpload(every: .zero) { log.add($0) }
        let connection = try SystemConnection().calling(at: origin.url)
        #expect(try await connection.value(of: endpoint.reportingDownload(every: .zero) { log.add($0) }) == content)
        let finished = log.all.filter(\.isFinished)
        #expect(finished.map(\.bytes) == [300_000, 300_000])
        #expect(log.all.count > 8)
        #expect(origin.requests.first?.body == content)
        #expect(origin.requests.first?.fields["Content-Length"] == "300000")
    }
}

/// A byte in each second, and then the end, or after 40 bytes nothing any more.
private struct DrippingReader: BodyReader {
    let clock: VirtualClock
    let end: Int?
    let trailers: HTTPFields? = nil
    private var count = 0

    init(clock: VirtualClock, endsAfter end: Int?) {
        self.clock = clock
        self.end = end
    }

    mutating func next() async throws -> Data? {
        if count == end { return nil }
        if end == nil, count == 40 { try await Gate().wait() }
        count += 1
        clock.advance(by: .seconds(1))
        return Data(" ".utf8)
    }
}
