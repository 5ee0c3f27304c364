import DecorumEndpoints
import DecorumTesting
import Foundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(3))) struct ComingFromDesignsListings {
    @Test func `A decorator adds a condition to the second request`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, fields: [.lastModified: "yesterday"]) }
        let after = stub.askingForChanges(since: Dates())
        _ = try await after.send(.get("https://example.com/feed"))
        _ = try await after.send(.get("https://example.com/feed"))
        #expect(stub.requests.map { $0.head.headerFields[.ifModifiedSince] } == [nil, "yesterday"])
    }

    @Test func `The layer that answers from a store`() async throws {
        let transport = StubConnection(
            Response(status: .ok, fields: [.eTag: #""1""#], body: "news"), Response(status: .notModified))

        let connection = transport.revalidating(in: MemoryResponseStore())

        for _ in 0..<2 {
            let response = try await connection.send(.get("https://example.com/feed"))
            #expect(try await response.body.text(upTo: 1 << 10) == "news")
        }
        #expect(transport.requests.last?.head.headerFields[.ifNoneMatch] == #""1""#)
    }

    @Test func `A stub in place of a mock`() async throws {
        let stub = StubConnection { request in
            guard request.url?.host == "api.example.com" else { throw TransportError(.hostNotFound, at: .connecting) }
            return Response(status: .ok, body: #"{"title": "one"}"#)
        }
        let title = try await TitleClient(connection: stub).title()

        #expect(title == "one")
        #expect(stub.requests.map(\.head.path) == ["/v1/title"])
    }

    @Test func `A stub below code that keeps its URLSession`() async throws {
        let stub = StubConnection(Response(status: .ok, body: "news"))
        let bridge = URLSessionBridge(to: stub)
        let session = URLSession(configuration: bridge.configuration())

        let url = try #require(URL(string: "https://api.example.com/feed"))
        let (data, _) = try await session.data(from: url)

        #expect(String(decoding: data, as: UTF8.self) == "news")
        #expect(stub.requests.count == 1)
        withExtendedLifetime(bridge) {}
    }

    @Test func `A cassette of DVR is played as it is`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        try Data(recordingOfDVR.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }

        let cassette = try Cassette(at: file.path, mode: .replay)
        let connection = CassetteConnection(cassette)
        let response = try await connection.send(.get("https://svc.test/hello"))
        #expect(try await response.body.text(upTo: 1 << 10) == "hi there")
        try await cassette.finish()
    }

    @Test func `An SDK that takes a function or a configuration`() async throws {
        let connection = StubConnection { _ in Response(status: .ok, body: "12 C") }
        #expect(try await weather(over: connection).load(URLRequest(url: weatherURL)).0 == Data("12 C".utf8))

        let (client, bridge) = map(over: connection)
        #expect(try await client.session.data(from: weatherURL).0 == Data("12 C".utf8))
        withExtendedLifetime(bridge) {}
    }

    private var weatherURL: URL {
        get throws { try #require(URL(string: "https://weather.example.com/")) }
    }

    private func weather(over connection: some Connection) -> WeatherClient {
        let client = WeatherClient(load: connection.dataLoader(upTo: 1 << 20))
        return client
    }

    private func map(over connection: some Connection) -> (MapClient, URLSessionBridge) {
        let bridge = URLSessionBridge(to: connection)
        let client = MapClient(configuration: bridge.configuration())
        return (client, bridge)
    }
}

final class Dates: Sendable {
    private let dates = Mutex<[URL?: String]>([:])
    func date(for url: URL?) -> String? { dates.withLock { $0[url] } }
    func keep(_ date: String?, for url: URL?) { dates.withLock { $0[url] = date } }
}

struct AskingForChangesConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let dates: Dates

    func send(_ request: consuming Request) async throws -> Response {
        let url = request.url
        request.head.headerFields[.ifModifiedSince] = dates.date(for: url)
        let response = try await base.send(request)
        dates.keep(response.head.headerFields[.lastModified], for: url)
        return response
    }
}

extension Connection {
    func askingForChanges(since dates: Dates) -> some Connection {
        AskingForChangesConnection(base: self, dates: dates)
    }
}

private struct TitleClient {
    let connection: any Connection

    func title() async throws -> String {
        struct Title: Decodable { let title: String }
        let response = try await connection.send(.get("https://api.example.com/v1/title"))
        return try await response.decode(Title.self, upTo: 1 << 10).title
    }
}

private struct WeatherClient {
    let load: @Sendable (URLRequest) async throws -> (Data, URLResponse)
}

private struct MapClient {
    let session: URLSession

    init(configuration: URLSessionConfiguration) {
        session = URLSession(configuration: configuration)
    }
}

private let recordingOfDVR = """
    {"name": "hello", "interactions": [{
      "recorded_at": 1700000000.25,
      "request": {"method": "GET", "url": "https://svc.test/hello"},
      "response": {
        "url": "https://svc.test/hello", "status": 200,
        "headers": {"Content-Type": "text/plain; charset=utf-8"}, "body": "hi there"
      }
    }]}
    """
