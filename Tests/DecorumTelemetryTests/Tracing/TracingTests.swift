#if Tracing
import Decorum
import DecorumAuthentication
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import DecorumTraffic
import Foundation
import HTTPTypes
import InMemoryTracing
import Testing
import Tracing

@testable import DecorumTelemetry

/// The spans of calls and attempts, and which is within which.
@Suite(.timeLimit(.minutes(3))) struct TracingTests {
    private let tracer = RecordingTracer()
    private let clock = VirtualClock()
    private let origin: Origin

    init() throws {
        origin = try Origin("https://a.example")
    }

    private func attempts(_ stub: some Connection) -> some Connection {
        stub.tracing(as: .attempt, tracer: tracer, clock: clock)
    }

    private func calls(_ base: some Connection) -> some Connection { base.tracing(tracer: tracer, clock: clock) }

    private func request() throws -> Request { try .get("https://a.example/items/7") }

    private func stub(behind gate: Gate, status: HTTPResponse.Status = .ok) -> StubConnection {
        StubConnection { _ in
            try await gate.wait()
            return Response(status: status)
        }
    }

    /// Checks the spans, and that no two requests are sent with the same span.
    private func expect(
        _ lines: [String], sending stub: StubConnection, location: SourceLocation = #_sourceLocation
    ) {
        #expect(tracer.lines == lines, sourceLocation: location)
        #expect(tracer.hasEndedEachOnce, sourceLocation: location)
        let sent = stub.requests.compactMap { $0.head.headerFields[.traceparent] }
        let clients = tracer.spans.filter { $0.kind == .client }.map { "00-\($0.traceID)-\($0.spanID)-01" }
        #expect(sent.count == stub.requests.count && Set(sent) == Set(clients), sourceLocation: location)
        #expect(Set(sent).count == sent.count, sourceLocation: location)
    }

    @Test func `Each retry is a span within its call`() async throws {
        let stub = StubConnection(
            answers: [
                { _ in Response(status: .serviceUnavailable) },
                { _ in throw TransportError(.connectionLost, at: .head) },
                { _ in Response(status: .ok) },
            ])
        var request = try request()
        request.options.routeName = "items/{id}"
        request.head.headerFields[.traceparent] = "00-old-old-00"
        _ = try await calls(attempts(stub).retrying(.tool, clock: ImpatientClock())).send(request)
        expect(
            [
                "1 internal GET items/{id} 200 resend 2", "2 in 1 client GET items/{id} 503 error",
                "3 in 1 client GET items/{id} error resend 1", "4 in 1 client GET items/{id} 200 resend 2",
            ], sending: stub)
    }

    @Test func `A call is within the span of its task, and each redirection within the call`() async throws {
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "/moved"]), Response(status: .notFound))
        let connection = calls(attempts(stub).followingRedirects())
        _ = try await tracer.withSpan("screen") { _ in try await connection.send(request()) }
        expect(
            [
                "1 internal screen", "2 in 1 internal GET 404 error resend 1", "3 in 2 client GET 302",
                "4 in 2 client GET 404 error resend 1",
            ], sending: stub)
    }

    @Test func `A span of code within the stack is within the call, and has the attempt within it`() async throws {
        let stub = StubConnection(Response(status: .ok))
        let inner = attempts(stub).intercepting("signing", facts: []) { [tracer] request, base in
            let request = request
            return try await tracer.withSpan("sign") { _ in try await base.send(request) }
        }
        _ = try await calls(inner).send(request())
        expect(["1 internal GET 200", "2 in 1 internal sign", "3 in 2 client GET 200"], sending: stub)
    }

    @Test(arguments: [false, true])
    func `An attempt in a task of another call, or of none, is within its call`(isOther: Bool) async throws {
        let stub = StubConnection(Response(status: .ok))
        let inner = attempts(stub).intercepting("leaving", facts: []) { [tracer] request, base in
            let request = request
            return try await Task.detached {
                guard isOther else { return try await base.send(request) }
                return try await tracer.withSpan("other", context: .topLevel) { _ in try await base.send(request) }
            }.value
        }
        _ = try await calls(inner).send(request())
        expect(
            isOther
                ? ["1 internal GET 200", "2 internal other", "3 in 1 client GET 200"]
                : ["1 internal GET 200", "2 in 1 client GET 200"], sending: stub)
    }

    @Test func `The call of a stack within a stack is within the outer call, which needs no link`() async throws {
        let stub = StubConnection(Response(status: .ok))
        _ = try await calls(calls(attempts(stub))).send(request())
        expect(["1 internal GET 200", "2 in 1 internal GET 200", "3 in 2 client GET 200"], sending: stub)
    }

    private struct Refresh<Stack: Connection>: TokenSource {
        let stack: Stack
        var layers: [Layer] { stack.layers }

        func token(replacing token: Token?) async throws -> Token {
            _ = try await stack.send(.post("https://a.example/token", body: "refresh"))
            return try Token("new", refreshToken: "r2")
        }
    }

    @Test func `A request that is sent again with a new token is within its call, and so is the refresh`() async throws
    {
        let stub = StubConnection { request in
            let isNew = request.head.headerFields[.authorization] == "Bearer new"
            return Response(status: isNew || request.head.path == "/token" ? .ok : .unauthorized)
        }
        let tokens = Tokens(
            in: MemoryTokenStore(try Token("old", refreshToken: "r1")), from: Refresh(stack: attempts(stub)),
            clock: clock)
        let connection = calls(attempts(stub).authenticating(with: tokens, for: origin))
        _ = try await connection.send(request())
        expect(
            [
                "1 internal GET 200 resend 1", "2 in 1 client GET 401 error", "3 in 1 client POST 200",
                "4 in 1 client GET 200 resend 1",
            ], sending: stub)
    }

    @Test func `Both requests of a hedge are within the call, and the cancelled one is no error`() throws {
        let clock = SimulatedClock()
        func answer(after time: Duration) -> StubConnection.Answer {
            { _ in
                try await clock.sleep(for: time)
                return Response(status: .ok)
            }
        }
        let fast = answer(after: .milliseconds(10))
        let stub = StubConnection(
            answers: [StubConnection.Answer](repeating: fast, count: 20) + [answer(after: .seconds(10))], then: fast)
        let policy = HedgingPolicy(largestShare: 1, budget: RetryBudget())
        let connection = AnyConnection(calls(attempts(stub).hedging(policy, clock: clock)))
        try clock.run { [tracer] in
            for _ in 0..<20 { _ = try await connection.send(request()) }
            tracer.clear()
            _ = try await connection.send(request())
            try await clock.sleep(for: .seconds(20))
        }
        #expect(
            tracer.lines == [
                "41 internal GET 200 resend 1", "42 in 41 client GET cancelled", "43 in 41 client GET 200 resend 1",
            ])
        #expect(tracer.hasEndedEachOnce)
    }

    @Test func `A request stays on the actor of its caller`() async throws {
        let gate = Gate()
        let stub = stub(behind: gate)
        let connection = calls(attempts(stub))
        let callers = await Callers.start(2) { _ in try await connection.send(request()) }
        #expect(stub.requests.count == 2)
        gate.open()
        for caller in callers { _ = try await caller.value }
        expect(
            ["1 internal GET 200", "2 in 1 client GET 200", "3 internal GET 200", "4 in 3 client GET 200"],
            sending: stub)
    }

    @Test(arguments: [HTTPResponse.Status.ok: "200", .notFound: "404 error"])
    func `A caller who shares the request of another one has a link to its attempt`(
        status: HTTPResponse.Status, outcome: String
    ) async throws {
        let gate = Gate()
        let stub = stub(behind: gate, status: status)
        let connection = calls(attempts(stub).coalescing(clock: clock).validatingStatus())
        var callers = await Callers.start { _ in try await connection.send(request()) }
        try await gate.waitForWaiting(1)
        callers += await Callers.start { _ in try await connection.send(request()) }
        gate.open()
        for caller in callers { _ = await caller.result }
        expect(
            ["1 internal GET \(outcome)", "2 in 1 client GET \(outcome)", "3 internal GET \(outcome) -> 2"],
            sending: stub)
    }

    @Test func `A hit has no attempt, and each validation is within its call, also in the background`() async throws {
        let fields: HTTPFields = [.eTag: #""1""#, .cacheControl: "max-age=60, stale-while-revalidate=600"]
        let stub = StubConnection(
            answers: [{ _ in Response(status: .ok, fields: fields, body: "page") }],
            then: { _ in Response(status: .notModified, fields: fields) })
        let spawner = TrackingSpawner()
        let connection = calls(attempts(stub).caching(in: MemoryResponseStore(), clock: clock, spawner: spawner))
        for wait in [0, 0, 100, 1400] {
            clock.advance(by: .seconds(wait))
            #expect(try await connection.send(request()).body.text(upTo: 10) == "page")
            try await spawner.finished()
        }
        expect(
            [
                "1 internal GET 200", "2 in 1 client GET 200", "3 internal GET 200 cache",
                "4 internal GET 200 cache", "5 in 4 client GET 304", "6 internal GET 200 revalidated",
                "7 in 6 client GET 304",
            ], sending: stub)
    }

    /// Ways in which an exchange ends.
    enum Ending: CaseIterable { case read, inMemory, dropped, broken, cancelled, failed }

    @Test(arguments: Ending.allCases)
    func `A span ends once with its body, by the clock`(ending: Ending) async throws {
        let gate = Gate()
        let stub = StubConnection { [clock] _ in
            clock.advance(by: .seconds(1))
            switch ending {
            case .inMemory: return Response(status: .ok, body: "all")
            case .failed: throw TransportError(.connectionLost, at: .head)
            case .cancelled:
                try await gate.wait()
                return Response(status: .ok)
            case .read, .dropped, .broken:
                let failure = ending == .broken ? TransportError(.connectionLost, at: .body) : nil
                return Response(status: .ok, body: ChunkedBody.body("some", failure: failure))
            }
        }
        let connection = calls(attempts(stub))
        var caller: Task? = Task { () async throws -> Response in try await connection.send(request()) }
        if ending == .cancelled {
            try await gate.waitForWaiting(1)
            caller?.cancel()
        }
        var response = try? await caller?.value
        caller = nil
        let isStreamed = [.read, .dropped, .broken].contains(ending)
        #expect(tracer.spans.isEmpty == isStreamed)
        clock.advance(by: .seconds(2))
        if ending != .dropped { _ = try? await response?.body.data(upTo: 10) }
        response = nil
        if ending == .dropped { #expect(await soon { tracer.spans.count == 2 }) }

        let outcome =
            switch ending {
            case .read, .inMemory: "200"
            case .dropped: "200 abandoned"
            case .broken: "200 error"
            case .cancelled: "cancelled"
            case .failed: "error"
            }
        expect(["1 internal GET \(outcome)", "2 in 1 client GET \(outcome)"], sending: stub)
        let second: UInt64 = 1_000_000_000
        for span in tracer.spans {
            #expect(span.startInstant.nanosecondsSinceEpoch == 1_700_000_000 * second)
            let end = 1_700_000_001 * second + (isStreamed ? 2 * second : 0)
            #expect(span.endInstant.nanosecondsSinceEpoch == end)
        }
    }

    @Test func `The time of a span has no limit`() {
        let start = DefaultTracerClock.Timestamp(Date(timeIntervalSince1970: 1.5))
        #expect(start.nanosecondsSinceEpoch == 1_500_000_000)
        #expect(start.advanced(by: .milliseconds(20)).nanosecondsSinceEpoch == 1_520_000_000)
        #expect(start.advanced(by: .seconds(-20)) == start)
        #expect(start.advanced(by: .seconds(Int64.max)).nanosecondsSinceEpoch > 1 << 62)
        #expect(DefaultTracerClock.Timestamp(.distantPast).nanosecondsSinceEpoch == 0)
    }

    @Test func `A standard stack traces calls and attempts without a finding`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        let clock = ImpatientClock()
        var stack = StandardStack(.app)
        stack.attemptTime = nil
        let connection = try stack.composed(over: stub, adding: .tracing(tracer: tracer, clock: clock), clock: clock)
        _ = try await connection.send(request())
        expect(
            ["1 internal GET 200 resend 1", "2 in 1 client GET 503 error", "3 in 1 client GET 200 resend 1"],
            sending: stub)
        #expect(connection.findings.isEmpty, "\(connection)")
        #expect(
            connection.layers.filter { $0.name == "tracing" }.map(\.description) == [
                "tracing(as: call)", "tracing(as: attempt)",
            ])
    }

    @Test(arguments: DecoratorLaw.all)
    func `The layer of calls keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base, conditions in base.tracing(tracer: RecordingTracer(), clock: conditions.clock) }
    }

    @Test(
        arguments: DecoratorLaw.all.excluding(
            .declaredChanges, because: "No signature covers the fields of a trace.")
    )
    func `The layer of attempts keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check(adding: [.traceparent, .b3]) { base, conditions in
            base.tracing(as: .attempt, tracer: RecordingTracer(), clock: conditions.clock)
        }
    }
}
#endif
