import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
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
