import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

/// Which credentials a source gives to which attempt.
@Suite(.timeLimit(.minutes(3))) struct CredentialSourceTests {
    private let api: Origin
    private let stub = StubConnection { _ in Response(status: .ok) }

    init() throws {
        api = try Origin("https://api.example.com")
    }

    private func sent(_ name: HTTPField.Name = .authorization) -> [String?] {
        stub.requests.map { $0.head.headerFields[name] }
    }

    @Test func `A source is asked for each request, and its credentials are sent`() async throws {
        let connection = stub.authenticating(from: Numbered(), for: api)
        for _ in 1...3 { _ = try await connection.send(.get("https://api.example.com/items")) }
        #expect(sent() == ["Bearer 1", "Bearer 2", "Bearer 3"])
        #expect(stub.requests.allSatisfy { $0.options.secretFields == [.authorization] })
    }

    @Test(arguments: [true, false])
    func `A retry further out has the credentials of its time, and one further in repeats them`(isOuter: Bool)
        async throws
    {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        let clock = VirtualClock()
        let connection: any Connection =
            isOuter
            ? stub.authenticating(from: Numbered(), for: api, clock: clock).retrying(clock: clock)
            : stub.retrying(clock: clock).authenticating(from: Numbered(), for: api, clock: clock)
        let call = Task { try await connection.send(.get("https://api.example.com/")) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(try await call.value.status == .ok)
        #expect(
            stub.requests.map { $0.head.headerFields[.authorization] } == [
                "Bearer 1", isOuter ? "Bearer 2" : "Bearer 1",
            ])
    }

    @Test func `A source learns the request, the server and the number of the attempt`() async throws {
        let seen = Kept<AuthenticationAttempt>()
        let source = ClosureSource { attempt in
            seen.keep(attempt)
            return try .bearer("abc")
        }
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "/there"]), Response(status: .ok), Response(status: .ok))
        let connection = stub.authenticating(from: source, for: api).followingRedirects()
        var request = try Request.post("https://API.example.com:443/here", body: "content")
        request.options.callContext = CallContext()
        request.options.principal = Principal("ann")
        _ = try await connection.send(request)
        _ = try await connection.send(.get("https://api.example.com/"))

        #expect(seen.all.map(\.number) == [1, 2, 1])
        #expect(seen.all.map(\.origin) == [api, api, api])
        #expect(seen.all.map { $0.request.head.path } == ["/here", "/there", "/"])
        #expect(seen.all[0].request.options.principal == Principal("ann"))
        #expect(try await seen.all[0].request.body.text(upTo: 10) == "content")
        #expect(seen.all.allSatisfy { $0.request.head.headerFields[.authorization] == nil })
    }

    @Test(arguments: ["https://evil.example/", "http://api.example.com/", "https://api.example.com:8443/", "/items"])
    func `A source is not asked for another origin`(url: String) async throws {
        let source = ClosureSource { _ in throw Unexpected() }
        _ = try await stub.authenticating(from: source, for: api).send(.get(url))
        #expect(stub.requests == [try .get(url)])
    }

    @Test func `A request with credentials of its own, or that skips authentication, is not the source's`() async throws
    {
        let source = ClosureSource { _ in throw Unexpected() }
        let connection = stub.authenticating(from: source, for: api)
        var anonymous = try Request.get("https://api.example.com/")
        anonymous.options.skipsAuthentication = true
        _ = try await connection.send(anonymous)
        _ = try await connection.send(.get("https://api.example.com/", fields: [.authorization: "own"]))
        #expect(sent() == [nil, "own"])
    }

    @Test func `A request keeps its own field where the source gives one that it has not named`() async throws {
        let name = try #require(HTTPField.Name("X-Vendor"))
        let source = ClosureSource { _ in try .field(name, "secret") }
        let connection = stub.authenticating(from: source, for: api)
        _ = try await connection.send(.get("https://api.example.com/", fields: [name: "own"]))
        _ = try await connection.send(.get("https://api.example.com/"))
        #expect(sent(name) == ["own", "secret"])
        #expect(stub.requests.allSatisfy { $0.options.secretFields.contains(name) })
    }

    @Test func `A request without credentials is sent as it is, and the history says so`() async throws {
        let source = ClosureSource { _ in nil }
        var request = try Request.get("https://api.example.com/")
        let call = CallContext(keepingHistory: 10)
        request.options.callContext = call
        let response = try await StubConnection(Response(status: .unauthorized))
            .authenticating(from: source, for: api).send(request)
        #expect(response.status == .unauthorized)
        #expect(call.history.map(\.kind) == [.skips, .sends])
        #expect(call.history.first?.words == "the source has no credentials for the request")
    }

    @Test func `A source learns from the responses to its credentials, and from no other`() async throws {
        let source = Learning()
        let stub = StubConnection { request in
            Response(
                status: request.head.headerFields.contains(.authorization) ? .unauthorized : .ok,
                fields: [.wwwAuthenticate: #"Bearer error="invalid_token""#], body: "why")
        }
        let connection = stub.authenticating(from: source, for: api)
        let response = try await connection.send(.get("https://api.example.com/items"))
        _ = try await connection.send(.get("https://other.example/"))

        let answer = try #require(source.answers.all.first)
        #expect(source.answers.all.count == 1)
        #expect(answer.request.headerFields[.authorization] == "Bearer abc")
        #expect(answer.origin == api)
        #expect(answer.head.status == .unauthorized)
        #expect(answer.head.headerFields[.wwwAuthenticate] == #"Bearer error="invalid_token""#)
        #expect(answer.metadata.source == .stub)
        #expect(try await response.body.text(upTo: 10) == "why")
        var dumped = "\(answer) \(String(reflecting: answer))"
        dump(answer, to: &dumped)
        #expect(!dumped.contains("abc"))
    }

    @Test func `A source may give a signer`() async throws {
        let name = try #require(HTTPField.Name("X-Vendor"))
        let source = ClosureSource { _ in .signer(FieldSigner(name: name)) }
        let connection = stub.authenticating(from: source, for: api)
        _ = try await connection.send(.get("https://api.example.com/items"))
        #expect(sent(name) == ["signed /items"])
        #expect(stub.requests[0].options.secretFields == [.authorization, name])
    }

    @Test func `The layer declares its source, and shows no secret`() throws {
        let connection = stub.authenticating(from: Numbered(), for: api)
        let layer = try #require(connection.layers.first)
        #expect(layer.description == "authenticating(from: Numbered, for: https://api.example.com)")
        #expect(layer.role == .authentication)
        #expect(layer.facts.isSuperset(of: [.addsCredentials, .bindsToOrigins, .variesPerSend]))
        #expect(layer.secretFields == [.authorization])
        let leaky = stub.authenticating(from: LeakySource(token: "hunter2"), for: api)
        var shown = "\(leaky) \(String(reflecting: leaky))"
        dump(leaky, to: &shown)
        #expect(!shown.contains("hunter2"))
    }
}

private struct Unexpected: Error {}

private struct LeakySource: CredentialSource {
    let token: String

    func credentials(for attempt: AuthenticationAttempt) -> Credentials? { try? .bearer(token) }
}

/// Gives another token each time.
private final class Numbered: CredentialSource {
    private let count = Mutex(0)

    func credentials(for attempt: AuthenticationAttempt) throws -> Credentials? {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return try .bearer("\(number)")
    }
}

private struct Learning: CredentialSource {
    let answers = Kept<AuthenticationAnswer>()

    func credentials(for attempt: AuthenticationAttempt) throws -> Credentials? { try .bearer("abc") }

    func learn(from answer: AuthenticationAnswer) { answers.keep(answer) }
}

private struct FieldSigner: RequestSigner {
    let name: HTTPField.Name
    var secretFields: Set<HTTPField.Name> { [] }

    func sign(_ request: Request) -> Request {
        var request = request
        request.head.headerFields[name] = "signed \(request.head.path ?? "")"
        return request
    }
}
