#if !canImport(FoundationNetworking)
import Foundation
import Synchronization

/// The content of a request that is in a file, or a stream that is read while it is sent.
final class URLSessionLargeUpload: Sendable {
    private struct State {
        var sink: UploadSink?
        var isClosed = false
    }

    private static let bufferSize = 256 << 10

    private let body: Body
    private let state = Mutex(State())

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

    /// Opens the body and starts to read it into a stream, in place of an earlier one; a body that cannot be opened or read
    /// fails the exchange.
    ///
    /// URLSession closes its end when the server has answered already, and when it sends again with another stream.
    func makeStream(for exchange: URLSessionExchange) -> InputStream? {
        var input: InputStream?
        var output: OutputStream?
        unsafe Stream.getBoundStreams(withBufferSize: Self.bufferSize, inputStream: &input, outputStream: &output)
        guard let output else { return nil }
        let sink = UploadSink(output)
        let (isClosed, earlier) = state.withLock { state in
            guard !state.isClosed else { return (true, nil as UploadSink?) }
            defer { state.sink = sink }
            return (false, state.sink)
        }
        earlier?.close()
        guard !isClosed else { return nil }
        sink.open { [body] sink in
            do {
                var reader = try await body.open()
                while let chunk = try await reader.next() {
                    exchange.progress()
                    guard await sink.write(chunk) else { break }
                }
            } catch {
                // The task is cancelled once the content has no reader any more.
                guard !Task.isCancelled else { return }
                let isCancelled = error is CancellationError
                exchange.abort(
                    with: isCancelled ? error : TransportError(.unreadableBody, at: .head, underlying: error))
            }
        }
        return input
    }

    /// Ends the reading of the body, also where URLSession never opens its end of the stream.
    func close() {
        let sink = state.withLock { state in
            state.isClosed = true
            return state.sink.take()
        }
        sink?.close()
    }
}

/// The end of a pair of streams that is written to, without blocking a thread.
///
/// `@unchecked`, since all properties are touched on `queue` alone.
private final class UploadSink: NSObject, StreamDelegate, @unchecked Sendable {
    private let output: OutputStream
    private let queue = DispatchQueue(label: "decorum.urlsession.upload")
    private var producer: Task<Void, Never>?
    private var writer: CheckedContinuation<Bool, Never>?
    private var rest = Data()
    private var isOver = false

    init(_ output: OutputStream) {
        self.output = output
    }

    /// Opens the stream and starts the task that writes to it, which is cancelled when the stream ends.
    func open(_ produce: @escaping @Sendable (UploadSink) async -> Void) {
        queue.async { [self] in
            guard !isOver else { return }
            unsafe output.delegate = self
            CFWriteStreamSetDispatchQueue(output as CFWriteStream, queue)
            output.open()
            producer = Task.detached { [self] in
                await produce(self)
                close()
            }
        }
    }

    /// Writes all of a chunk, and returns false where the other end is gone.
    func write(_ chunk: Data) async -> Bool {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                writer = continuation
                rest = chunk
                writeOn()
            }
        }
    }

    func close() {
        queue.async { [self] in end() }
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        if event.contains(.errorOccurred) || event.contains(.endEncountered) { end() }
        writeOn()
    }

    private func writeOn() {
        while !isOver, !rest.isEmpty, output.hasSpaceAvailable {
            let count = unsafe rest.withUnsafeBytes { bytes in
                guard let start = unsafe bytes.bindMemory(to: UInt8.self).baseAddress else { return 0 }
                return unsafe output.write(start, maxLength: bytes.count)
            }
            if count > 0 { rest.removeFirst(count) } else { end() }
        }
        if isOver || rest.isEmpty { writer.take()?.resume(returning: !isOver) }
    }

    private func end() {
        guard !isOver else { return }
        isOver = true
        unsafe output.delegate = nil
        CFWriteStreamSetDispatchQueue(output as CFWriteStream, nil)
        output.close()
        producer.take()?.cancel()
        writer.take()?.resume(returning: false)
    }
}
#endif
