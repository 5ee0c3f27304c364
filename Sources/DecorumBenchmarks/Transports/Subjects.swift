import Decorum
import DecorumProbe
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A client that is measured, bare or under a stack.
struct Subject: Sendable {
    let name: String
    /// The subject that this one is compared with.
    let baseline: String?
    /// Makes the client in the process that measures it.
    let client: @Sendable (Origin) throws -> any Client

    /// The clients that are measured; add a new one here.
    static let all: [Subject] =
        [Subject(name: "data(for:)", baseline: nil) { _ in FoundationClient() }]
        + connections("URLSessionConnection", over: "data(for:)") {
            URLSessionConnection(connectionsPerHost: Exchanging.connections)
        } + platform + asyncHTTPClient
}

/// The operations of every subject; each reads the whole answer and checks it.
protocol Client: Sendable {
    /// Gets a small answer into memory.
    func get(_ url: String) async throws
    /// Gets a large answer in the way that suits the client best, and returns its size.
    func download(_ url: String) async throws -> Int64
    /// Sends a file.
    func upload(_ file: URL, to url: String) async throws
}

/// A client that repeats requests by itself, without a task for each.
protocol LoopingClient: Client {
    /// Gets a small answer repeatedly, until the seconds are over or the limit is reached, and returns the number of times.
    func getRepeatedly(_ url: String, concurrency: Int, seconds: Double, upTo limit: Int) throws -> Int
}

extension Subject {
    /// A client over a connection, and one over the same under the whole stack.
    static func connections(
        _ name: String, over baseline: String?, _ make: @escaping @Sendable () throws -> any Connection
    ) -> [Subject] {
        [
            Subject(name: name, baseline: baseline) { _ in ConnectionClient(connection: try make()) },
            Subject(name: "\(name), stack", baseline: name) { origin in
                let stack = try canonicalStack(over: make(), for: origin)
                // As in an app, the stack resolves each URL, and the layers outside of that see a request without origin.
                return ConnectionClient(connection: stack, resolvedOrigin: origin.description)
            },
        ]
    }
}

extension Client {
    /// The fields that every client sends, so that all send the same, with and without layers that add fields.
    static var fields: [HTTPField] {
        [
            HTTPField(name: .accept, value: "*/*"), HTTPField(name: .acceptLanguage, value: "en"),
            HTTPField(name: .userAgent, value: "benchmarks/1"), HTTPField(name: .cacheControl, value: "max-age=0"),
            HTTPField(name: .authorization, value: "Bearer token"),
        ]
    }
}

/// Any of Decorum's connections.
struct ConnectionClient: Client {
    let connection: any Connection
    /// The origin that the connection adds to URLs; nil for a connection that needs absolute ones.
    var resolvedOrigin: String?

    func get(_ url: String) async throws {
        let response = try await connection.send(request(.get, url))
        let data = try await response.body.data(upTo: 1 << 20)
        guard response.status == .ok, !data.isEmpty else { throw BenchmarkFailure("\(response.status)") }
    }

    func download(_ url: String) async throws -> Int64 {
        let response = try await connection.send(request(.get, url))
        var count: Int64 = 0
        for try await chunk in response.body { count += Int64(chunk.count) }
        return count
    }

    func upload(_ file: URL, to url: String) async throws {
        var request = try request(.put, url)
        request.body = try Body(contentsOf: file)
        let response = try await connection.send(request)
        try await response.body.drain(upTo: 1 << 20)
        guard response.status == .ok else { throw BenchmarkFailure("\(response.status)") }
    }

    private func request(_ method: HTTPRequest.Method, _ url: String) throws -> Request {
        // By bytes, since an app has its paths at hand, and what cuts them here is no cost of a stack.
        let path = resolvedOrigin.flatMap { url.hasPrefix($0) ? String(url.utf8.dropFirst($0.utf8.count)) : nil }
        var request = try Request(method, path ?? url, fields: HTTPFields(Self.fields))
        request.options.principal = Principal("reader")
        return request
    }
}

#if os(Linux)
extension Subject {
    /// The clients of this system alone.
    static let platform =
        [Subject(name: "libcurl", baseline: "data(for:)") { _ in BareCurlClient() }]
        + connections("CurlConnection", over: "libcurl") { try CurlConnection() }
}

/// libcurl on one thread, used directly as by a program in C.
struct BareCurlClient: LoopingClient {
    func getRepeatedly(_ url: String, concurrency: Int, seconds: Double, upTo limit: Int) throws -> Int {
        let count = unsafe decorum_bare_curl_get(url, Self.lines, Int32(concurrency), seconds, Int64(limit))
        guard count >= 0 else { throw BenchmarkFailure("libcurl is missing, or failed.") }
        return Int(count)
    }

    func get(_ url: String) throws {
        guard try download(url) > 0 else { throw BenchmarkFailure("The answer is empty.") }
    }

    func download(_ url: String) throws -> Int64 {
        let count = unsafe decorum_bare_curl_download(url, Self.lines)
        guard count >= 0 else { throw BenchmarkFailure("libcurl is missing, or failed.") }
        return count
    }

    func upload(_ file: URL, to url: String) throws {
        let size = try FileHandle(forReadingFrom: file).seekToEnd()
        // A field name without a value keeps libcurl from sending `Expect: 100-continue`.
        let isSent = unsafe decorum_bare_curl_upload(file.path, Int64(size), url, Self.lines + "\nExpect:")
        guard isSent else { throw BenchmarkFailure("libcurl is missing, or failed.") }
    }

    /// The fields that every client sends, one per line.
    private static let lines = fields.map { "\($0.name.rawName): \($0.value)" }.joined(separator: "\n")
}
#else
extension Subject {
    /// The clients of this system alone.
    static let platform: [Subject] = []
}
#endif

/// URLSession, used directly as by an app without Decorum.
struct FoundationClient: Client {
    private let session: URLSession

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = Exchanging.connections
        configuration.urlCache = nil
        session = URLSession(configuration: configuration)
    }

    func get(_ url: String) async throws {
        let (data, response) = try await session.data(for: request(url))
        try check(response)
        guard !data.isEmpty else { throw BenchmarkFailure("The answer is empty.") }
    }

    func download(_ url: String) async throws -> Int64 {
        let (data, response) = try await session.data(for: request(url))
        try check(response)
        return Int64(data.count)
    }

    func upload(_ file: URL, to url: String) async throws {
        var request = try request(url)
        request.httpMethod = "PUT"
        let (_, response) = try await session.upload(for: request, fromFile: file)
        try check(response)
    }

    private func request(_ url: String) throws -> URLRequest {
        guard let url = URL(string: url) else { throw BenchmarkFailure("\(url) is not a URL.") }
        var request = URLRequest(url: url)
        for field in Self.fields { request.setValue(field.value, forHTTPHeaderField: field.name.rawName) }
        return request
    }

    private func check(_ response: URLResponse) throws {
        let status = (response as? HTTPURLResponse)?.statusCode
        guard status == 200 else { throw BenchmarkFailure("The status is \(status ?? 0).") }
    }
}
