import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The answers of the cookbook that need no further module.
@Suite(.timeLimit(.minutes(3))) struct CookbookListings {
    private struct Item: Codable, Equatable, Sendable {
        var id: Int
        var title: String
    }

    private func composeImages(caches: URL) throws -> any Connection {
        let stack = StandardStack(for: "https://images.example.com/")
        let store = FileResponseStore(directory: caches.appending(path: "Images"))
        let connection = try stack.composed(store: store)
        return connection
    }

    @Test func unsafeRetries() async throws {
        var stack = StandardStack(for: "https://api.example.com/")
        stack.idempotencyKeys = true

        let stub = StubConnection(
            answers: [{ _ in throw TransportError(.connectionLost, at: .head) }, { _ in Response(status: .created) }])
        let connection = try stack.composed(over: stub, clock: ImpatientClock())
        _ = try await connection.send(.post("orders", body: Body(json: ["book": 7])))
        let name = try #require(HTTPField.Name("Idempotency-Key"))
        #expect(stub.requests.count == 2)
        #expect(Set(stub.requests.map { $0.head.headerFields[name] }).count == 1)
    }

    @Test func times() throws {
        var stack = StandardStack(for: "https://api.example.com/")
        stack.time = .init(call: .seconds(10), body: .seconds(60), idle: .seconds(5))
        stack.attemptTime = .init(.seconds(4))

        var request = try Request.get("export")
        request.options.timePolicy = .transfer

        let duration = try stack.composed(over: StubConnection { _ in Response(status: .ok) }).bounds.duration
        #expect(duration.value.map { $0 < .seconds(15) } == true)
        #expect(request.options.timePolicy == .transfer)
    }

    // swift-format-ignore: NeverForceUnwrap
    private func sendingKey(_ key: String, over stack: StandardStack) throws -> any Connection {
        let connection = try stack.composed(authentication: .with(.field(.init("X-API-Key")!, key)))
        return connection
    }

    private func sendingPassword(_ password: String, over stack: StandardStack) throws -> any Connection {
        let connection = try stack.composed(authentication: .with(.basic(user: "app", password: password)))
        return connection
    }

    @Test func whileOffline() async throws {
        let stub = StubConnection(
            Response(status: .ok, fields: [.cacheControl: "max-age=0"], body: #"{"id": 1, "title": "one"}"#))
        let connection = try StandardStack(for: "https://api.example.com/").composed(over: stub)
        var endpoint = Endpoint<Item>.get("items/1")
        _ = try await connection.value(of: endpoint)
        endpoint.options.cacheUse = .preferringStored
        let item = try await connection.value(of: endpoint)
        #expect(item.title == "one" && stub.requests.count == 1)
    }

    @Test func conflicts() async throws {
        let old = Response(status: .ok, fields: [.eTag: #""1""#], body: #"{"id": 7, "title": "one"}"#)
        let connection = StubConnection(
            old, Response(status: .ok, fields: [.eTag: #""2""#], body: #"{"id": 7, "title": "two"}"#))
        var item = try await connection.versioned(of: Endpoint<Item>.get("items/7"))
        item.value.title = "two"
        item = try await connection.update(item, by: .put("items/7", content: .json(item.value)))
        #expect(connection.requests[1].head.headerFields[.ifMatch] == #""1""#)
        #expect(item.value.title == "two")
    }

    @Test func statusAsValue() async throws {
        let connection = StubConnection { _ in Response(status: .notFound) }.validatingStatus()
        var request = try Request(.head, "items/7")
        request.options.acceptedStatuses = .all
        let exists = try await connection.send(request).status == .ok
        #expect(!exists)
    }

    @Test func explanation() async throws {
        let connection = try StandardStack(for: "https://api.example.com/")
            .composed(over: StubConnection { _ in Response(status: .ok) })
        let context = CallContext(keepingHistory: 100)
        var request = try Request.get("feed")
        request.options.callContext = context
        let response = try await connection.send(request)
        print(context.history)  // each decision of a layer, such as why a stored response was not used
        print(response.report.explain())  // the story of the call, in at most fifteen lines
        #expect(!context.history.isEmpty)
    }

    #if os(Linux)
    private func proxies() throws -> any Connection {
        let environment = try CurlConnection.Environment()
        let transport = try CurlConnection(environment: environment)
        let connection = try StandardStack(.tool, for: "https://api.example.com/").composed(over: transport)
        return connection
    }
    #endif

    @Test func numbers() async throws {
        let statistics = ExchangeStatistics()
        let connection = try StandardStack(for: "https://api.example.com/")
            .composed(over: StubConnection { _ in Response(status: .ok) }, observer: statistics)
        _ = try await connection.send(.get("feed"))
        print(statistics.snapshot())  // a table with counts, errors, percentiles and hits by route
        for row in statistics.snapshot().rows { print(row.route, row.count, row.errors, row.hits, row.revalidations) }
        let observer = ClosureObserver { report in
            if report.source == .cache { print("no request was sent: \(report)") }
        }
        #expect(try StandardStack().composed(observer: observer).layers.contains { $0.name == "observing" })
        #expect("\(statistics.snapshot())".contains("api.example.com"))
    }
}
