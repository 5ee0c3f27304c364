import Decorum
import DecorumTesting
import Foundation
import Synchronization

/// A folder for the downloads and uploads of a test, which is removed with it.
final class DownloadFolder: Sendable {
    let url: URL
    var file: URL { url.appending(path: "film.mp4") }

    init(_ content: Data? = nil) {
        url = FileManager.default.temporaryDirectory.appending(path: "downloads-\(UInt64.random(in: 0 ... .max))")
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try? content?.write(to: file)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var content: Data { get throws { try Data(contentsOf: file) } }
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

    /// The files beside the one that is moved.
    var others: [URL] { names.filter { $0 != "film.mp4" }.map { url.appending(path: $0) } }

    func mode(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path + "/" + name)[.posixPermissions] as? Int
    }
}

/// Numbers from 1 on.
final class Numbers: Sendable {
    private let last = Atomic(0)

    func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}

extension Connection {
    /// Breaks the bodies of the first answers with content off, each after a number of bytes.
    func cutting(
        after counts: [Int], by error: TransportError = TransportError(.connectionLost, at: .body)
    ) -> any Connection {
        let numbers = Numbers()
        return intercepting { request, base in
            var response = try await base.send(request)
            guard [200, 206].contains(response.status.code), case let index = numbers.next() - 1, index < counts.count
            else { return response }
            let body = response.body
            response.body = Body(length: body.length, replay: .once) { _ in
                CutReader(reader: try await body.open(), rest: counts[index], error: error)
            }
            return response
        }
    }
}

struct CutReader: BodyReader {
    var reader: any BodyReader
    var rest: Int
    let error: TransportError
    var trailers: HTTPFields? { reader.trailers }

    mutating func next() async throws -> Data? {
        guard rest > 0 else { throw error }
        guard let chunk = try await reader.next() else { return nil }
        let part = chunk.prefix(rest)
        rest -= part.count
        return part
    }
}

/// Gives its first chunk at once, and each further one when a gate admits it.
struct GatedReader: BodyReader {
    var chunks: [Data]
    let gate: Gate
    var isFirst = true
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        if !isFirst { try await gate.wait() }
        isFirst = false
        return chunks.isEmpty ? nil : chunks.removeFirst()
    }
}
