import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The texts of errors, as a developer meets them.
@Suite(.timeLimit(.minutes(3))) struct ErrorTextTests {
    #if os(Linux)
    @Test func `The texts of CurlConnection match the golden file`() async throws {
        var texts = ErrorTexts("CurlConnection")
        let failures = TransportFailures { clock, root in
            var tls = TLSOptions()
            if let root { tls.roots = .file(root) }
            return try CurlConnection(tls: tls, clock: clock)
        }
        try await failures.addPlain(to: &texts)
        try await failures.addUntrusted(to: &texts)
        try await failures.addTrusted(to: &texts)
        await texts.add("proxy that is not found") {
            let proxy = try CurlConnection.Proxy("http://proxy.decorum.invalid:3128", user: "me", password: "s3cret")
            _ = try await CurlConnection(proxy: proxy).send(.get("http://a.example/items?key=s3cret"))
        }
        let refusing = try LoopbackOrigin.refusing()
        await texts.add("proxy that refuses the connection") {
            let proxy = try CurlConnection.Proxy(refusing.url, user: "me", password: "s3cret")
            _ = try await CurlConnection(proxy: proxy).send(.get("https://a.example/items?key=s3cret"))
        }
        let server = try await SecureServer.openssl("-www")
        await texts.add("pinned key") {
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            tls.pinnedKeys = [Data(repeating: 0, count: 32)]
            _ = try await CurlConnection(tls: tls).send(.get(server.url + "/"))
        }
        await texts.add("client certificate that is not there") {
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            tls.identity = .files(
                certificate: server.root.appendingPathExtension("absent"), key: server.root)
            _ = try await CurlConnection(tls: tls).send(.get(server.url + "/"))
        }
        try texts.check()
    }

    @Test func `The texts of URLSessionConnection match the golden file`() async throws {
        var texts = ErrorTexts("URLSessionConnection on Linux")
        let failures = TransportFailures { clock, _ in URLSessionConnection(clock: clock) }
        try await failures.addPlain(to: &texts)
        try await failures.addUntrusted(to: &texts)
        try texts.check()
    }
    #endif

    @Test func `The texts of layers match the golden file`() async throws {
        var texts = ErrorTexts("Requests, bodies and layers")
        let origin = try LoopbackOrigin()
        let connection = SystemConnection()
        let url = origin.url + "/items?key=s3cret"
        struct Item: Decodable {
            let id: Int
            let owner: Owner
            struct Owner: Decodable { let name: String }
        }
        origin.enqueue(.init(body: String(repeating: "x", count: 200)))
        await texts.add("body over the limit") { _ = try await connection.send(.get(url)).body.data(upTo: 100) }
        origin.enqueue(
            .init(.ok, fields: ["Content-Type": "application/json"], body: String(repeating: " ", count: 200)))
        await texts.add("decoding: over the limit") {
            var request = try Request.get(url)
            request.options.routeName = "items"
            _ = try await connection.send(request).decode([Item].self, upTo: 100)
        }
        origin.enqueue(
            .init(.ok, fields: ["Content-Encoding": "gzip", "Content-Type": "application/json"], body: "no gzip"))
        await texts.add("decoding: damaged coding") {
            _ = try await connection.decompressing().send(.get(url)).decode([Item].self, upTo: 100)
        }
        let contents: [(String, String, String)] = [
            (
                "wrong type", "application/json",
                #"[{"id": 1, "owner": {"name": "a"}}, {"id": 2, "owner": {"name": 7}}]"#
            ),
            ("missing key", "application/json", #"[{"id": 1}]"#),
            ("HTML", "text/html; charset=utf-8", "<!DOCTYPE html><title>Sign in</title>"),
            ("empty", "application/json", ""), ("broken JSON", "application/json", #"[{"id": 1, "#),
        ]
        for (name, type, body) in contents {
            origin.enqueue(.init(.ok, fields: ["Content-Type": "\(type)"], body: body))
            await texts.add("decoding: \(name)") {
                _ = try await connection.send(.get(url)).decode([Item].self, upTo: 1 << 20)
            }
        }
        let validating = connection.validatingStatus()
        for status in [HTTPResponse.Status.notFound, .internalServerError] {
            let problem = #"{"title": "No such item", "detail": "Item 7 was deleted.", "token": "s3cret"}"#
            origin.enqueue(.init(status, fields: ["Content-Type": "application/problem+json"], body: problem))
            await texts.add("status \(status.code)") {
                var request = try Request.get(url)
                request.options.routeName = "items"
                _ = try await validating.send(request)
            }
        }
        let problem = #"{"errors": [{"field": "name", "token": "s3cret"}]}"#
        origin.enqueue(.init(.unprocessableContent, fields: ["Content-Type": "application/json"], body: problem))
        await texts.add("status 422") { _ = try await validating.send(.get(url)) }
        origin.enqueue(
            .init(
                .tooManyRequests, fields: ["Content-Type": "application/json", "Retry-After": "120"],
                body: #"{"error": "rate_limited"}"#))
        await texts.add("status with a code and a wait") { _ = try await validating.send(.get(url)) }
        origin.enqueue(
            .init(
                .forbidden,
                fields: [
                    "Content-Type": "application/json", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "900",
                ], body: #"{"message": "API rate limit exceeded for s3cret"}"#))
        await texts.add("status 403 of a rate limit") { _ = try await validating.send(.get(url)) }
        let fields =
            #"{"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "#
            + #""code": "missing_field"}, {"field": "labels", "code": "custom", "message": "s3cret"}]}"#
        origin.enqueue(.init(.unprocessableContent, fields: ["Content-Type": "application/json"], body: fields))
        await texts.add("status 422 with fields") { _ = try await validating.send(.post(url, body: "{}")) }
        origin.enqueue(.init(.serviceUnavailable, fields: ["Retry-After": "120"]))
        await texts.add("no retry") { _ = try await connection.retrying().validatingStatus().send(.get(url)) }
        origin.enqueue(.closing)
        await texts.add("no retry after a failure") {
            _ = try await connection.retrying().send(.post(url, body: "x"))
        }
        origin.enqueue(.init(.serviceUnavailable, fields: ["Retry-After": "120"]))
        await texts.add("pause") {
            let paced = connection.pacing()
            _ = try await paced.send(.get(url))
            _ = try await paced.send(.get(url))
        }
        origin.enqueue(.init(.permanentRedirect, fields: ["Location": "ftp://a.example/?key=s3cret"]))
        await texts.add("redirection that was not followed") {
            _ = try await connection.followingRedirects().validatingStatus().send(.get(url))
        }
        origin.route(.get, "/a", .init(.found, fields: ["Location": "/b?key=s3cret"]))
        origin.route(.get, "/b", .init(.found, fields: ["Location": "/c"]))
        await texts.add("too many redirections") {
            _ = try await connection.followingRedirects(upTo: 1).send(.get(origin.url + "/a"))
        }
        origin.route(.get, "/loop", .init(.found, fields: ["Location": "/loop"]))
        await texts.add("redirection loop") {
            _ = try await connection.followingRedirects().send(.get(origin.url + "/loop"))
        }
        let refusing = try LoopbackOrigin.refusing()
        await texts.add("retries") {
            let policy = RetryPolicy(retries: 2, baseDelay: .zero, budget: .unlimited)
            _ = try await connection.retrying(policy).send(.get(refusing.url + "/"))
        }
        await texts.add("once body twice") {
            let body = Body(length: 5, replay: .once) { _ in try await Body("hello").open() }
            _ = try await body.data(upTo: 10)
            _ = try await connection.send(.post(url, body: body))
        }
        await texts.add("relative URL") { _ = try await connection.send(.get("/items?key=s3cret")) }
        for invalid in [
            "https://a.example/a b?key=s3cret", "https://a.example:99999/", "ftp://a.example/",
            "https://me:s3cret@a.example/",
            "https://a_b<.example/", "https:///path", "https://a.example/\n?key=s3cret", "//evil.example/x?key=s3cret",
            "https://a b.example/", "https://a.example:port/", "localhost:8080/items", "mailto:me@a.example",
        ] {
            await texts.add("URL \(invalid.debugDescription)") { _ = try await connection.send(.get(invalid)) }
        }
        for invalid in ["https://[::1/", "https://[::1]x/", "https://[::g<]/", "https://[]/", "https://a_b<.example"] {
            await texts.add("origin \(invalid.debugDescription)") { _ = try Origin(invalid) }
        }
        await texts.add("base without a scheme") { _ = try connection.resolving(against: "api.example.com/v1/") }
        await texts.add("origin without a scheme") { _ = try Origin("api.example.com") }
        try await addCodings(to: &texts)
        try texts.check()
    }

    private func addCodings(to texts: inout ErrorTexts) async throws {
        let coded = try CodedItems.data("items.gz")
        var length = ContentDecodingLimits.standard
        length.maximumLength = 10
        let bomb = try #require(try ContentEncoder(.gzip)?.encode(Data(count: 4 << 20), flush: .end))
        var codings = ContentDecodingLimits.standard
        codings.maximumCodings = 1
        let cases: [(String, Data, [String], ContentDecodingLimits)] = [
            ("malformed", Data(repeating: 0xFF, count: 20), ["gzip"], .standard),
            ("truncated", coded.prefix(20), ["gzip"], .standard),
            ("trailing data", coded + Data([0x78]), ["gzip"], .standard), ("length", coded, ["gzip"], length),
            ("ratio", bomb, ["gzip"], .standard), ("codings", coded, ["gzip", "gzip"], codings),
            ("unknown", coded, ["x-own"], .standard),
        ]
        for (name, data, names, limits) in cases {
            await texts.add("content coding: \(name)") {
                _ = try ContentDecoder.decode(data, inPiecesOf: 1 << 20, from: names, limits: limits)
            }
        }
    }
}

/// The failures that a new app meets first, with the stack of README.
@Suite(.timeLimit(.minutes(3))) struct ReadmeStackErrorTextTests {
    private struct Item: Decodable {
        let id: Int
        let createdAt: String
    }

    private let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
    }

    /// The stack of README, whose retries do not wait.
    private func stack(_ base: String, times: TimePolicy = .interactive) throws -> any Connection {
        var stack = StandardStack(for: base)
        stack.time = times
        if times != .interactive { stack.attemptTime = nil }
        stack.retries = .init(baseDelay: .zero, maximumRetryAfter: .zero, budget: .unlimited)
        return try stack.composed(authentication: .with(.bearer("s3cret")), principal: Principal("user-42"))
    }

    private func get(
        _ path: String, _ base: String? = nil, times: TimePolicy = .interactive, upTo limit: Int = 1 << 20
    ) async throws {
        var request = try Request.get(path + "?key=s3cret")
        request.options.routeName = "items"
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let response = try await stack(base ?? origin.url + "/v1/", times: times).send(request)
        _ = try await response.decode([Item].self, upTo: limit, using: decoder)
    }

    private func answer(
        _ path: String, _ status: HTTPResponse.Status = .ok, _ fields: RawFields = [:], _ body: String
    ) {
        origin.route(.get, "/v1/" + path, .init(status, fields: fields, body: body))
    }

    #if os(Linux)
    @Test func `The texts of the failures that are met first match the golden file`() async throws {
        var texts = ErrorTexts("The stack of README")
        try await addConnecting(to: &texts)
        await addStatuses(to: &texts)
        try await addContents(to: &texts)
        try texts.check()
    }

    private func addConnecting(to texts: inout ErrorTexts) async throws {
        // A resolver may take long under load.
        let patient = TimePolicy(call: .seconds(120), idle: .seconds(15))
        await texts.add("host unknown") { try await get("items", "https://decorum.invalid/v1/", times: patient) }
        let refusing = try LoopbackOrigin.refusing()
        await texts.add("refused") { try await get("items", refusing.url + "/v1/") }
        let full = try FullBacklog()
        let hasty = TimePolicy(call: .milliseconds(300), idle: .seconds(15))
        await texts.add("no connection in time") {
            try await get("items", "http://127.0.0.1:\(full.port)/", times: hasty)
        }
        origin.route(.get, "/v1/silent", .hanging)
        await texts.add("no answer within the deadline") { try await get("silent", times: hasty) }
        await texts.add("no answer within the idle timeout") {
            try await get("silent", times: .init(call: .seconds(30), idle: .seconds(1)))
        }
        // The head has to arrive before the time is over, also in a busy process.
        origin.route(.get, "/v1/still", .script(.head(.ok, ["Content-Length": "9"]), .raw("hal"), .hang))
        await texts.add("content that stops") {
            try await get("still", times: .init(call: .seconds(30), idle: .seconds(3)))
        }
        await texts.add("content that takes too long") {
            try await get("still", times: .init(call: .seconds(3), body: .seconds(3), idle: .seconds(15)))
        }
        let server = try await SecureServer.openssl()
        await texts.add("certificate that is not trusted") { try await get("items", server.url + "/") }
        await texts.add("no TLS") { try await get("items", "https://127.0.0.1:\(origin.port)/") }
        origin.route(.get, "/v1/closed", .closing)
        await texts.add("connection lost") { try await get("closed") }
        origin.route(.post, "/v1/closed", .closing)
        await texts.add("connection lost, after a POST") {
            _ = try await stack(origin.url + "/v1/").send(.post("closed", body: Body(json: ["a": 1])))
        }
    }

    private func addStatuses(to texts: inout ErrorTexts) async {
        let json = ["Content-Type": "application/json"] as RawFields
        answer("missing", .notFound, json, #"{"message": "Not Found"}"#)
        await texts.add("404") { try await get("missing") }
        answer("private", .unauthorized, json, #"{"message": "Bad credentials"}"#)
        await texts.add("401") { try await get("private") }
        answer("moved", .found, ["Location": "http://localhost:\(origin.port)/v1/private"], "")
        await texts.add("401 after a redirection to another origin") { try await get("moved") }
        answer(
            "limited", .forbidden,
            ["Content-Type": "application/json", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800"],
            #"{"message": "API rate limit exceeded"}"#)
        await texts.add("403 of a rate limit") { try await get("limited") }
        answer("busy", .tooManyRequests, ["Retry-After": "60"], "")
        await texts.add("429") { try await get("busy") }
        answer("broken", .internalServerError, [:], "")
        await texts.add("500") { try await get("broken") }
        origin.route(
            .post, "/v1/items",
            .init(
                .unprocessableContent, fields: json,
                body: #"{"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "#
                    + #""code": "missing_field"}]}"#))
        await texts.add("422") {
            _ = try await stack(origin.url + "/v1/").send(.post("items", body: Body(json: ["a": 1])))
        }
        answer("loop", .found, ["Location": "loop2"], "")
        answer("loop2", .found, ["Location": "loop"], "")
        await texts.add("redirection loop") { try await get("loop") }
    }

    private func addContents(to texts: inout ErrorTexts) async throws {
        let json = ["Content-Type": "application/json"] as RawFields
        answer("old", .ok, json, #"[{"id": 1, "created": "2026-11-22"}]"#)
        await texts.add("JSON without a key") { try await get("old") }
        answer("other", .ok, json, #"[{"id": "1", "created_at": "2026-11-22"}]"#)
        await texts.add("JSON with another type") { try await get("other") }
        answer("page", .ok, ["Content-Type": "text/html"], "<!DOCTYPE html><title>Sign in</title>")
        await texts.add("HTML in place of JSON") { try await get("page") }
        answer("cut", .ok, json, #"[{"id": 1, "created_at": "20"#)
        await texts.add("JSON that was cut") { try await get("cut") }
        let coded = try CodedItems.data("items.gz")
        origin.route(
            .get, "/v1/coded",
            .init(
                .ok, fields: ["Content-Type": "application/json", "Content-Encoding": "gzip"], body: coded.dropLast(9)))
        await texts.add("gzip that was cut") { try await get("coded") }
        origin.route(
            .get, "/v1/short", .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n[{"), .close))
        await texts.add("content shorter than its length") { try await get("short") }
        answer("long", .ok, json, String(repeating: " ", count: 200))
        await texts.add("content that is too long") { try await get("long", upTo: 100) }
        await texts.add("a reference that is no URL") { try await get("a b") }
    }
    #endif
}
