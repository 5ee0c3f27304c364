import Decorum
import DecorumTesting
import Foundation
import Testing

@Suite struct VocabularyListings {
    func connection(api: Origin) async throws {
        let connection = try SystemConnection()
            .authenticating(with: .bearer("token"), for: api)
            .retrying()
            .caching(in: MemoryResponseStore())
            .followingRedirects()
        let response = try await connection.send(.get("https://api.example.com/feed"))
        _ = response
    }

    @Test func order() async throws {
        let transport = StubConnection(Response(status: .badGateway), Response(status: .ok))
        let entries = Entries()
        let sink = LogSink { entries.append($0) }

        // Each attempt is a line in the log: a request passes `retrying`, then `logging`, once for every attempt.
        let attempts = transport.logging(to: sink, as: .attempt).retrying()

        // Each call is a line in the log, however many attempts it took: `logging` is outside `retrying`.
        let calls = transport.retrying().logging(to: sink)

        #expect(attempts.layers.map(\.name) == ["retrying", "logging", "StubConnection"])
        #expect(calls.layers.map(\.name) == ["logging", "retrying", "StubConnection"])
        _ = try await attempts.send(.get("https://example.com/"))
        #expect(entries.all.count == 2)
    }

    @Test func closureConnection() async throws {
        let connection = ClosureConnection { request in
            Response(status: .ok, body: Body("You asked for \(request.head.path ?? "/")"))
        }

        let response = try await connection.send(.get("https://example.com/feed"))
        #expect(try await response.body.text(upTo: 100) == "You asked for /feed")
    }

    func intercepting() {
        // swift-format-ignore: NeverForceUnwrap
        let connection = SystemConnection()
            .intercepting("timing") { request, base in
                let start = ContinuousClock.now
                var response = try await base.send(request)
                response.head.headerFields[.init("X-Elapsed")!] = "\(ContinuousClock.now - start)"
                return response
            }
        _ = connection
    }

    @Test func layer() {
        let connection = StubConnection().retrying().followingRedirects()
        print(connection.layers)
        // [followingRedirects(upTo: 20, policy: standard), retrying(retries: 3), StubConnection]
        let text = "[followingRedirects(upTo: 20, policy: standard), retrying(retries: 3), StubConnection]"
        #expect("\(connection.layers)" == text)
    }

    @Test func request() throws {
        var request = try Request.post("https://api.example.com/items", body: Body(json: ["title": "one"]))
        request.head.headerFields[.acceptLanguage] = "de"
        request.options.idleTimeout = .seconds(10)

        #expect(request.body.length == 15)
        #expect(request.head.headerFields[.contentType] == "application/json")
    }

    @Test func replacedURL() throws {
        let request = try Request.get("https://api.example.com/items/1")
        let response = Response(status: .found, fields: [.location: "2"])
        var next = request
        if let location = response.head.headerFields[.location] { try next.replaceURL(with: location) }

        #expect(next.url?.absoluteString == "https://api.example.com/items/2")
    }

    @Test func typedBodies() async throws {
        let bytes = Data([0x89])
        let image = Body(bytes).typed(as: "image/png")
        #expect(image.mediaType == "image/png")

        let form = Body(form: ["grant_type": "client_credentials", "scope": "read write"])
        // grant_type=client_credentials&scope=read+write
        #expect(try await form.text(upTo: 100) == "grant_type=client_credentials&scope=read+write")
    }

    @Test func principal() throws {
        var request = try Request.get("https://api.example.com/inbox")
        request.options.principal = Principal("user-42")

        #expect(request.options.principal == Principal("user-42"))
    }

    @Test func bodyAtOnce() async throws {
        let response = Response(status: .ok, body: "news")
        let text = try await response.body.text(upTo: 1 << 20)
        #expect(text == "news")
    }

    func bodyInChunks(response: Response, file: FileHandle) async throws {
        for try await chunk in response.body {
            try file.write(contentsOf: chunk)
        }
    }
}

// swift-format-ignore: NeverForceUnwrap
struct TaggingConnection<Base: Connection>: ComposedConnection {
    let base: Base

    func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.init("X-Tag")!] = "spring"
        return try await base.send(request)
    }
}

extension Connection {
    func tagging() -> some Connection { TaggingConnection(base: self) }
}

enum TraceKey: RequestOptionKey {
    static let defaultValue: String? = nil
    static let travels: OptionTravel = [.redirections, .attempts]
}

enum ExperimentKey: RequestOptionKey {
    static let defaultValue: String? = nil
}

nonisolated extension RequestOptions {
    var experiment: String? {
        get { self[ExperimentKey.self] }
        set { self[ExperimentKey.self] = newValue }
    }
}
