import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

/// Items of the query that each request carries: defaults, the ones of a base URL, and credentials.
@Suite struct QueryItemsTests {
    private let stub = StubConnection { _ in Response(status: .ok) }

    @Test(arguments: [
        ("/items", "/items?v=2&q=a%20b"), ("/items?", "/items?v=2&q=a%20b"), ("/items?x=1", "/items?x=1&v=2&q=a%20b"),
        ("/items?x=1&", "/items?x=1&v=2&q=a%20b"), ("/items?v=1", "/items?v=1&q=a%20b"), ("/?q&%76=", "/?q&%76="),
        ("/?V=1", "/?V=1&v=2&q=a%20b"),
    ])
    func `Default items follow the query of the request`(path: String, expected: String) async throws {
        let connection = stub.addingDefaultQueryItems([QueryItem("v", "2"), QueryItem("q", "a b")])
        _ = try await connection.send(.get("https://api.example.com" + path))
        #expect(stub.requests.last?.head.path == expected)
    }

    @Test func `The whole server has no query`() async throws {
        var request = try Request(.options, "https://api.example.com/")
        request.head.path = "*"
        _ = try await stub.addingDefaultQueryItems([QueryItem("v", "2")]).send(request)
        #expect(stub.requests.last?.head.path == "*")
    }

    @Test(arguments: [
        ("items", "/v1/items?v=2"), ("items?page=2", "/v1/items?page=2&v=2"), ("items?v=3", "/v1/items?v=3"),
        ("/items", "/items?v=2"), ("", "/v1/?v=2"), ("?v=1", "/v1/?v=1"),
    ])
    func `The items of a base URL go with each relative request`(reference: String, expected: String) async throws {
        let connection = try stub.resolving(against: "https://api.example.com/v1/?v=2")
        _ = try await connection.send(.get(reference))
        #expect(stub.requests.last?.head.path == expected)
        _ = try await connection.send(.get("https://other.example.com/"))
        #expect(stub.requests.last?.head.path == "/")
    }

    @Test func `A key in a base URL is shown nowhere`() async throws {
        let log = Mutex("")
        let connection = try stub.logging(to: LogSink { entry in log.withLock { $0 += entry } }).resolving(
            against: "https://api.example.com/v1/?api_key=Zx81")
        _ = try await connection.send(.get("items"))
        #expect(stub.requests.last?.head.path == "/v1/items?api_key=Zx81")
        #expect(!"\(connection) \(log.withLock { $0 }) \(stub.requests)".contains("Zx81"))
    }

    @Test func `Credentials in an item are for their origin alone, and secret`() async throws {
        let log = Mutex("")
        let connection = stub.logging(to: LogSink { entry in log.withLock { $0 += entry } }).authenticating(
            with: try .queryItem("schluessel", "Zx81 9"), for: try Origin("https://api.example.com"))
        for url in [
            "https://api.example.com/a?b=c", "https://other.example.com/", "https://api.example.com/?schluessel=1",
        ] {
            _ = try await connection.send(.get(url))
        }
        #expect(stub.requests.map(\.head.path) == ["/a?b=c&schluessel=Zx81%209", "/", "/?schluessel=1"])
        #expect(!"\(connection) \(log.withLock { $0 }) \(stub.requests)".contains("Zx81"))
        #expect(throws: InvalidRequestError.self) { try Credentials.queryItem("key", "") }
    }
}
