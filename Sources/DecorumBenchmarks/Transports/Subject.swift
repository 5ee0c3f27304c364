import Decorum
import Foundation
import HTTPTypes

/// A client that is measured, bare or under a stack.
struct Subject: Sendable {
    let name: String
    /// The subject that this one is compared with.
    let baseline: String?
    /// Makes the client in the process that measures it.
    let client: @Sendable (Origin) throws -> any Client
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
    /// A client over a connection.
    static func connection(
        _ name: String, over baseline: String?, _ make: @escaping @Sendable (Origin) throws -> any Connection
    ) -> Subject {
        Subject(name: name, baseline: baseline) { ConnectionClient(connection: try make($0)) }
    }

    /// A client over a connection, and one over the same under the whole stack.
    static func connections(
        _ name: String, over baseline: String?, _ make: @escaping @Sendable () throws -> any Connection
    ) -> [Subject] {
        [
            connection(name, over: baseline) { _ in try make() },
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
        let isResolved = resolvedOrigin.map(url.hasPrefix) ?? false
        let reference = isResolved ? String(url.dropFirst(resolvedOrigin?.count ?? 0)) : url
        var request = try Request(method, reference, fields: HTTPFields(Self.fields))
        request.options.principal = Principal("reader")
        return request
    }
}
