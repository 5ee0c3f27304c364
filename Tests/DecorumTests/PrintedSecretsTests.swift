import Decorum
import DecorumArchive
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Puts a secret into every value that can hold one, and prints the value in every way.
@Suite(.timeLimit(.minutes(3))) struct PrintedSecretsTests {
    private enum SessionKey: RequestOptionKey, ResponseMetadataKey {
        static let defaultValue: String? = nil
    }

    private struct LeakyError: Error, CustomStringConvertible {
        let url = "https://me:s3cret@a.example/?token=s3cret"
        var description: String { url }
    }

    private let fields: HTTPFields = [
        .authorization: "Bearer s3cret", .cookie: "sid=s3cret", .setCookie: "sid=s3cret", .accept: "*/*",
    ]
    private let url = "https://a.example/feed?token=s3cret&page=2#s3cret"

    private var head: HTTPRequest {
        HTTPRequest(
            method: .post, scheme: "https", authority: "me:s3cret@a.example", path: "/feed?token=s3cret&page=2",
            headerFields: fields)
    }

    private var options: RequestOptions {
        var options = RequestOptions()
        options.fragment = "s3cret"
        options.principal = Principal("s3cret")
        options.routeName = "feed"
        options.idleTimeout = .seconds(3)
        options.secretFields = [.accept]
        options[SessionKey.self] = "s3cret"
        return options
    }

    private var status: HTTPResponse.Status { HTTPResponse.Status(code: 503, reasonPhrase: "s3cret") }

    private func metadata() throws -> ResponseMetadata {
        let url = try #require(URL(string: url))
        var metadata = ResponseMetadata()
        metadata.source = .network
        metadata.url = url
        metadata.redirects = [Redirection(status: .movedPermanently, method: .get, from: url, to: url)]
        metadata.informational = [HTTPResponse(status: status, headerFields: fields)]
        metadata[SessionKey.self] = "s3cret"
        return metadata
    }

    private func response() throws -> Response {
        Response(
            head: HTTPResponse(status: status, headerFields: fields), body: "s3cret", metadata: try metadata())
    }

    /// Returns the output of printing, reflecting and dumping a value, alone and within others.
    private func shown(_ value: Any) -> String {
        var text = "\(value) \(String(reflecting: value)) \([value]) \(["key": value])"
        dump(value, to: &text)
        dump([value], to: &text)
        return text
    }

    private func expectNoSecret(in values: [Any]) {
        for value in values {
            let text = shown(value)
            // A dump of bytes is a list of numbers.
            let numbers = text.split { !$0.isNumber }.joined(separator: " ")
            let bytes = "s3cret".utf8.map(String.init).joined(separator: " ")
            #expect(!text.contains("s3cret") && !numbers.contains(bytes), "\(type(of: value)): \(text)")
        }
    }

    @Test func `Requests and responses show no secret`() throws {
        let request = Request(head: head, body: "s3cret", options: options)
        expectNoSecret(in: [request, request.body, request.options, try response(), try response().metadata])
        #expect("\(request)" == "POST https://REDACTED@a.example/feed?token=REDACTED&page=2")
        // The caller's own data is complete.
        #expect(request.head.headerFields[.authorization] == "Bearer s3cret")
    }

    @Test func `Errors show no secret`() async throws {
        let platform = URLError(.badURL, userInfo: [NSLocalizedDescriptionKey: url])
        let errors: [any Error] = [
            TransportError(.connectionLost, at: .body, underlying: LeakyError()),
            TransportError(.connectionLost, at: .head, underlying: platform),
            TransportError(.closed, at: .connecting),
            StatusError(method: .get, origin: try Origin("https://a.example"), response: try response()),
        ]
        expectNoSecret(in: errors)
        #expect(String(reflecting: errors[1]).hasSuffix(" (NSURLErrorDomain -1000)"))
        #expect(shown(errors[0]).contains("LeakyError"))

        let location = try #require(URL(string: url)).absoluteString
        let redirecting = StubConnection { _ in
            Response(status: .found, fields: [.location: location], body: "s3cret")
        }
        for limit in [1, 5] {
            let error = await #expect(throws: (any Error).self) {
                _ = try await redirecting.followingRedirects(upTo: limit).send(.get(url))
            }
            expectNoSecret(in: [try #require(error)])
        }
        let invalid = #expect(throws: InvalidRequestError.self) { try Request.get("https://me:s3cret@a.example/") }
        expectNoSecret(in: [try #require(invalid)])
    }

    @Test(arguments: [
        #"{"message": "Password s3cret is wrong for alice@x.com"}"#, #"{"title": "s3cret", "detail": "s3cret"}"#,
        #"{"error": "Password s3cret is wrong"}"#, #"{"error": {"message": "s3cret", "code": "wrong password"}}"#,
        #"{"error": "wrong_login", "error_description": "s3cret"}"#,
    ]) func `The words of a server are only in the property for them`(json: String) async throws {
        let response = Response(
            status: .unauthorized, fields: [.contentType: "application/problem+json"], body: Body(json))
        let lines = Mutex<[String]>([])
        let connection = StubConnection(response).validatingStatus()
            .logging(to: LogSink { entry in lines.withLock { $0.append(entry) } })
        let error = try await #require(throws: StatusError.self) {
            try await connection.send(.get("https://a.example/"))
        }

        #expect(error.problem?.contains("s3cret") == true)
        expectNoSecret(in: [error, Redaction.standard.description(of: error), error.localizedDescription])
        #expect(lines.withLock { !$0.isEmpty && !$0.joined().contains("s3cret") })
    }

    @Test func `Events show no reason phrase`() throws {
        let event = CallReport(method: .get, statusCode: status.code, duration: .seconds(1))
        #expect(event.status?.code == 503 && event.status?.reasonPhrase == "")
        expectNoSecret(in: [event, CallReport.Outcome.failed(name: "timedOut")])
        let events: [BodyEvent] = [
            .chunk(Data("s3cret".utf8)), .finished(trailers: fields), .failed(LeakyError()), .abandoned,
        ]
        expectNoSecret(in: events)
        #expect(
            events.map(\.description) == [
                "chunk of 6 bytes", "finished, 4 trailer fields", "failed: LeakyError", "abandoned",
            ])
    }

    @Test func `Stored responses show no secret`() throws {
        let request = Request(head: head, body: "s3cret", options: options)
        let key = try #require(ResponseKey(request))
        var varying = fields
        varying[.vary] = "Authorization"
        let stored = StoredResponse(
            head: HTTPResponse(status: status, headerFields: varying), body: "s3cret", request: head, date: .now)
        var metadata = ResponseMetadata()
        metadata.storedResponse = stored
        let store = MemoryResponseStore()
        store.store(stored, for: key, with: store.ticket(for: key))
        expectNoSecret(in: [key, key.uri, stored, metadata, store, Principal("s3cret")])
        #expect(key.uri.description == "https://REDACTED@a.example/feed?token=REDACTED&page=2")
    }

    @Test func `Stacks and their parts show no secret`() throws {
        let api = try Origin("https://a.example")
        let stub = StubConnection(try response())
        let stack =
            stub
            .authenticating(with: try .bearer("s3cret"), for: api)
            .addingDefaultFields([.cookie: "s3cret"])
            .overridingFields(with: [.authorization: "s3cret"])
        expectNoSecret(in: [stack, stack.layers, try Credentials.basic(user: "me", password: "s3cret")])
    }

    @Test func `Archives show no secret`() throws {
        var request = HAR.Request(
            method: "POST", url: "https://me:s3cret@a.example/?token=s3cret#s3cret",
            headers: [HAR.Field("Cookie", "s3cret")], postData: HAR.PostData(mimeType: "text/plain", text: "s3cret"))
        request.cookies = [HAR.Cookie("sid", "s3cret")]
        var response = HAR.Response(status: 200, content: HAR.Content(mimeType: "text/plain", text: "s3cret"))
        response.statusText = "s3cret"
        response.redirectURL = "/?token=s3cret"
        let parameter = HAR.Parameter("token", "s3cret")
        let archive = HAR(entries: [HAR.Entry(request: request, response: response)])
        expectNoSecret(in: [
            archive, archive.entries, request, request.headers, request.cookies, response,
            response.content, parameter, request.postData as Any,
        ])
        #expect("\(archive.entries)" == "[POST https://REDACTED@a.example/?token=REDACTED, 200, text/plain, 6 bytes]")
        #expect(archive.document().firstRange(of: Data("s3cret".utf8)) != nil)
    }

    @Test func `Test doubles and their requests show no secret`() async throws {
        let stub = StubConnection(try response())
        _ = try await stub.send(Request(head: head, body: "s3cret", options: options))
        let origin = try LoopbackOrigin()
        let answer = LoopbackOrigin.Answer(status, fields: ["Set-Cookie": "s3cret", "ETag": "\"1\""], body: "s3cret")
        origin.enqueue(answer)
        let sent = try Request.post(origin.url + "/?token=s3cret", fields: fields, body: "s3cret")
        _ = try await SystemConnection().send(sent).body.data(upTo: 100)
        expectNoSecret(in: [stub, stub.requests, origin, origin.requests, answer, answer.steps])
        #expect(origin.requests.first?.text == "s3cret")
        #expect(answer.description == "503 [Set-Cookie: REDACTED, ETag: \"1\"], 6 bytes")
    }

    @Test func `A cassette that records shows no secret`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "printed-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let recorded = try response()
        let cassette = try Cassette(at: directory.appending(path: "a.json").path, mode: .rewrite)
        let connection = CassetteConnection(cassette, recording: StubConnection(recorded))
        let request = try Request.post(url, fields: fields, body: "s3cret")
        _ = try await connection.send(request).body.data(upTo: 100)
        expectNoSecret(in: [cassette, connection])
        #expect(cassette.description == "cassette a.json, rewrite")
    }

    @Test func `The content of a cassette shows no secret`() throws {
        let request = RecordedRequest(
            method: "GET", url: url, fields: fields, body: RecordedBody(Data("s3cret".utf8)), trailers: fields)
        let response = RecordedResponse(
            status: 200, reason: "s3cret", fields: fields, body: request.body, trailers: fields,
            informational: [RecordedResponse.Interim(status: 103, fields: fields)])
        var rules = CassetteRules()
        rules.allowedSecrets = ["s3cret", .text("s3cret")]
        expectNoSecret(in: [
            Interaction(request: request, response: response), request, response, request.body, rules,
            rules.allowedSecrets, response.informational,
        ])
        #expect("\(request), \(response)" == "GET https://a.example/feed?token=REDACTED&page=2, 6 bytes, 200, 6 bytes")
    }
}
