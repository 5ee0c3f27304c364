import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct EventStreamTests {
    private let clock = VirtualClock()

    @Test func `A broken stream goes on after its last event`() async throws {
        let stub = StubConnection(
            .events("id: 1\ndata: a\n\n", failing: TransportError(.connectionLost, at: .body)),
            .events("", failing: TransportError(.connectionLost, at: .body)),
            .events("data: b\n\n"), Response(status: .noContent))
        #expect(try await collect(stub) == ["a", "b"])
        #expect(stub.requests.map { $0.head.headerFields[.lastEventID] } == [nil, "1", "1", "1"])
        #expect(stub.requests.allSatisfy { $0.head.headerFields[.accept] == "text/event-stream" })
    }

    @Test func `An identifier that no field may have is not sent`() async throws {
        let stub = StubConnection(.events("id: a\u{7}b\ndata: a\n\n"), Response(status: .noContent))
        #expect(try await collect(stub) == ["a"])
        #expect(stub.requests[1].head.headerFields[.lastEventID] == nil)
    }

    @Test func `A server that asks for time gets it, and jitter comes on top`() async throws {
        let stub = StubConnection(.events("retry: 700\ndata: a\n\n"), Response(status: .noContent))
        async let events = collect(stub, advancing: false)
        try await clock.waitForSleepers()
        let wait = try #require(clock.pendingSleeps.first)
        #expect(wait >= .milliseconds(700) && wait <= .milliseconds(1050))
        clock.advance(by: wait)
        #expect(try await events == ["a"])
    }

    @Test func `The first connection fails as any request does`() async throws {
        let stub = StubConnection(answers: [], then: { _ in throw TransportError(.connectionRefused, at: .connecting) })
        await #expect(throws: TransportError.self) { try await collect(stub) }
        #expect(stub.requests.count == 1)
    }

    @Test func `Another status is an error, also after events`() async throws {
        let stub = StubConnection(.events("data: a\n\n"), Response(status: .serviceUnavailable))
        let error = await #expect(throws: StatusError.self) { try await collect(stub) }
        #expect(error?.status == .serviceUnavailable)
        #expect(stub.requests.count == 2)
    }

    @Test(arguments: ["text/html", "text/event-streams", "application/json", nil])
    func `Another media type is an error that shows it and no query`(type: String?) async throws {
        var response = Response(status: .ok, body: Body(Data("<html>".utf8)))
        response.head.headerFields[.contentType] = type
        response.metadata.url = URL(string: "https://api.example.com/news?token=secret")
        let error = await #expect(throws: EventStreamError.self) { try await collect(StubConnection(response)) }
        #expect(error?.reason == .mediaType)
        #expect(try await error?.response?.body.text(upTo: 10) == "<html>")
        let text = "\(try #require(error))"
        #expect(text.contains("https://api.example.com/news") && !text.contains("secret"))
        #expect(type.map { text.contains($0) } ?? true)
    }

    @Test(arguments: ["text/event-stream; charset=utf-8", "TEXT/Event-Stream", " text/event-stream ;x"])
    func `Parameters and letter case of the media type do not matter`(type: String) async throws {
        let response = Response(status: .ok, fields: [.contentType: type], body: Body(Data("data: a\n\n".utf8)))
        #expect(try await collect(StubConnection(response, Response(status: .noContent))) == ["a"])
    }

    @Test func `A POST is sent once, and the stream ends with its response`() async throws {
        let stub = StubConnection(.events("data: a\n\n"))
        let request = try Request.post("https://api.example.com/answers", body: Body(Data("{}".utf8)))
        var events: [String] = []
        for try await event in stub.events(of: request, clock: clock) { events.append(event.data) }
        #expect(events == ["a"])
        let broken = StubConnection(.events("data: a\n\n", failing: TransportError(.connectionLost, at: .body)))
        await #expect(throws: TransportError.self) {
            for try await _ in broken.events(of: request, clock: clock) {}
        }
        #expect(broken.requests.count == 1)
    }

    @Test func `Attempts without an event are counted`() async throws {
        var rules = EventReconnection()
        rules.attempts = 2
        let stub = StubConnection { _ in .events("") }
        let error = await #expect(throws: EventStreamError.self) { try await collect(stub, rules) }
        #expect(error?.reason == .broken)
        #expect(stub.requests.count == 3)
    }

    @Test func `A cancelled task leaves the wait at once`() async throws {
        let stub = StubConnection { _ in .events("data: a\n\n") }
        let task = Task { try await collect(stub, advancing: false) }
        try await clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.requests.count == 1)
    }

    @Test func `No more is read than the reader takes, and leaving ends the transfer`() async throws {
        let transfer = GatedTransfer.open
        let whole = transfer.body(chunks: 100)
        let body = Body(replay: .once) { _ in LineReader(reader: try await whole.open()) }
        let stub = StubConnection(answers: [
            { _ in
                Response(status: .ok, fields: [.contentType: "text/event-stream"], body: body)
            }
        ])
        for try await event in stub.events(of: try .request, clock: clock) {
            #expect(event.data == "x")
            break
        }
        #expect(transfer.chunksRead == 1)
    }

    @Test func `Data that cannot be decoded are those of an event, and not of a response`() async throws {
        struct Change: Decodable { let note: Int }
        let event = ServerSentEvent(data: #"{"note": "#)
        let error = await #expect(throws: ResponseDecodingError.self) { try await event.decode(Change.self) }
        #expect(
            error?.description
                == "The data of an event (9 bytes) cannot be decoded as Change: the JSON ends at line 1, column 10 before it "
                + "is complete.")
    }

    /// The data of all events; time passes as fast as the stream waits.
    private func collect(
        _ stub: StubConnection, _ rules: EventReconnection = .standard, advancing: Bool = true
    ) async throws -> [String] {
        let stream = stub.events(
            of: try .request, reconnecting: rules, clock: advancing ? SkippingClock() : clock,
            generator: SeededGenerator(seed: 1))
        var events: [String] = []
        for try await event in stream { events.append(event.data) }
        return events
    }
}

/// Streams of events over real sockets: quiet ones, those of endpoints, and those that a reader leaves.
@Suite(.timeLimit(.minutes(3))) struct EventStreamSocketTests {
    private let fields: RawFields = ["Content-Type": "text/event-stream"]

    @Test func `A connection without a byte counts as broken, and the next one goes on`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(
            .script(
                .head(.ok, fields + ["Transfer-Encoding": "chunked"]), .chunk("retry: 0\nid: 1\ndata: a\n\n"), .hang),
            .init(fields: fields, body: "data: b\n\n"), .init(.noContent))
        var request = try Request.get(origin.url + "/events")
        request.options.idleTimeout = .milliseconds(500)
        var events: [String] = []
        for try await event in SystemConnection().events(of: request) { events.append(event.data) }
        #expect(events == ["a", "b"])
        #expect(origin.requests.map { $0.fields["Last-Event-ID"] } == [nil, "1", "1"])
        origin.stop()
    }

    @Test func `An endpoint gives the path, the query, the fields and the name of the route`() async throws {
        let stub = StubConnection(Response(status: .noContent))
        var endpoint = Endpoint<Void>.get("rooms/{room}/events", ["room": "a/b"], query: ["since": "x y"])
        endpoint.fields[.acceptLanguage] = "de"
        for try await _ in try stub.calling(at: "https://api.example.com/v1").events(of: endpoint, after: "7") {}
        let request = try #require(stub.requests.first)
        #expect(request.url?.absoluteString == "https://api.example.com/v1/rooms/a%2Fb/events?since=x+y")
        #expect(request.head.headerFields[.accept] == "text/event-stream")
        #expect(request.head.headerFields[.cacheControl] == "no-store")
        #expect(request.head.headerFields[.acceptLanguage] == "de")
        #expect(request.head.headerFields[.lastEventID] == "7")
        #expect(request.options.routeName == "rooms/{room}/events")
    }

    @Test func `The fields of an endpoint stay, and one that makes no request is an error at once`() async throws {
        let stub = StubConnection(Response(status: .noContent))
        var endpoint = Endpoint<Data>.get("events").accepting("application/x-events")
        endpoint.fields[.cacheControl] = "no-cache"
        for try await _ in try stub.events(of: endpoint) {}
        #expect(stub.requests.map { $0.head.headerFields[.accept] } == ["application/x-events"])
        #expect(stub.requests.map { $0.head.headerFields[.cacheControl] } == ["no-cache"])
        #expect(throws: InvalidRequestError.self) { try stub.events(of: Endpoint<Data>.get("rooms/{room}")) }
        #expect(stub.requests.count == 1)
    }

    @Test func `A reader that leaves ends the transfer, and one that is cancelled too`() async throws {
        let origin = try LoopbackOrigin()
        let head = LoopbackOrigin.Step.head(.ok, fields + ["Transfer-Encoding": "chunked"])
        origin.route(.get, "/events", .script(head, .chunk("data: a\n\n"), .hang))
        let stream = SystemConnection().events(of: try .get(origin.url + "/events"))
        for try await event in stream {
            #expect(event.data == "a")
            break
        }
        try await origin.waitForOpenConnections(0)

        let (events, seen) = AsyncStream.makeStream(of: String.self)
        let task = Task { for try await event in stream { seen.yield(event.data) } }
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "a")
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await origin.waitForOpenConnections(0)
        origin.stop()
    }
}

/// A clock on which no wait takes time.
private struct SkippingClock: DatedClock {
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .nanoseconds(1) }
    var date: Date { Date(timeIntervalSince1970: 0) }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
    }
}

/// Makes an event of each chunk.
private struct LineReader: BodyReader {
    var reader: any BodyReader
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        try await reader.next().map { _ in Data("data: x\n\n".utf8) }
    }
}

extension Request {
    fileprivate static var request: Request { get throws { try .get("https://api.example.com/news") } }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

extension Response {
    /// A stream that ends, or fails, after a text.
    fileprivate static func events(_ text: String, failing error: (any Error)? = nil) -> Response {
        Response(
            status: .ok, fields: [.contentType: "text/event-stream"],
            body: Body(replay: .once) { _ in TextReader(text: Data(text.utf8), failure: error) })
    }
}

private struct TextReader: BodyReader {
    var text: Data
    let failure: (any Error)?
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        if text.isEmpty {
            if let failure { throw failure }
            return nil
        }
        defer { text = Data() }
        return text
    }
}
