import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct ReadmeListings {
    func stack(token: String) async throws -> (Repository, any Connection) {
        var stack = StandardStack(for: "https://api.example.com/v1/")
        stack.callLog = .line
        let connection = try stack.composed(
            authentication: .with(.bearer(token)), principal: Principal("user-42"))

        let repository = try await connection.value(of: .repository("apple", "swift"))
        return (repository, connection)
    }

    func plainRequests(_ connection: any Connection) async throws -> Feed {
        let response = try await connection.send(.get("feed"))
        let feed = try await response.decode(Feed.self, upTo: 1 << 20)

        let comment = try Request.post("comments", body: Body(json: ["text": "hello"]))
        _ = try await connection.send(comment)
        return feed
    }

    func stackByHand(token: String) throws {
        let api = try Origin("https://api.example.com")
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: api)
            .retrying()
            .caching(in: MemoryResponseStore())
            .decompressing()
            .followingRedirects()
            .resolving(against: "https://api.example.com/v1/")
            .acting(for: Principal("user-42"))
            .limitingTime()
            .logging(to: .standardError)
            .validatingStatus()
        _ = connection
    }

    @Test func ownLayer() throws {
        let memory = OfflineMemory()
        let token = "token"
        let api = try Origin("https://api.example.com")
        let uploads = try Origin("https://uploads.example.com")
        var stack = StandardStack(.server, for: "https://api.example.com/v1/")
        stack.client = try .init(name: "Reader")
        stack.fields = [.acceptLanguage: "de"]
        stack.time?.call = .seconds(8)
        stack.attemptTime = .init(.seconds(4))  // an attempt has to be shorter than the call
        stack.retries?.retries = 1
        stack.pacing = nil
        let statistics = ExchangeStatistics()
        let connection = try stack.composed(
            authentication: .with(.bearer(token), for: [api, uploads]), principal: Principal("service"),
            observer: statistics, adding: [.outside(of: .retries) { $0.answeringOffline(from: memory) }])
        print(connection.bounds)  // One call sends at most 42 requests over the network: …

        let names = connection.layers.map(\.name)
        #expect(
            names.drop { $0 != "decompressing" }.prefix(4)
                == ["decompressing", "answeringOffline", "retrying", "limitingTime"])
        #expect(connection.bounds.requests.value == 42)
        #expect(connection.findings.isEmpty && connection.composition.unknownLayers.isEmpty)
    }

    private func send(_ draft: Item, over api: any Connection) async throws -> Item {
        let item = try await api.value(of: Endpoint<Item>.get("items/{id}", ["id": 7]).nilIfMissing())
        let created = try await api.value(of: Endpoint<Item>.post("items", content: .json(draft)))

        for try await event in try api.events(of: Endpoint<Void>.get("items/events")) {
            print(event.type, event.data)
            if event.type == "end" { break }
        }
        #expect(item == nil)
        return created
    }

    @Test func stackOverStub() async throws {
        let text = "hello"
        let appStack = StandardStack(for: "https://api.example.com/")
        let statistics = ExchangeStatistics()

        let stub = StubConnection { _ in Response(status: .ok, body: Body(text)) }
        let connection = try appStack.composed(over: stub, observer: statistics, clock: VirtualClock())
        try requireNoFindings(in: connection)

        let response = try await connection.send(.get("feed"))
        #expect(try await response.body.text(upTo: 10) == text)
        #expect(stub.requests.map(\.head.path) == ["/feed"])
        #expect(response.metadata.url?.absoluteString == "https://api.example.com/feed")
    }

    private struct Item: Codable, Equatable {
        let fullName: String
    }

    private struct Problem: Decodable, Sendable {
        let message: String
    }

    private func readItems(of connection: any Connection) async throws -> [Item] {
        var items: [Item] = []
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let api = connection.calling(API(decoder: decoder, problem: Problem.self))

        for try await item in api.elements(of: Endpoint<[Item]>.get("items", query: ["per_page": 100])) {
            items.append(item)
        }
        return items
    }

    private func copyReport(of connection: any Connection, through file: URL) async throws -> Item {
        let image = Data([0x89])
        let response = try await connection.send(.get("report.pdf"))
        try await response.save(to: file, upTo: 100 << 20)
        _ = try await connection.send(.put("report.pdf", body: Body(contentsOf: file)))

        var form: Multipart = ["title": "Summer"]
        try form.append("report", file: file)
        form.append("cover", Body(image), named: "cover.png", as: "image/png")
        let sent = try await connection.value(of: Endpoint<Item>.post("reports", content: .multipart(form)))
        return sent
    }

    @Test func redirectionThatIsRead() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/downloads/latest", LoopbackOrigin.Answer(.found, fields: ["Location": "/files/7"]))
        let connection = try StandardStack(for: origin.url + "/").composed()
        var request = try Request.get("downloads/latest")
        request.options.redirectionPolicy = .never
        request.options.acceptedStatuses = .codes([302])
        let location = try await connection.send(request).head.headerFields[.location]

        #expect(location == "/files/7")
    }

    func keepingResponses(caches: URL, api: Origin, token: String, request: Request) async throws {
        let responses = FileResponseStore(directory: caches.appending(path: "Responses"))
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: api)
            .retrying()
            .caching(in: responses)
            .followingRedirects()

        let response = try await connection.send(request)
        print(response.metadata.cacheStatus?.description ?? "")  // Decorum;hit;ttl=42, or the reason for a miss
        await responses.removeResponses(of: Principal("user-42"))  // when they sign out
    }

    @Test func stubAndVirtualClock() async throws {
        let stub = StubConnection(
            Response(status: .serviceUnavailable),
            Response(status: .ok, body: "hello"))
        let clock = VirtualClock()

        async let response = stub.retrying(clock: clock).send(.get("https://example.com/"))
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(30))

        #expect(try await response.body.text(upTo: 1000) == "hello")
        #expect(stub.requests.count == 2)
    }

    @Test func loopbackOrigin() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/feed", LoopbackOrigin.Answer(fields: ["ETag": "\"1\""], body: "news"))
        origin.route(.get, "/gone", LoopbackOrigin.Answer(.notFound, body: "{}"))
        origin.route(.get, "/me") { request in
            LoopbackOrigin.Answer(request.fields[.authorization] == nil ? .unauthorized : .ok)
        }
        origin.enqueue(.script(.head(.ok, ["Content-Length": "10"]), .raw("half"), .close))

        let connection = SystemConnection()
        await #expect(throws: TransportError.self) {
            try await connection.send(.get(origin.url + "/feed")).body.data(upTo: 100)
        }
        let response = try await connection.send(.get(origin.url + "/feed"))

        #expect(try await response.body.text(upTo: 100) == "news")
        #expect(origin.requests[1].target == "/feed")
        #expect(origin.requests[1].fields[.accept] == nil)
        #expect(try await connection.send(.get(origin.url + "/me")).status == .unauthorized)
    }
}

struct Feed: Codable, Sendable {}

struct OfflineConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let memory: OfflineMemory

    var layer: Layer {
        Layer(
            name: "answeringOffline", role: .caching, facts: [.answers, .sharesResponses], sending: .init(1...1),
            memory: .init(bytes: .atMost(1 << 20), state: [.init(memory)]))
    }

    func send(_ request: consuming Request) async throws -> Response {
        guard request.head.method == .get, let key = ResponseKey(request) else { return try await base.send(request) }
        let sent = request.collectSent()
        do {
            var response = try await base.send(request)
            guard response.status == .ok else { return response }
            let head = response.head
            response.body = response.body.teed(upTo: 1 << 20) { content, _ in
                guard sent.allowsSharing else { return }
                await memory.keep(Response(head: head, body: Body(content)), for: key)
            }
            return response
        } catch let error as TransportError {
            guard var response = await memory.response(for: key) else { throw error }
            response.metadata.source = .cache
            return response
        }
    }
}

extension Connection {
    func answeringOffline(from memory: OfflineMemory) -> some Connection {
        OfflineConnection(base: self, memory: memory)
    }
}

actor OfflineMemory {
    private var responses: [ResponseKey: Response] = [:]

    func response(for key: ResponseKey) -> Response? { responses[key] }
    func keep(_ response: Response, for key: ResponseKey) { responses[key] = response }
}
