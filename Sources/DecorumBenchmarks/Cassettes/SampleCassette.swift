import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

/// A cassette like that of an API client: items in JSON, a query on a third of the URLs, a few fields.
struct SampleCassette {
    let count: Int
    /// The file, in a temporary folder that is removed after the benchmark.
    let file: URL

    /// Records the cassette with the library's own recorder.
    init(count: Int, in folder: URL) async throws {
        self.count = count
        file = folder.appending(path: "sample-\(count).json")
        let cassette = try Cassette(at: file.path, mode: .rewrite)
        let connection = CassetteConnection(cassette, recording: StubConnection(Self.answer))
        for index in 0..<count { _ = try await connection.send(Self.request(index)) }
        try await cassette.finish()
    }

    /// The size of the file.
    var bytes: Int? { try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize }

    /// Creates a folder for cassettes, and removes it after the closure.
    static func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
    }

    static func request(_ index: Int) throws -> Request {
        let query = index % 3 == 0 ? "?page=\(index / 3)&sort=name" : ""
        return try .get("https://api.example.com/v1/items/\(index)\(query)", fields: [.accept: "application/json"])
    }

    @Sendable static func answer(_ request: Request) async throws -> Response {
        let item = request.head.path ?? ""
        let body = """
            {"id":"\(item)","name":"An item","price":12.50,"tags":["new"]}
            """
        return Response(status: .ok, fields: [.contentType: "application/json"], body: Body(Data(body.utf8)))
    }
}
