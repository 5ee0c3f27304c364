import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The texts of errors, as a developer meets them.
@Suite(.timeLimit(.minutes(3))) struct ErrorTextTests {
    #if os(Linux)
    @Test func `The texts of CurlConnection are those of the golden file`() async throws {
        var texts = ErrorTexts("CurlConnection")
        let failures = TransportFailures { clock, root in
            var tls = CurlConnection.TLS()
            if let root { tls.roots = .file(root) }
            return try CurlConnection(tls: tls, clock: clock)
        }
        try await failures.addPlain(to: &texts)
        try await failures.addUntrusted(to: &texts)
        try await failures.addTrusted(to: &texts)
        let server = try await SecureServer.openssl("-www")
        await texts.add("pinned key") {
            var tls = CurlConnection.TLS()
            tls.roots = .file(server.root)
            tls.pinnedKeys = [Data(repeating: 0, count: 32)]
            _ = try await CurlConnection(tls: tls).send(.get(server.url + "/"))
        }
        await texts.add("client certificate that is not there") {
            var tls = CurlConnection.TLS()
            tls.roots = .file(server.root)
            tls.identity = .files(
                certificate: server.root.appendingPathExtension("absent"), key: server.root)
            _ = try await CurlConnection(tls: tls).send(.get(server.url + "/"))
        }
        try texts.check()
    }

    @Test func `The texts of URLSessionConnection are those of the golden file`() async throws {
        var texts = ErrorTexts("URLSessionConnection on Linux")
        let failures = TransportFailures { clock, _ in URLSessionConnection(clock: clock) }
        try await failures.addPlain(to: &texts)
        try await failures.addUntrusted(to: &texts)
        try texts.check()
    }
    #endif

    @Test func `The texts of layers are those of the golden file`() async throws {
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
            _ = try await connection.retrying(RetryPolicy(retries: 2, baseDelay: .zero)).send(.get(refusing.url + "/"))
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
            "https://a_b<.example/", "https:///path", "https://a.example/\n?key=s3cret",
        ] {
            await texts.add("URL \(invalid.debugDescription)") { _ = try await connection.send(.get(invalid)) }
        }
        await texts.add("origin with a path") { _ = try Origin("https://a.example/b?key=s3cret") }
        try texts.check()
    }
}
