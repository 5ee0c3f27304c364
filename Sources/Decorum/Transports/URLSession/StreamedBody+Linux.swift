#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// A request's body that was a stream and is a temporary file now.
///
/// URLSession on Linux reads a stream on the queue of all sessions, takes a stream that has nothing yet for its end,
/// and sends an empty one in its place when a pooled connection turns out to be dead.
struct StreamedBody: Sendable {
    private static let memoryBound = 1 << 20

    private let file: SpoolFile
    private let url: URL

    /// Reads a stream to its end, into memory while it is small.
    static func upload(of body: Body) async throws -> Upload {
        var reader = try await body.open()
        var memory = Data()
        while let chunk = try await reader.next() {
            try Task.checkCancellation()
            memory.append(chunk)
            if memory.count > memoryBound { return .stream(try await StreamedBody(memory, reader)) }
        }
        return memory.isEmpty ? .none : .data(memory)
    }

    private init(_ start: Data, _ rest: any BodyReader) async throws {
        file = try SpoolFile(named: true)
        guard let url = file.url else { throw POSIXError(.EBADF) }
        self.url = url
        var reader = rest
        var offset: Int64 = 0
        var chunk: Data? = start
        while let data = chunk {
            try Task.checkCancellation()
            try file.write(data, at: offset)
            offset += Int64(data.count)
            chunk = try await reader.next()
        }
    }

    func makeTask(with request: URLRequest, in session: URLSession) -> URLSessionTask {
        session.uploadTask(with: request, fromFile: url)
    }
}
#endif
