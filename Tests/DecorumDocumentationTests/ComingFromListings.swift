import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

struct Track: Codable, Equatable, Sendable {
    var title: String
}

@Suite(.timeLimit(.minutes(3))) struct ComingFromListings {
    @Test func `The feed over a connection`() async throws {
        let server = try LoopbackOrigin()
        server.route(.get, "/v1/feed", .init(body: #"{"titles": ["one"]}"#))
        let connection = try feedConnection(origin: server.origin, base: server.url + "/v1/", token: "secret")
        #expect(try await feed(over: connection).titles == ["one"])
        #expect(server.requests.map { $0.fields["Authorization"] } == ["Bearer secret"])
    }

    @Test func `Alamofire's request, adapter and retrier`() async throws {
        let transport = StubConnection(
            Response(status: .serviceUnavailable), Response(status: .ok, body: #"{"title": "one"}"#))
        let token = "secret"
        let clock = ImpatientClock()

        var stack = StandardStack(for: "https://api.example.com/v1/")
        stack.retries?.budget = .perCall(3)
        let connection = try stack.composed(
            over: transport, authentication: .with(.bearer(token)),
            adding: [.inside(of: .retries) { $0.stampingAttempts() }], clock: clock)

        let track = try await connection.value(of: Endpoint<Track>.get("tracks/{id}", ["id": 7]))

        #expect(track == Track(title: "one"))
        #expect(transport.requests.map { $0.head.headerFields[.stamp] } == ["spring", "spring"])
    }

    @Test func `Moya's targets and Get's requests`() async throws {
        let preview = try await SampleConnection().value(of: .tracks(of: 7))
        #expect(preview == [Track(title: "One")])

        let stub = StubConnection(Response(status: .ok, body: #"[{"title": "Two"}]"#))
        let api = try stub.resolving(against: "https://api.example.com/v1/")
        let tracks = try await api.value(of: .tracks(of: 7))
        #expect(tracks == [Track(title: "Two")])
        #expect(stub.requests.first?.url?.absoluteString == "https://api.example.com/v1/albums/7/tracks")
    }

    @Test func `A middleware of OpenAPI`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        let connection = stub.sending(language: "de").retrying(clock: ImpatientClock())
        #expect(try await connection.send(.get("https://api.example.com/")).status == .ok)
        #expect(stub.requests.map { $0.head.headerFields[.acceptLanguage] } == ["de", "de"])
    }

    @Test func `The configuration and delegates of Twitter Network Layer`() async throws {
        let transport = StubConnection(Response(status: .forbidden), Response(status: .ok))
        let clock = ImpatientClock()
        let api = try Origin("https://api.example.com")
        let staging = try Origin("https://staging.example.com")
        let session = Session(token: "secret")

        let connection =
            transport
            .authenticating(from: session, for: staging)
            .limitingTime(AttemptTimePolicy(.seconds(60), idle: .seconds(30)), as: .attempt, clock: clock)
            .retrying(RetryPolicy(when: .standard || .status(403)), clock: clock)
            .restrictingHosts(to: .httpsOnly.rewriting(api, to: staging))
            .followingRedirects()
            .addingDefaultFields([.acceptLanguage: "de"])
            .limitingTime(TimePolicy(call: .seconds(180)), clock: clock)

        let response = try await connection.send(.get("https://api.example.com/blobs/7"))

        #expect(response.status == .ok)
        #expect(response.metadata.attempts == 2)
        #expect(transport.requests.map(\.url?.host) == ["staging.example.com", "staging.example.com"])
        #expect(transport.requests.map { $0.head.headerFields[.authorization] } == ["Bearer secret", "Bearer secret"])
    }

    @Test func `The endpoint and the limits of APEReactiveNetworking`() async throws {
        let transport = StubConnection(Response(status: .created, body: #"{"title": "one"}"#), Response(status: .ok))
        let clock = ImpatientClock()

        let connection =
            try transport
            .authenticating(with: .basic(user: "ape", password: "group"), for: Origin("https://api.example.com"))
            .retrying(RetryPolicy(retries: 10), clock: clock)
            .limitingTime(TimePolicy(call: .seconds(10)), clock: clock)
            .resolving(against: "https://api.example.com/")

        let creating = Endpoint<Track>.post("tracks", content: .json(Track(title: "one")))
            .accepting(statuses: .codes([201]))
        let track = try await connection.value(of: creating)

        #expect(track == Track(title: "one"))
        #expect(transport.requests.first?.head.headerFields[.authorization] == "Basic YXBlOmdyb3Vw")
        await #expect(throws: RefusalError.self) { try await connection.value(of: creating) }
    }

    struct Feed: Decodable, Equatable {
        let titles: [String]
    }

    func feedConnection(origin: Origin, base: String, token: String) throws -> any Connection {
        try SystemConnection()
            .authenticating(with: .bearer(token), for: origin)
            .retrying()
            .decompressing()
            .followingRedirects()
            .resolving(against: base)
            .limitingTime()
            .validatingStatus()
    }

    func feed(over connection: any Connection) async throws -> Feed {
        try await connection.send(.get("feed")).decode(Feed.self, upTo: 1 << 20)
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let stamp = HTTPField.Name("X-Stamp")!
}

extension Connection {
    func stampingAttempts() -> some Connection {
        intercepting("stampingAttempts", facts: []) { request, base in
            var request = request
            request.head.headerFields[.stamp] = "spring"
            return try await base.send(request)
        }
    }
}

extension Endpoint where Value == [Track] {
    static func tracks(of album: Int) -> Self {
        get("albums/{album}/tracks", ["album": album])
            .sampled(.json([Track(title: "One")]))
    }
}

struct LanguageConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let language: String

    func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.acceptLanguage] = language
        return try await base.send(request)
    }
}

extension Connection {
    func sending(language: String) -> some Connection {
        LanguageConnection(base: self, language: language)
    }
}
