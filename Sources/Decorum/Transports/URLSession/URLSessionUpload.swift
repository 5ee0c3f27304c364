import Foundation
import Synchronization
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The content of a request in a form that URLSession can send.
enum URLSessionUpload: Sendable {
    case none
    case data(Data)
    case large(URLSessionLargeUpload)

    /// Converts a body, away from the caller's actor; a stream must have been read until the deadline.
    @concurrent init(
        _ body: Body, until deadline: ContinuousClock.Instant?, on watch: TimeLimitWatch
    ) async throws {
        let upload: URLSessionUpload?
        do {
            upload =
                switch body.storage {
                case .bytes(let data): data.isEmpty ? Self.none : .data(data)
                case .file(let file): file.length == 0 ? Self.none : .large(try URLSessionLargeUpload(file))
                case .stream where body.isEmpty: Self.none
                case .stream:
                    try await watch.leavableValue(until: deadline) { try await URLSessionLargeUpload.upload(of: body) }
                }
        } catch {
            throw TransportError.unreadableBody(error, at: .connecting)
        }
        guard let upload else { throw TransportError(.deadlineExceeded, at: .connecting) }
        self = upload
    }

    /// The number of bytes; nil if it is not known.
    var length: Int64? {
        switch self {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .large(let upload): upload.length
        }
    }

    /// Ends the reading of the content, since the exchange has ended.
    func close() {
        if case .large(let upload) = self { upload.close() }
    }

    /// Makes the task that sends the content; a failure to read it fails the exchange.
    func makeTask(
        with request: URLRequest, in session: URLSession, for exchange: URLSessionExchange
    ) -> URLSessionTask {
        switch self {
        case .none: session.dataTask(with: request)
        // Not as the request's `httpBody`, to which Linux adds a Content-Type.
        case .data(let data): session.uploadTask(with: request, from: data)
        case .large(let upload): upload.makeTask(with: request, in: session, for: exchange)
        }
    }
}

#if !canImport(FoundationNetworking)
/// The content of a request that is in a file, or a stream that is read while it is sent.
final class URLSessionLargeUpload: Sendable {
    private struct State: ~Copyable {
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
                // The task is cancelled once the content has lost its reader.
                guard !Task.isCancelled else { return }
                exchange.abort(with: TransportError.unreadableBody(error, at: .head))
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

    /// Writes all of a chunk, and returns false once the other end is gone.
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

#if canImport(FoundationNetworking)
/// The content of a request in a file: the app's own, or a temporary one that a stream was read into.
///
/// URLSession on Linux reads a stream on the queue of all its sessions, and ends the content where a stream has no bytes
/// yet. Only a file always has bytes when they are read.
struct URLSessionLargeUpload: Sendable {
    private static let memoryBound = 1 << 20

    private let file: OpenFile
    private let count: Int64

    init(_ body: BodyFile) throws {
        file = try OpenFile(reading: body.url)
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
        file = try OpenFile()
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
    /// read that ends then resumes a transfer that no longer exists.
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
    private let file: OpenFile
    private let length: Int64
    private let fail: @Sendable (any Error) -> Void
    private var offset: Int64 = 0
    private var status = Status.notOpen

    init(_ file: OpenFile, length: Int64, fail: @escaping @Sendable (any Error) -> Void) {
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
