import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

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
    @Test func `The texts of the failures that are met first are those of the golden file`() async throws {
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
