#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// The content of a request that is in a file, or was a stream and is a temporary file now.
///
/// URLSession on Linux reads a stream on the queue of all its sessions, and takes a stream that has nothing yet for
/// one at its end: only a file is ready whenever it is asked.
struct LargeUpload: Sendable {
    private static let memoryBound = 1 << 20

    private let file: SpoolFile
    private let count: Int64

    init(_ body: BodyFile) throws {
        file = try SpoolFile(reading: body.url)
        count = body.length
        guard try file.length() >= body.length else { throw BodyLengthError() }
    }

    var length: Int64? { count }

    /// Reads a stream to its end, into memory while it is small.
    static func upload(of body: Body) async throws -> Upload {
        var reader = try await body.open()
        var memory = Data()
        while let chunk = try await reader.next() {
            try Task.checkCancellation()
            memory.append(chunk)
            if memory.count > memoryBound { return .large(try await LargeUpload(memory, reader)) }
        }
        return memory.isEmpty ? .none : .data(memory)
    }

    private init(_ start: Data, _ rest: any BodyReader) async throws {
        file = try SpoolFile()
        var reader = rest
        var offset: Int64 = 0
        var chunk: Data? = start
        while let data = chunk {
            try Task.checkCancellation()
            try file.write(data, at: offset)
            offset += Int64(data.count)
            chunk = try await reader.next()
        }
        count = offset
    }

    /// Makes a task with a stream as its body.
    ///
    /// An upload task from a file traps when it ends before all of the file was sent, because it was cancelled or the
    /// server has answered early: a read that comes back then resumes a transfer that is gone.
    func makeTask(
        with request: URLRequest, in session: URLSession, for exchange: URLSessionExchange
    ) -> URLSessionTask {
        var request = request
        // Without a coding of the caller's, libcurl would choose the chunked one for a stream.
        request.setValue(URLSessionPlatform.absentField, forHTTPHeaderField: "Transfer-Encoding")
        request.setValue(String(count), forHTTPHeaderField: "Content-Length")
        request.httpBodyStream = FileInputStream(file, length: count) { [weak exchange] error in
            exchange?.abort(with: TransportError(.unreadableBody, at: .head, underlying: error))
        }
        return session.dataTask(with: request)
    }
}
#endif
