#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// The content of a request in a file: the app's own, or a temporary one that a stream was read into.
///
/// URLSession on Linux reads a stream on the queue of all its sessions, and ends the content where a stream has no bytes
/// yet. Only a file always has bytes when they are read.
struct URLSessionLargeUpload: Sendable {
    private static let memoryBound = 1 << 20

    private let file: URLSessionSpoolFile
    private let count: Int64

    init(_ body: BodyFile) throws {
        file = try URLSessionSpoolFile(reading: body.url)
        count = body.length
        guard try file.length() >= body.length else { throw BodyLengthError() }
    }

    var length: Int64? { count }

    /// Does nothing, since the content was read before it is sent.
    func close() {}

    /// Reads a stream to its end, into memory while it is small.
    static func upload(of body: Body) async throws -> URLSessionUpload {
        var reader = try await body.open()
        var memory = Data()
        while let chunk = try await reader.next() {
            try Task.checkCancellation()
            memory.append(chunk)
            if memory.count > memoryBound { return .large(try await URLSessionLargeUpload(memory, reader)) }
        }
        return memory.isEmpty ? .none : .data(memory)
    }

    private init(_ start: Data, _ rest: any BodyReader) async throws {
        file = try URLSessionSpoolFile()
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
    /// An upload task from a file traps when it is cancelled, or the server answers, before all of the file was sent: a
    /// read that ends then resumes a transfer that does not exist any more.
    func makeTask(
        with request: URLRequest, in session: URLSession, for exchange: URLSessionExchange
    ) -> URLSessionTask {
        var request = request
        // Without this field, libcurl would send a stream with the chunked coding.
        request.setValue(URLSessionPlatform.absentField, forHTTPHeaderField: "Transfer-Encoding")
        request.setValue(String(count), forHTTPHeaderField: "Content-Length")
        request.httpBodyStream = FileInputStream(file, length: count) { [weak exchange] error in
            exchange?.abort(with: TransportError(.unreadableBody, at: .head, underlying: error))
        }
        return session.dataTask(with: request)
    }
}

/// A stream over the first bytes of a file, which are available whenever they are read.
///
/// One task alone uses it, on the session's queue.
private final class FileInputStream: InputStream {
    private let file: URLSessionSpoolFile
    private let length: Int64
    private let fail: @Sendable (any Error) -> Void
    private var offset: Int64 = 0
    private var status = Status.notOpen

    /// Creates a stream.
    ///
    /// - Parameters:
    ///   - file: The file, whose first bytes do not change.
    ///   - length: The number of bytes to read.
    ///   - fail: Called with the error when the bytes cannot be read.
    init(_ file: URLSessionSpoolFile, length: Int64, fail: @escaping @Sendable (any Error) -> Void) {
        self.file = file
        self.length = length
        self.fail = fail
        super.init(data: Data())
    }

    override var hasBytesAvailable: Bool { offset < length }

    override var streamStatus: Status { status }

    override var streamError: (any Error)? { nil }

    override func open() {
        status = .open
    }

    override func close() {
        status = .closed
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        do {
            let rest = Int(min(length - offset, Int64(count)))
            let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: rest)
            let read = try unsafe file.read(into: target, at: offset)
            guard read == rest else { throw BodyLengthError() }
            offset += Int64(read)
            return read
        } catch {
            fail(error)
            return -1
        }
    }
}
#endif
