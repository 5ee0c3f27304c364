import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

// This target is built like an app: on the main actor by default, without the package's upcoming features. That it compiles is
// its first test.

struct CountingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let count: Counter

    func send(_ request: consuming Request) async throws -> Response {
        await count.increment()
        request.head.headerFields[.from] = "app"
        return try await base.send(request)
    }
}

struct Feed: Decodable, Equatable {
    let title: String
}

enum AgeKey: ResponseMetadataKey {
    static let defaultValue = 0
}

struct ScreenConnection<Base: Connection>: ComposedConnection {
    let base: Base

    func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.referer] = request.options.screen
        var response = try await base.send(request)
        response.metadata[AgeKey.self] = 7
        return response
    }
}

struct PlainConnection<Base: Connection>: ComposedConnection {
    let base: Base

    func send(_ request: Request) async throws -> Response {
        var response = try await base.send(request)
        response.body = response.body.observed { _ in }
        return response
    }
}

struct ConcurrentConnection<Base: Connection>: ComposedConnection {
    let base: Base

    @concurrent func send(_ request: Request) async throws -> Response {
        try await base.send(request)
    }
}

extension Connection {
    func counting(with count: Counter) -> some Connection { CountingConnection(base: self, count: count) }
}

final class Counter {
    private(set) var value = 0
    func increment() { value += 1 }
}

final class ViewModel {
    private let connection: any Connection
    private(set) var text = ""

    init(connection: any Connection) {
        self.connection = connection
    }

    func load() async throws {
        let response = try await connection.send(.get("https://example.com/"))
        for try await chunk in response.body { text += String(decoding: chunk, as: UTF8.self) }
    }
}

struct MainActorDecoratorTests {
    @Test func decoratorsOfAnAppWorkUnchanged() async throws {
        let counter = Counter()
        let stub = StubConnection { _ in Response(status: .ok, body: "hello") }
        let stack = ConcurrentConnection(base: PlainConnection(base: stub)).counting(with: counter)
            .intercepting { request, base in try await base.send(request) }
        let model = ViewModel(connection: stack)

        try await model.load()

        #expect(model.text == "hello")
        #expect(counter.value == 1)
        #expect(stub.requests[0].head.headerFields[.from] == "app")
    }

    @Test func typesAndKeysOfAnAppWorkUnchanged() async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: #"{"title": "news"}"#) }
        var request = try Request.get("https://example.com/")
        request.options.screen = "home"

        let response = try await ScreenConnection(base: stub).send(request)

        #expect(try await response.body.decode(Feed.self, upTo: 100) == Feed(title: "news"))
        #expect(response.metadata[AgeKey.self] == 7)
        #expect(stub.requests[0].head.headerFields[.referer] == "home")
    }

    @Test func anAnswerFromMemoryComesWithoutLeavingTheMainActor() async throws {
        let connection = ClosureConnection { _ in
            MainActor.assertIsolated()
            return Response(status: .ok)
        }
        .intercepting { request, base in
            MainActor.assertIsolated()
            return try await base.send(request)
        }
        #expect(try await connection.send(.get("https://example.com/")).status == .ok)
    }
}
