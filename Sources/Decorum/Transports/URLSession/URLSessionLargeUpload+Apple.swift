#if !canImport(FoundationNetworking)
import Foundation

/// The content of a request that is in a file, or a stream that is read while it is sent.
final class URLSessionLargeUpload: Sendable {
    private static let bufferSize = 256 << 10

    private let body: Body
    // Writing waits for the network, which a thread of Swift's concurrency must not do.
    private let queue = DispatchQueue(label: "decorum.urlsession.upload")

    private init(_ body: Body) {
        self.body = body
    }

    init(_ file: BodyFile) throws {
        body = try Body(contentsOf: file.url)
        guard body.length == file.length else { throw BodyLengthError() }
    }

    var length: Int64? { body.length }

    static func upload(of body: Body) async throws -> URLSessionUpload {
        .large(URLSessionLargeUpload(body))
    }

    func makeTask(
        with request: URLRequest, in session: URLSession, for exchange: URLSessionExchange
    ) -> URLSessionTask {
        if let file = body.file { return session.uploadTask(with: request, fromFile: file) }
        var request = request
        if let length = body.length {
            request.setValue(String(length), forHTTPHeaderField: "Content-Length")
        }
        return session.uploadTask(withStreamedRequest: request)
    }

    /// Opens the body and starts to read it into a stream; a body that cannot be opened fails the exchange.
    func makeStream(for exchange: URLSessionExchange) -> InputStream? {
        var input: InputStream?
        var output: OutputStream?
        unsafe Stream.getBoundStreams(withBufferSize: Self.bufferSize, inputStream: &input, outputStream: &output)
        guard let output else { return nil }
        let sink = UploadSink(output, on: queue)
        Task.detached { [body] in
            do {
                var reader = try await body.open()
                while let chunk = try await reader.next() {
                    exchange.progress()
                    try await sink.write(chunk)
                }
                sink.close()
            } catch {
                exchange.abort(with: TransportError(.unreadableBody, at: .head, underlying: error))
                sink.close()
            }
        }
        return input
    }
}

/// The end of a pair of streams that is written to.
///
/// `@unchecked`, since the stream is touched on `queue` alone.
private final class UploadSink: @unchecked Sendable {
    private let output: OutputStream
    private let queue: DispatchQueue

    init(_ output: OutputStream, on queue: DispatchQueue) {
        self.output = output
        self.queue = queue
        queue.async { self.output.open() }
    }

    func write(_ chunk: Data) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async { continuation.resume(with: Result { try self.writeAll(chunk) }) }
        }
    }

    func close() {
        queue.async { self.output.close() }
    }

    private func writeAll(_ chunk: Data) throws {
        var written = 0
        while written < chunk.count {
            let count = try unsafe chunk.withUnsafeBytes { bytes in
                let rest = unsafe bytes.bindMemory(to: UInt8.self).suffix(from: written)
                guard let start = unsafe UnsafeBufferPointer(rebasing: rest).baseAddress else {
                    throw POSIXError(.EINVAL)
                }
                return unsafe output.write(start, maxLength: rest.count)
            }
            guard count > 0 else { throw output.streamError ?? POSIXError(.EPIPE) }
            written += count
        }
    }
}
#endif
