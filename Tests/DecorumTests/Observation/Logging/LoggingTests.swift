import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct LoggingTests {
    final class Log: Sendable {
        private let stored = Mutex<[String]>([])
        var entries: [String] { stored.withLock { $0 } }
        var sink: LogSink { LogSink { entry in self.stored.withLock { $0.append(entry) } } }
    }

    struct LeakyError: Error, CustomStringConvertible {
        let description = "https://me:s3cret@a.example/?token=s3cret"
    }

    let log = Log()
    let clock = VirtualClock()

    private func stream(_ chunks: [String], failure: (any Error)? = nil) -> Body {
        Body(
            chunks: AsyncThrowingStream { continuation in
                for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
                continuation.finish(throwing: failure)
            })
    }

    @Test func `An answer in memory is one line at once`() async throws {
        let stub = StubConnection { [clock] _ in
            clock.advance(by: .milliseconds(12))
            return Response(status: .ok, body: "hello")
        }

        let response = try await stub.logging(to: log.sink, clock: clock).send(.get("https://a.example/x?y=1"))

        #expect(log.entries == ["GET https://a.example/x?y=1 200 in 12.0 ms, 5 bytes in 12.0 ms, from stub"])
        #expect(response.body.bytes == Data("hello".utf8))
    }

    @Test func `A relative request is shown with the URL that it was resolved to, and where it was redirected`()
        async throws
    {
        let stub = ClosureConnection { request in
            var response = Response(status: .ok)
            if request.head.path == "/v1/old" {
                response = Response(status: .found, fields: [.location: "/new?token=s3cret#x7Rq2L"])
            }
            response.metadata = ResponseMetadata(answering: request, from: .stub)
            return response
        }
        let connection = try stub.followingRedirects().resolving(against: "https://a.example/v1/")
            .logging(to: log.sink, clock: clock)

        _ = try await connection.send(.get("feed?token=s3cret"))
        _ = try await connection.send(.get("old"))

        #expect(
            log.entries == [
                "GET https://a.example/v1/feed?token=REDACTED 200 in 0.0 ms, from stub",
                "GET https://a.example/v1/old 200 in 0.0 ms, from stub, "
                    + "redirected to https://a.example/new?token=REDACTED",
            ])
    }

    @Test func `A failed relative request is shown with the URL that it was resolved to`() async throws {
        let refused = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        let looping = StubConnection { request in Response(status: .found, fields: [.location: "/feed"]) }
        let missing = ClosureConnection { request in
            var response = Response(status: .notFound)
            response.metadata = ResponseMetadata(answering: request, from: .stub)
            return response
        }
        let paced = StubConnection { _ in
            throw PacingError(origin: nil, instant: .now, date: Date(timeIntervalSince1970: 0), wait: .zero)
        }
        for base in [refused, looping.followingRedirects(), missing.validatingStatus(), paced] as [any Connection] {
            let connection = try base.resolving(against: "https://a.example/").logging(to: log.sink, clock: clock)
            await #expect(throws: (any Error).self) { try await connection.send(.get("feed?token=s3cret")) }
        }
        #expect(log.entries.count == 4)
        #expect(log.entries.allSatisfy { $0.hasPrefix("GET https://a.example/feed?token=REDACTED failed a") })
    }

    @Test func `A call names the attempts before its last one, and each attempt its reason`() async throws {
        let attempts = Log()
        let stub = StubConnection(answers: [
            { _ in Response(status: .serviceUnavailable, fields: [.retryAfter: "2"]) },
            { _ in throw TransportError(.connectionLost, at: .head) },
            { _ in Response(status: .ok) },
        ])
        let policy = RetryPolicy(retries: 2, baseDelay: .zero, budget: .unlimited)
        let impatient = ImpatientClock()
        let connection = stub.logging(to: attempts.sink, as: .attempt, clock: clock).retrying(policy, clock: impatient)
            .logging(to: log.sink, clock: clock)

        _ = try await connection.send(.get("https://a.example/"))

        let wait = #/waited [23]\.[0-9]{2} s/#
        #expect(
            log.entries.map { $0.replacing(wait, with: "waited TIME") } == [
                "GET https://a.example/ 200 in 0.0 ms, from stub, 3 attempts (503 with Retry-After 2, connectionLost), "
                    + "waited TIME"
            ])
        #expect(
            attempts.entries.map { $0.replacing(wait, with: "waited TIME").replacing(#/: The .*/#, with: "") } == [
                "GET https://a.example/ 503 in 0.0 ms, from stub, attempt 1",
                "GET https://a.example/ failed after 0.0 ms, attempt 2 of 3, after 503 with Retry-After 2, waited TIME",
                "GET https://a.example/ 200 in 0.0 ms, from stub, attempt 3 of 3, after connectionLost",
            ])
    }

    @Test func `The reason of a cache is a part of the line of a safe method, without secrets`() async throws {
        var response = Response(status: .ok)
        response.metadata.cacheStatus = CacheStatus(cache: "Decorum")
        response.metadata.cacheStatus?.detail = "not stored: https://me:s3cret@a.example/?token=s3cret"

        _ = try await StubConnection(response).logging(to: log.sink, clock: clock).send(.get("https://a.example/"))

        _ = try await StubConnection(response).logging(to: log.sink, clock: clock)
            .send(.post("https://a.example/", body: "x"))
        #expect(log.entries[0].hasSuffix("from stub, not stored: https://REDACTED@a.example/?token=REDACTED"))
        #expect(log.entries[1].hasSuffix("from stub"))
        var dumped = ""
        dump(response.report, to: &dumped)
        #expect(dumped.contains("not stored") && !dumped.contains("s3cret"))
    }

    @Test(arguments: [
        (nil, true, "5 bytes in 2.00 s, from stub"), (nil, false, "body not read, from stub"),
        (LeakyError(), true, "body failed after 5 bytes in 2.00 s, from stub: LeakyError"),
    ])
    func `A streamed answer is written when its body has ended`(failure: LeakyError?, isRead: Bool, end: String)
        async throws
    {
        let stub = StubConnection(Response(status: .ok, body: stream(["hel", "lo"], failure: failure)))
        do {
            let response = try await stub.logging(to: log.sink, clock: clock).send(.get("https://a.example/"))
            #expect(log.entries.isEmpty)
            clock.advance(by: .seconds(2))
            if isRead { _ = try? await response.body.data(upTo: 10) }
        }
        #expect(log.entries == ["GET https://a.example/ 200 in 0.0 ms, " + end])
    }

    @Test(arguments: [
        (LeakyError() as any Error, "failed after 0.0 ms: LeakyError"),
        (CancellationError(), "cancelled after 0.0 ms"),
    ])
    func `A request without a response is logged with the reason`(error: any Error, expected: String) async throws {
        let stub = StubConnection { _ in throw error }
        await #expect(throws: (any Error).self) {
            try await stub.logging(to: log.sink, clock: clock).send(.get("https://a.example/"))
        }
        #expect(log.entries == ["GET https://a.example/ " + expected])
    }

    @Test func `The fields of both messages are shown`() async throws {
        let stub = StubConnection(Response(status: .noContent, fields: [.server: "s", .setCookie: "a=s3cret"]))
        let request = try Request.get("https://a.example/", fields: [.accept: "*/*", .authorization: "Bearer s3cret"])

        _ = try await stub.logging(to: log.sink, detail: .fields, clock: clock).send(request)

        #expect(
            log.entries == [
                """
                GET https://a.example/ 204 in 0.0 ms, from stub
                  > Accept: */*
                  > Authorization: REDACTED
                  < Server: s
                  < Set-Cookie: REDACTED
                """
            ])
        #expect(stub.requests == [request])
    }

    @Test func `Fields that the request or a layer further in declares secret are not shown`() async throws {
        let mine = try #require(HTTPField.Name("X-Mine"))
        var request = try Request.get("https://a.example/", fields: [mine: "s3cret"])
        request.options.secretFields = [mine]

        _ = try await StubConnection(Response(status: .ok, fields: [mine: "s3cret"]))
            .logging(to: log.sink, detail: .fields, clock: clock).send(request)

        request.options.secretFields = []
        _ = try await SecretiveConnection(base: StubConnection(Response(status: .ok)), name: mine)
            .logging(to: log.sink, detail: .fields, clock: clock).send(request)
        #expect(log.entries.allSatisfy { $0.contains("X-Mine: REDACTED") && !$0.contains("s3cret") })
    }

    @Test func `The start of each body is shown, in constant memory`() async throws {
        let stub = StubConnection(
            Response(
                status: .ok, fields: [.contentType: "application/x-www-form-urlencoded"],
                body: stream(["a=1&token=", "s3cret&b=2", "&c=3"])))
        let request = try Request.post(
            "https://a.example/", fields: [.contentType: "application/json"],
            body: #"{"user":{"password":"s3cret"},"name":"Ann"}"#)

        let response = try await stub.logging(to: log.sink, detail: .bodies(upTo: 20), clock: clock).send(request)
        #expect(try await response.body.text(upTo: 100) == "a=1&token=s3cret&b=2&c=3")

        let lines = try #require(log.entries.first).split(separator: "\n").map(String.init)
        #expect(lines.contains("  > {\"user\":{\"password\":REDACTED (23 more bytes)"))
        #expect(lines.contains("  < a=1&token=REDACTED&b=2 (4 more bytes)"))
        #expect(!log.entries.joined().contains("s3cret"))
    }

    @Test func `A streamed request body is shown as in its last reading`() async throws {
        let upload = Body(replay: .fromStart) { _ in UploadReader() }
        let stub = StubConnection { request in
            _ = try await request.body.data(upTo: 100)
            _ = try await request.body.data(upTo: 100)
            return Response(status: .ok)
        }

        _ = try await stub.logging(to: log.sink, detail: .bodies(), clock: clock)
            .send(.put("https://a.example/", fields: [.contentType: "application/json"], body: upload))

        #expect(log.entries.first?.hasSuffix("\n  > {\"token\":\"REDACTED\"}") == true)
    }

    @Test(arguments: [
        ("text/plain", nil), ("image/png", nil), ("application/json", "gzip"), (nil, nil),
        ("multipart/form-data; boundary=x", nil),
    ])
    func `A body that a redaction cannot read is not shown`(mediaType: String?, coding: String?) async throws {
        var fields: HTTPFields = [:]
        fields[.contentType] = mediaType
        fields[.contentEncoding] = coding
        let stub = StubConnection(Response(status: .ok, fields: fields, body: "s3cret"))

        _ = try await stub.logging(to: log.sink, detail: .bodies(), clock: clock).send(.get("https://a.example/"))

        #expect(log.entries.first?.hasSuffix("\n  < (6 bytes)") == true)
    }

    @Test func `Without redaction plain text is shown`() async throws {
        let stub = StubConnection(Response(status: .ok, fields: [.contentType: "text/plain"], body: "a\r\n\u{1B}[1mb"))
        _ = try await stub.logging(to: log.sink, detail: .bodies(), redacting: .none, clock: clock)
            .send(.get("https://a.example/?token=shown"))
        let entry = try #require(log.entries.first)
        #expect(entry.contains("token=shown"))
        #expect(entry.hasSuffix("\n  < a\n  < \\u{1B}[1mb"))
    }

    @Test func `A planted secret never reaches the log`() async throws {
        let stub = StubConnection(answers: [
            { _ in
                Response(
                    status: .found,
                    fields: [
                        .location: "https://me:s3cret@b.example/?code=s3cret", .setCookie: "s3cret",
                        .contentType: "application/problem+json",
                    ],
                    body: #"{"a":[{"b":{"pass\u0077ord":"s3cret"}}],"next":"https:\/\/b.example?sig=s3cret"}"#)
            },
            { _ in throw NSError(domain: "x", code: 1, userInfo: [NSLocalizedDescriptionKey: "s3cret"]) },
        ])
        let connection = stub.logging(to: log.sink, detail: .bodies(), clock: clock)
        var request = try Request.post(
            "https://a.example/;jsessionid=s3cret?access%5Ftoken=s3cret#token=s3cret",
            fields: [
                .authorization: "s3cret", .cookie: "s3cret", .referer: "https://s3cret@c.example/",
                .contentType: "application/x-www-form-urlencoded",
            ],
            body: "user=ann&password=s3cret")
        request.head.authority = "me:s3cret@a.example"

        _ = try await connection.send(request)
        _ = try? await connection.send(request)

        #expect(log.entries.count == 2)
        #expect(!log.entries.joined().contains("s3cret"))
        #expect(log.entries[0].contains("user=ann&password=REDACTED"))
    }

    @Test(arguments: Array(30...50) + [500]) func `A line of any length is whole`(count: Int) async throws {
        let url = "https://a.example/" + String(repeating: "page/", count: count)
        _ = try await StubConnection(Response(status: .ok)).logging(to: log.sink, clock: clock).send(.get(url))
        #expect(log.entries.first?.hasPrefix("GET \(url) 200 in ") == true)
    }

    @Test(arguments: ["webhook.site", "webhook.site:443", "WEBHOOK.Site", "WebHook.site:8443"])
    func `The secret path of a webhook is not shown, however its host is written`(authority: String) async throws {
        let secret = "d1f4c0de-77aa-4bcd-9e01-7f3a5b6c8d90"
        let stub = ClosureConnection { request in
            var response = Response(status: .ok)
            response.metadata = ResponseMetadata(answering: request, from: .stub)
            return response
        }
        let connection = try stub.resolving(against: "https://\(authority)/")
            .logging(to: log.sink, clock: clock)
        _ = try await connection.send(.get(secret))
        _ = try await connection.send(.get("https://\(authority)/\(secret)"))
        #expect(log.entries.count == 2)
        #expect(!log.entries.joined().contains(secret))
    }

    @Test func `A hostile path starts no new line`() async throws {
        var request = try Request.get("https://a.example/")
        request.head.path = "/\n200 OK\u{2028}\u{202E}x"
        _ = try await StubConnection(Response(status: .ok)).logging(to: log.sink, clock: clock).send(request)
        #expect(log.entries.first?.contains("\n") == false)
        #expect(log.entries.first?.unicodeScalars.contains("\u{202E}") == false)
        (request.head.method, request.head.path) = (.options, "*")
        _ = try await StubConnection(Response(status: .ok)).logging(to: log.sink, clock: clock).send(request)
        #expect(log.entries.last?.hasPrefix("OPTIONS https://a.example 200") == true)
    }
}

private struct SecretiveConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let name: HTTPField.Name
    var layer: Layer { Layer(name: "secretive", secretFields: [name]) }

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

private struct UploadReader: BodyReader {
    var chunks = [#"{"token":"#, #""s3cret"}"#]

    mutating func next() -> Data? {
        chunks.isEmpty ? nil : Data(chunks.removeFirst().utf8)
    }

    var trailers: HTTPFields? { nil }
}
