import Decorum
import DecorumTesting
import Testing

@Suite struct ObservationListings {
    let transport = StubConnection { _ in Response(status: .ok, body: "news") }

    @Test func observing() async throws {
        let statistics = ExchangeStatistics()
        let connection = transport.observing(statistics, as: .attempt)
            .followingRedirects()
            .observing(statistics)

        _ = try await connection.send(.get("https://example.com/")).body.data(upTo: 100)
        #expect(statistics.snapshot().rows.map(\.scope) == [.call, .attempt])
    }

    fileprivate func observing(analytics: Analytics) {
        let connection = transport.observing { report in
            analytics.count(report.routeName, isError: report.isError)
        }
        _ = connection
    }

    @Test func exchangeStatistics() async throws {
        let request = try Request.get("https://example.com/feed")

        let statistics = ExchangeStatistics()
        let connection = transport.observing(statistics)
        _ = try await connection.send(request)
        print(statistics)

        #expect(statistics.snapshot().rows.first?.count == 1)
    }

    func callReport(response: Response, error: any Error) {
        print(response.report.explain())
        print(CallReport(of: error).explain())
    }

    @Test func story() async throws {
        let response = try await transport.send(.get("https://example.com/"))
        #expect(response.report.explain() == "GET https://example.com/ was answered with 200.")
    }

    func activityCount(indicator: Indicator) async {
        let activity = ActivityCount()
        let connection = transport.observing(activity)
        for await count in activity.changes() { indicator.isVisible = count > 0 }
        _ = connection
    }

    @Test func measuringTime() async throws {
        let (store, request) = (MemoryResponseStore(), try Request.get("https://example.com/"))
        let connection = transport.measuringTime()
            .retrying().measuringTime()
            .caching(in: store).measuringTime()
        print(try await connection.send(request).report.layers)
    }

    @Test func history() async throws {
        let connection = StubConnection { _ in throw TransportError(.tls, at: .connecting) }
        await #expect(throws: TransportError.self) { try await telling(.get("https://example.com/"), to: connection) }
    }

    func telling(_ request: Request, to connection: some Connection) async throws -> Response {
        var request = request
        let call = CallContext(keepingHistory: 100)
        request.options.callContext = call
        do {
            return try await connection.send(request)
        } catch {
            print(call.history)
            throw error
        }
    }

    func deciding(about request: Request) {
        request.options.callContext?.note(CallDecision(.answers, by: "answeringOffline", "the server is not reachable"))
    }

    func waits() {
        let waits = Waits { print($0) }
        let connection = transport.retrying().observing(waits)
        _ = connection
    }

    func logging() {
        let connection = transport.logging(to: .standardError)
        // GET https://api.example.com/feed?token=REDACTED 200 in 48.1 ms, 5120 bytes in 53.0 ms, from network
        _ = connection
    }

    fileprivate func logSink(logger: Logger) {
        let sink = LogSink { logger.info("\($0)") }
        _ = sink
    }

    @Test func redaction() {
        var redaction = Redaction.standard
        redaction.queryItems.insert("invitation")
        redaction.jsonPaths.insert("user.email")
        let connection = transport.logging(to: .standardError, redacting: redaction)

        #expect(redaction.applied(toURL: "/join?invitation=abc") == "/join?invitation=REDACTED")
        #expect(connection.layers.first?.name == "logging")
    }
}

struct Waits: CallObserver {
    let show: @Sendable (String) -> Void

    func decided(_ decision: CallDecision, in call: ObservedExchange) {
        if decision.kind == .waits { show(decision.words) }
    }
}

final class Indicator {
    var isVisible = false
}

private struct Analytics: Sendable {
    func count(_ name: String?, isError: Bool) {}
}

/// The signature of swift-log's logger, which takes no `String`.
private struct Logger: Sendable {
    struct Message: ExpressibleByStringInterpolation {
        init(stringLiteral value: String) {}
    }

    func info(_ message: @autoclosure () -> Message) {}
}
