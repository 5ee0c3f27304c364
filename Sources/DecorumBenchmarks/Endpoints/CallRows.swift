import DecorumEndpoints
import Foundation

/// The cost of a typed call above the same request, made once, and the decoding of its answer.
enum CallRows {
    private struct Item: Codable {
        let id: Int
        let name: String
    }

    /// A connection as an app holds it, whose type the compiler does not know.
    @inline(never) private static func held(_ connection: any Connection) -> any Connection { connection }

    static func rows() throws -> [Row] {
        let memory = MemoryConnection(
            fields: [.contentType: "application/json"], content: #"{"id": 17, "name": "swift"}"#)
        let api = held(try memory.calling(at: "https://api.example.com/v1/"))
        let resolving = held(try memory.resolving(against: "https://api.example.com/v1/"))
        let request = try Request.get("https://api.example.com/v1/repos/apple/swift")
        return [
            Row(name: "calls/decoding") { count in
                let decoder = JSONDecoder()
                for _ in 0..<count {
                    let response = try await memory.send(request)
                    _ = try decoder.decode(Item.self, from: try await response.body.data(upTo: 1 << 20))
                }
            },
            Row(name: "calls/by hand", baseline: "calls/decoding", bounds: [.instructionsPerLayer(18_700)]) { count in
                for _ in 0..<count {
                    let path = "repos/\(PercentCoding.encode("apple"))/\(PercentCoding.encode("swift"))"
                    _ = try await resolving.send(.get(path)).decode(Item.self, upTo: 1 << 20)
                }
            },
            Row(name: "calls/typed", baseline: "calls/decoding", bounds: [.instructionsPerLayer(23_600)]) { count in
                for _ in 0..<count {
                    _ = try await api.value(
                        of: Endpoint<Item>.get("repos/{owner}/{name}", ["owner": "apple", "name": "swift"]))
                }
            },
            Row(name: "calls/multipart, 1 MiB", bounds: [.instructions(582_000)]) { count in
                let file = Body(Data(repeating: 7, count: 1 << 20))
                for _ in 0..<count {
                    var form: Multipart = ["title": "Summer", "public": true]
                    form.append("film", file, named: "summer.mov")
                    var length = 0
                    for try await chunk in try Body(multipart: form) { length += chunk.count }
                    guard length > 1 << 20 else { throw BenchmarkFailure("\(length) bytes were made.") }
                }
            },
        ]
    }
}
