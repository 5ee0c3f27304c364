#if Logging
import Decorum
import DecorumTelemetry
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import InMemoryLogging
import Logging
import Testing

@Suite(.timeLimit(.minutes(3))) struct LoggerSinkTests {
    let clock = VirtualClock()
    private let handler = InMemoryLogHandler()

    private func sink(_ level: Logger.Level = .trace, rules: LogRules = LogRules()) -> LogSink {
        var logger = Logger(label: "test", factory: { [handler] _ in handler })
        logger.logLevel = level
        logger[metadataKey: "app"] = "shop"
        return .logger(logger, rules: rules)
    }

    /// Logs calls and attempts of a connection that retries.
    private func logged(_ base: some Connection) -> some Connection {
        base.logging(to: sink(), as: .attempt, clock: clock).observing(as: .attempt, clock: clock) { _ in }
            .retrying(clock: ImpatientClock()).logging(to: sink(), clock: clock).observing(clock: clock) { _ in }
    }

    private var levels: [Logger.Level] { handler.entries.map(\.level) }

    private func values(_ key: String) -> [String?] { handler.entries.map { $0.metadata[key].map { "\($0)" } } }

    @Test func `A success has a line, a level and metadata`() async throws {
        let stub = StubConnection(Response(status: .ok, body: "hello"))
        var request = try Request.post("https://api.example.com:8443/items?page=2", body: "abc")
        request.options.routeName = "/items"
        _ = try await stub.logging(to: sink(), clock: clock).observing(clock: clock) { _ in }.send(request)

        let entry = try #require(handler.entries.first)
        #expect(handler.entries.count == 1 && entry.level == .info)
        #expect("\(entry.message)".hasPrefix("POST https://api.example.com:8443/items?page=2 200 in "))
        var metadata = entry.metadata
        #expect(metadata.removeValue(forKey: "decorum.call.id").map { "\($0)".count } == 16)
        #expect(
            metadata == [
                "app": "shop", "decorum.scope": "call", "http.request.method": "POST",
                "url.full": "https://api.example.com:8443/items?page=2", "url.template": "/items",
                "server.address": "api.example.com", "server.port": .stringConvertible(8443),
                "http.response.status_code": .stringConvertible(200), "http.request.body.size": .stringConvertible(3),
                "http.response.body.size": .stringConvertible(5), "decorum.outcome": "finished",
                "decorum.duration": .stringConvertible(0.0), "decorum.time_to_head": .stringConvertible(0.0),
                "decorum.source": "stub", "decorum.attempts": .stringConvertible(1),
                "decorum.retries": .stringConvertible(0), "decorum.redirections": .stringConvertible(0),
            ])
    }

    @Test func `Each attempt and then the call have an entry`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        _ = try await logged(stub).send(.get("https://a.example/"))

        #expect(levels == [.warning, .debug, .info])
        #expect(values("decorum.scope") == ["attempt", "attempt", "call"])
        #expect(values("http.request.resend_count") == [nil, "1", nil])
        #expect(values("error.type") == ["503", nil, nil])
        #expect(values("decorum.retries") == [nil, nil, "1"])
        #expect(Set(values("decorum.call.id")).count == 1)
        #expect(handler.entries.allSatisfy { !"\($0.message)".contains("\n") })
    }

    @Test func `A failure, a cancellation and a dropped body have their levels`() async throws {
        let lost = TransportError(.connectionLost, at: .head)
        let connection = StubConnection(answers: [
            { _ in throw lost }, { _ in throw CancellationError() },
            { _ in Response(status: .ok, body: ChunkedBody.body("a", "b")) },
            { _ in Response(status: .ok, body: ChunkedBody.body("a", failure: lost)) },
        ]).logging(to: sink(), clock: clock)
        let request = try Request.get("https://a.example/")

        await #expect(throws: TransportError.self) { try await connection.send(request) }
        await #expect(throws: CancellationError.self) { try await connection.send(request) }
        _ = try await connection.send(request)
        _ = try? await connection.send(request).body.data(upTo: 10)

        #expect(levels == [.error, .debug, .info, .error])
        #expect(values("decorum.outcome") == ["failed", "cancelled", "abandoned", "failed"])
        #expect(values("error.type") == ["connectionLost", nil, nil, "connectionLost"])
    }

    @Test func `Levels below that of the logger are left out, and so are successes beyond their share`() async throws {
        let stub = StubConnection { Response(status: $0.head.path == "/0" ? .notFound : .ok) }
        let notices = stub.logging(to: sink(.notice), clock: clock).logging(to: sink(.critical), clock: clock)
        let sampled = stub.logging(to: sink(rules: LogRules(successShare: 0)), clock: clock)
        for path in ["/0", "/1"] {
            _ = try await notices.send(.get("https://a.example" + path))
            _ = try await sampled.send(.get("https://a.example" + path))
        }
        #expect(values("http.response.status_code") == ["404", "404"])
    }

    @Test func `Fields and bodies stand in the metadata alone`() async throws {
        let fields: HTTPFields = [.contentType: "application/json"]
        let stub = StubConnection(Response(status: .ok, fields: fields, body: #"{"token":"s3cret"}"#))
        let request = try Request.get("https://a.example/", fields: [.authorization: "Bearer s3cret"])
        _ = try await stub.logging(to: sink(), detail: .bodies(upTo: 100), clock: clock).send(request)

        let entry = try #require(handler.entries.first)
        #expect(!"\(entry.message)".contains("Content-Type") && !"\(entry.message)".contains("\n"))
        #expect(entry.metadata["decorum.request"] == ["Authorization: REDACTED"])
        #expect(
            entry.metadata["decorum.response"] == ["Content-Type: application/json", #"{"token":"REDACTED"}"#])
    }

    @Test func `Line breaks and terminal sequences are escaped`() async throws {
        struct Odd: DescribableError {
            var shortDescription: String { "odd\n\u{1B}[2J" }
            var description: String { "odd\n\u{1B}[2J\u{2028}" }
        }
        let stub = StubConnection(answers: [
            { _ in
                Response(
                    head: HTTPResponse(
                        status: .init(code: 200, reasonPhrase: "OK\u{1B}[2J"),
                        headerFields: [.contentType: "text/plain"]),
                    body: Body(Data("a\n\u{1B}[1mb\u{85}\u{2028}c".utf8)))
            }, { _ in throw Odd() },
        ])
        let connection = stub.logging(to: sink(), detail: .bodies(upTo: 99), redacting: .none, clock: clock)
        var request = try Request.get("https://a.example/")
        request.options.routeName = "feed\r\n\u{1B}]0;x\u{7}"
        _ = try await connection.send(request)
        _ = try? await connection.send(request)

        let lines = handler.entries.first?.metadata["decorum.response"]
        #expect(lines == ["Content-Type: text/plain", "a", #"\u{1B}[1mb"#, "c"])
        let texts = handler.entries.flatMap { ["\($0.message)"] + $0.metadata.values.map { "\($0)" } }
        #expect(texts.contains { $0.contains("\\u{1B}[2J") } && texts.contains { $0.contains("feed\\r\\n") })
        for text in texts {
            #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{2028}" })
        }
    }
}
#endif
