#if Logging && Metrics && Tracing
import Decorum
import DecorumArchive
import DecorumTelemetry
import DecorumTestSupport
import DecorumTesting
import HTTPTypes
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import Testing
import Tracing

/// Sends secrets through a stack whose attempts and calls are kept, logged, measured and traced, and looks for them in all of it.
@Suite(.timeLimit(.minutes(3))) struct PlantedSecretsTests {
    private func outputs(
        of request: Request, over stubs: [StubConnection], detail: LogDetail = .bodies(upTo: 4096)
    ) async throws -> (page: String, texts: [String]) {
        let (clock, recent, tracer, factory) = (VirtualClock(), RecentReports(), RecordingTracer(), TestMetrics())
        let (metrics, handler) = (CallMetrics(factory: factory), InMemoryLogHandler())
        var logger = Logger(label: "test", factory: { _ in handler })
        logger.logLevel = .trace
        let sink = LogSink.logger(logger)
        func observed(_ base: some Connection, as scope: CallReport.Scope) -> any Connection {
            base.logging(to: sink, detail: detail, clock: clock)
                .observing(metrics, as: scope, clock: clock, generator: SeededGenerator(seed: 1))
                .tracing(as: scope, tracer: tracer, clock: clock)
                .observing(recent, as: scope, clock: clock, generator: SeededGenerator(seed: 1))
        }
        for stub in stubs {
            let attempts = observed(stub, as: .attempt)
            let calls = observed(attempts.followingRedirects(upTo: 2), as: .call)
            _ = try? await calls.send(request).body.collect(upTo: 10_000)
        }

        let count = recent.reports.count
        #expect(count >= 2 * stubs.count)
        let waterfall = Waterfall(recent.reports)
        var texts = [
            waterfall.text(width: 1_000), String(decoding: HAR(recent.reports).document(), as: UTF8.self),
            request.curlCommand(),
        ]
        #expect(handler.entries.count == count)
        texts += handler.entries.map { "\($0)" }
        let series = factory.timers.map(\.dimensions) + factory.recorders.map(\.dimensions)
        #expect(!factory.timers.isEmpty)
        texts += (series + factory.counters.map(\.dimensions) + factory.meters.map(\.dimensions)).map { "\($0)" }
        #expect(tracer.spans.count == count && tracer.spans.allSatisfy { $0.events.isEmpty && $0.errors.isEmpty })
        texts += tracer.spans.map { "\($0.operationName) \($0.texts) \($0.status?.message ?? "")" }
        return (waterfall.page(), texts)
    }

    private struct LeakyError: Error, CustomStringConvertible {
        let description: String
    }

    @Test(arguments: PlantedSecret.all) func `No sink holds it`(planted: PlantedSecret) async throws {
        var request = try planted.request()
        request.options.principal = Principal(planted.secret)
        let answer = StatusError(method: .get, origin: nil, response: planted.response(.badRequest))
        let leaky = LeakyError(description: planted.text)
        let redirection = planted.response(.found)
        let outputs = try await outputs(
            of: request,
            over: [
                StubConnection { _ in planted.response() }, StubConnection { _ in planted.response(.badRequest) },
                StubConnection { _ in throw answer }, StubConnection { _ in throw leaky },
                StubConnection { request in request.head.path == "/" ? Response(status: .ok) : redirection },
                StubConnection { _ in throw TransportError(.connectionLost, at: .head, underlying: answer) },
                StubConnection { _ in throw TransportError(.connectionLost, at: .head, underlying: leaky) },
            ],
            // A log does not remember a password, so it shows one that a body echoes under another name.
            detail: planted.template.contains("echo") ? .fields : .bodies(upTo: 4096))
        planted.expectAbsence(from: outputs.texts)
        // A page has numbers that may hold a few digits by chance.
        if planted.secret.count > 6 { planted.expectAbsence(from: [outputs.page]) }
    }

    @Test func `No sink holds an item that only a request declares, a fragment, or a user`() async throws {
        var declared = try Request.get("https://a.example/?invitation=s3cret-s3cret&page=2#s3cret-s3cret")
        declared.options.secretQueryItems = ["invitation"]
        let user = HTTPRequest(method: .get, scheme: "https", authority: "me:s3cret@a.example", path: "/?page=2")
        for request in [declared, Request(head: user)] {
            let outputs = try await outputs(of: request, over: [StubConnection(Response(status: .ok))])
            for output in outputs.texts + [outputs.page] { #expect(!output.contains("s3cret"), "\(output)") }
            #expect(outputs.page.contains("page=2") && outputs.texts.prefix(3).allSatisfy { $0.contains("page=2") })
        }
    }
}
#endif
