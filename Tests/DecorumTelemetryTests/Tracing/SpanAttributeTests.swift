#if Tracing
import Decorum
import DecorumTesting
import HTTPTypes
import InMemoryTracing
import Testing
import Tracing

@testable import DecorumTelemetry

/// The attributes and the status of spans, by OpenTelemetry's semantic conventions.
@Suite(.timeLimit(.minutes(3))) struct SpanAttributeTests {
    private let tracer = RecordingTracer()

    /// Sends a request, and returns the last span.
    private func send(_ request: Request, over base: some Connection) async throws -> FinishedInMemorySpan {
        _ = try? await base.tracing(as: .attempt, tracer: tracer).send(request).body.data(upTo: 1 << 10)
        return try #require(tracer.spans.last)
    }

    @Test func `An attempt has the attributes of the convention`() async throws {
        var request = try Request.post("http://a.example:8080/items/7?page=2&token=s3cret#s3cret", body: "12345")
        request.options.routeName = "items/{id}"
        let span = try await send(
            request,
            over: StubConnection { _ in
                var response = Response(status: .notFound, body: "no")
                var timings = TransferTimings(total: .seconds(1))
                (timings.protocolVersion, timings.remoteAddress) = ("HTTP/2", "192.0.2.1")
                response.metadata.timings = timings
                return response
            })
        #expect(span.operationName == "POST items/{id}" && span.kind == .client)
        #expect(span.status == SpanStatus(code: .error))
        #expect(
            span.texts == [
                "http.request.method": "POST", "server.address": "a.example", "server.port": "8080",
                "url.full": "http://a.example:8080/items/7?page=2&token=REDACTED", "url.template": "items/{id}",
                "http.request.body.size": "5", "http.response.status_code": "404", "error.type": "404",
                "http.response.body.size": "2", "network.protocol.version": "2", "network.peer.address": "192.0.2.1",
                "decorum.outcome": "finished", "decorum.source": "stub",
            ])
        #expect(span.attributes.get("server.port") == .int64(8080))
    }

    @Test(
        arguments: [
            (nil, .cancelled, nil), (200, .finished, nil), (404, .finished, .init(code: .error)),
            (404, .failed(name: "status"), .init(code: .error)),
            (200, .failed(name: "lost"), .init(code: .error, message: #"It was\u{1B}[2J\r\n lost."#)),
            (nil, .failed(name: "lost"), .init(code: .error, message: #"It was\u{1B}[2J\r\n lost."#)),
        ] as [(Int?, CallReport.Outcome, SpanStatus?)])
    func `The status of a span tells what its status code does not`(
        code: Int?, outcome: CallReport.Outcome, status: SpanStatus?
    ) {
        var report = CallReport(.attempt, statusCode: code, outcome: outcome)
        report.errorText = "It was\u{1B}[2J\r\n lost."
        #expect(SpanStatus(report) == status)
    }

    @Test func `A relative request has the target that was sent, and no text of a span controls a terminal`()
        async throws
    {
        var request = try Request(try #require(HTTPRequest.Method("LOCK")), "items")
        request.options.routeName = "feed\r\n\u{1B}]0;x\u{7}"
        let call = CallContext()
        request.options.callContext = call
        let stub = StubConnection(Response(status: .ok))
        let span = try await send(request, over: stub.resolving(against: "https://a.example/v1/"))
        #expect(span.texts["url.full"] == "https://a.example/v1/items")
        #expect(span.texts["server.address"] == "a.example" && span.texts["server.port"] == "443")
        #expect(span.texts["url.template"] == #"feed\r\n\u{1B}]0;x\u{07}"#)
        #expect(span.texts["decorum.call.id"].flatMap { UInt64($0, radix: 16) } == call.id)
        #expect(span.operationName == #"HTTP feed\r\n\u{1B}]0;x\u{07}"#)
    }
}
#endif
