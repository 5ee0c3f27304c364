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
        let connection = transport.observing { event in
            analytics.count(event.routeName, isError: event.isError)
        }
        _ = connection
    }

    fileprivate func observingByValue(analytics: Analytics) throws {
        let connection = try StandardStack(.app).composed(
            observer: ClosureObserver { event in analytics.count(event.routeName, isError: event.isError) })
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

    @Test func twoStatistics() async throws {
        let total = ExchangeStatistics()
        let lastMinute = ExchangeStatistics(over: .lastMinute)
        let connection = transport.observing { event in
            total.record(event)
            lastMinute.record(event)
        }
        _ = try await connection.send(.get("https://example.com/"))

        #expect("\(total)" == "\(lastMinute)")
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
