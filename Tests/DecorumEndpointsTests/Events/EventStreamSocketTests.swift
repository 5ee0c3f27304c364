import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

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

    @Test func `A quiet stream that may not be asked for again fails with the time-out`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(.script(.head(.ok, fields + ["Transfer-Encoding": "chunked"]), .chunk("data: a\n\n"), .hang))
        var request = try Request.get(origin.url + "/events")
        request.options.idleTimeout = .milliseconds(500)
        var events: [String] = []
        let error = await #expect(throws: TransportError.self) {
            for try await event in SystemConnection().events(of: request, reconnecting: .never) {
                events.append(event.data)
            }
        }
        #expect(error?.code == .timedOut && error?.stage == .body)
        #expect(events == ["a"])
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

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}
