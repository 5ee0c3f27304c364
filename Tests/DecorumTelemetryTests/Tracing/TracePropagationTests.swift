#if Tracing
import Decorum
import DecorumTesting
import HTTPTypes
import InMemoryTracing
import Synchronization
import Testing
import Tracing

@testable import DecorumTelemetry

/// The fields of a trace, and the servers that get them.
@Suite(.timeLimit(.minutes(3))) struct TracePropagationTests {
    private static let (a, b) = ("https://a.example", "https://b.example")
    private let tracer = RecordingTracer()

    @Test(
        arguments: [
            // The origin, those that have redirected, those that are named.
            (a, [], [], false), (a, [a], [], false), (b, [a], [], true), (b, [a, b], [], true), (b, [a], [b], false),
            (a, [a, b], [], true), (nil, [a], [], true), (nil, [], [], false),
        ] as [(String?, [String], [String], Bool)])
    func `An origin is foreign if another one has redirected to it`(
        origin: String?, redirecting: [String], named: [String], isForeign: Bool
    ) throws {
        let propagation = TracePropagation(following: Set(try named.map { try Origin($0) }))
        let redirecting = Set(try redirecting.map { try Origin($0) })
        #expect(propagation.isForeign(try origin.map { try Origin($0) }, after: redirecting) == isForeign)
    }

    /// Answers of servers that redirect from one to the next: `a.example` twice, `b.example`, and `a.example` again.
    private func stub() -> StubConnection {
        StubConnection(
            answers: ["\(Self.a)/2", "\(Self.b)/", "\(Self.a)/3"].map { url in
                { _ in Response(status: .temporaryRedirect, fields: [.location: url]) }
            }, then: { _ in Response(status: .ok) })
    }

    private func send(
        over stub: StubConnection, _ propagation: TracePropagation = .standard, tracer: (any Tracer)?,
        _ fields: HTTPFields = [:]
    ) async throws -> [HTTPFields] {
        let connection = stub.tracing(as: .attempt, propagation, tracer: tracer).followingRedirects()
            .tracing(tracer: tracer)
        _ = try await connection.send(.get(Self.a + "/1", fields: fields))
        return stub.requests.map(\.head.headerFields)
    }

    @Test func `A foreign origin gets neither the trace nor what the caller has set`() async throws {
        let sent = try await send(
            over: stub(), tracer: tracer,
            [.traceparent: "old", .tracestate: "old", .b3: "old", .baggage: "own", .accept: "*/*"])
        #expect(
            sent.map { $0[.traceparent] } == [2, 3, nil, nil].map { $0.map { "00-trace-1-span-\($0)-01" } })
        #expect(sent.map { $0[.b3] } == [2, 3, nil, nil].map { $0.map { "trace-1-span-\($0)" } })
        #expect(sent.map { $0[.tracestate] } == [nil, nil, nil, nil])
        #expect(sent.map { $0[.baggage] } == ["own", "own", nil, nil])
        #expect(sent.map { $0[.accept] } == ["*/*", "*/*", "*/*", "*/*"])
        #expect(tracer.lines.count == 5 && tracer.hasEndedEachOnce)
    }

    @Test func `Baggage goes only to the origins that are named for it, and never to a foreign one`() async throws {
        let (a, b) = (try Origin(Self.a), try Origin(Self.b))
        var context = ServiceContext.topLevel
        context.user = "42"
        let own = "user=42"
        let rows: [(propagation: TracePropagation, baggage: [String?], isTraced: [Bool])] = [
            (.standard, [nil, nil, nil, nil], [true, true, false, false]),
            (.init(baggage: [a, b]), [own, own, nil, nil], [true, true, false, false]),
            (.init(following: [a], baggage: [a]), [own, own, nil, own], [true, true, false, true]),
            (.init(following: [b], baggage: [b]), [nil, nil, own, nil], [true, true, true, false]),
        ]
        try await ServiceContext.$current.withValue(context) {
            for row in rows {
                let sent = try await send(over: stub(), row.propagation, tracer: tracer)
                #expect(sent.map { $0[.baggage] } == row.baggage)
                #expect(sent.map { $0.contains(.traceparent) } == row.isTraced)
            }
        }
    }

    @Test func `Without a tracer, a request passes as it is, and a foreign origin gets no field of a trace`()
        async throws
    {
        for tracer in [nil, NoOpTracer()] as [(any Tracer)?] {
            let sent = try await send(over: stub(), tracer: tracer, [.traceparent: "own", .tracestate: "own"])
            #expect(sent.map { $0[.traceparent] }.prefix(3) == ["own", "own", nil])
            #expect(sent.map { $0[.tracestate] }.prefix(3) == ["own", "own", nil])
        }
    }

    @Test func `The tracer is that of the system at the time of the request`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.tracing(as: .attempt).tracing()
        _ = try await connection.send(.get(Self.a))
        _ = try await withTracer(tracer) { try await connection.send(.get(Self.a)) }
        #expect(stub.requests.map { $0.head.headerFields[.traceparent] } == [nil, "00-trace-1-span-2-01"])
        #expect(tracer.lines == ["1 internal GET 200", "2 in 1 client GET 200"])
    }

    @Test func `A span that is not recorded is sent along, and nothing is written about it`() async throws {
        let tracer = RecordingTracer(isSampling: false)
        let sent = try await send(over: stub(), tracer: tracer)
        #expect(sent.map { $0.contains(.traceparent) } == [true, true, false, false])
        #expect(tracer.spans.count == 5 && tracer.hasEndedEachOnce)
        #expect(tracer.spans.allSatisfy { $0.attributes.isEmpty && $0.status == nil && $0.links.isEmpty })
    }

    @Test func `What no field can hold is left out`() {
        struct Odd: Instrument {
            func inject<Carrier, Inject: Injector>(
                _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
            ) where Inject.Carrier == Carrier {
                injector.inject("1", forKey: "no name", into: &carrier)
                injector.inject("a\r\nb: c", forKey: "tracestate", into: &carrier)
                injector.inject("1", forKey: "X-Trace", into: &carrier)
                injector.inject("2", forKey: "X-Trace", into: &carrier)
            }
            func extract<Carrier, Extract: Extractor>(
                _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
            ) where Extract.Carrier == Carrier {}
        }
        var fields: HTTPFields = [.accept: "*/*"]
        let injected = InjectedFields(.topLevel, by: Odd())
        injected.add(to: &fields, withBaggage: true)
        #expect(fields.map { "\($0.name): \($0.value)" } == ["Accept: */*", "X-Trace: 2"])
        injected.remove(from: &fields)
        #expect(fields == [.accept: "*/*"])
    }
}

extension HTTPField.Name {
    // A name without characters that a name cannot have.
    // swift-format-ignore: NeverForceUnwrap
    static let b3 = HTTPField.Name("b3")!
}
#endif
