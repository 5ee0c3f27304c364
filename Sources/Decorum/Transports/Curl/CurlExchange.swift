#if os(Linux)
import Foundation
import HTTPTypes

/// One request and its response, until the end of the response's body.
///
/// Any thread may use it: the caller's task reads the response, a task reads the content of the request, and the thread
/// that has the loop moves both between them and libcurl. The exchange ends once, and ignores later events.
///
/// `@unchecked Sendable`: `state` is behind its lock, only the thread that has the loop uses `transfer`, and the rest never
/// changes.
final class CurlExchange: TransportExchange, @unchecked Sendable {
    struct State: ~Copyable {
        fileprivate var headWaiter: CheckedContinuation<Head, any Error>?
        var head: Head?
        var content = CurlContentBuffer()
        fileprivate var contentWaiter: CheckedContinuation<Part, any Error>?
        var upload: CurlUpload
        fileprivate var pump: Task<Void, Never>?
        /// The trailers, or the error that has ended the exchange; nil while it is running.
        var end: Result<CurlResponseHead, any Error>?
        var stage = TransportError.Stage.connecting
        var receiving = Flow.going
        var sending = Flow.going
        /// Nil until the transfer has started: the content of the request may have to be opened first.
        var lastProgress: ContinuousClock.Instant?
        /// Content has arrived, and the loop will note when at the end of its turn.
        var hasUnnotedProgress = false
    }

    /// Whether libcurl waits for the reader, or for the producer of the request's content.
    enum Flow {
        case going, paused
        /// The engine was asked to resume.
        case resuming
    }

    /// The head of the response, with the informational ones before it.
    struct Head {
        let final: CurlResponseHead
        let informational: [CurlResponseHead]
        let certificates: [Data]
    }

    /// The next part of the body.
    enum Part {
        case content([Data])
        case end(trailers: CurlResponseHead)
    }

    let method: HTTPRequest.Method
    let request: CurlRequestHead
    let uploadLength: Int64?
    /// Whether little content, all in memory, is to be sent.
    let isQuick: Bool
    let priority: TaskPriority?
    let engine: CurlEngine
    let library: CurlLibrary
    let state: Locked<State>
    let transfer: CurlTransfer
    private let metadata: ResponseMetadata
    private let limits: TransferLimits
    private let beginning: ContinuousClock.Instant
    let watch: TimeLimitWatch

    init(
        _ request: borrowing Request, _ head: CurlRequestHead, upload: CurlUpload, limits: TransferLimits,
        since beginning: ContinuousClock.Instant, watch: TimeLimitWatch, engine: CurlEngine, library: CurlLibrary
    ) {
        method = request.head.method
        metadata = ResponseMetadata(answering: request, from: .network)
        self.request = head
        uploadLength = upload.length
        isQuick = upload.source == nil && (upload.length ?? .max) <= CurlOptions.bufferSize
        priority = request.options.priority
        self.limits = limits
        self.beginning = beginning
        self.watch = watch
        self.engine = engine
        self.library = library
        transfer = CurlTransfer(answersHead: request.head.method == .head)
        state = Locked(State(upload: upload))
    }

    /// The longest time that libcurl may take to connect, which it divides between the addresses of a host.
    var connectTimeout: Duration {
        // The idle timeout is exact; this one only keeps libcurl from spending all of it on the first address.
        max(limits.idleTimeout, .seconds(5))
    }

    /// Sends the request and waits for the head of the response.
    func response() async throws -> Response {
        let head = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let now = watch.clock.now
                let (end, source) = state.withLock { state in
                    if state.end == nil { state.headWaiter = continuation }
                    // The watch goes by this from the moment at which it knows the exchange.
                    if state.upload.source == nil { state.lastProgress = now }
                    return (state.end, state.upload.source)
                }
                if case .failure(let error) = end { return continuation.resume(throwing: error) }
                watch.add(self)
                if let source { startPump(reading: source) } else { start() }
            }
        } onCancel: {
            cancel()
        }
        return try answer(head)
    }

    private func start() {
        let now = watch.clock.now
        state.withLock { $0.lastProgress = $0.lastProgress ?? now }
        engine.post(.start(self))
    }

    private func answer(_ head: Head) throws -> Response {
        guard let final = head.final.response else {
            let error = located(TransportError(.malformedResponse, at: .head))
            abort(with: error)
            throw error
        }
        var metadata = metadata
        metadata.runningTimings = transfer.timings
        if !head.certificates.isEmpty { metadata.serverCertificates = head.certificates }
        if !head.informational.isEmpty { metadata.informational = head.informational.compactMap(\.response) }
        guard method != .head, head.final.status != 204, head.final.status != 304 else {
            return Response(head: final, metadata: metadata)
        }
        if let content = state.withLock({ $0.takeWhole() }) {
            return Response(head: final, body: Body(arrived: content), metadata: metadata)
        }
        let lease = TransferLease(self)
        let body = Body(trustedLength: final.contentLength, replay: .once) { _ in CurlBodyReader(lease) }
        return Response(head: final, body: body, metadata: metadata)
    }

    var timeLimit: TimeLimit? {
        let now = watch.clock.now
        return state.withLock { state in
            guard state.end == nil else { return nil }
            // After the head, the producer of the content may itself wait for the server.
            let isHeldBack = state.receiving != .going || (state.sending != .going && state.stage != .body)
            // A reader may have taken content before the loop has noted it.
            let progress = isHeldBack || state.hasUnnotedProgress ? now : state.lastProgress ?? now
            return limits.next(after: progress, at: state.stage)
        }
    }

    func timeOut(at limit: TimeLimit) {
        guard isStill(at: limit) else { return }
        var error = limits.error(at: limit, stage)
        if error.stage == .connecting { error.proxy = request.proxyAddress?.description }
        abort(with: error)
    }

    /// How far the exchange has come.
    var stage: TransportError.Stage { state.withLock { $0.stage } }

    var isRunning: Bool { state.withLock { $0.end == nil } }

    var awaitsMore: Bool { state.withLock { $0.awaitsMore } }

    /// Fails the exchange and ends its transfer.
    func abort(with error: any Error) {
        if finish(.failure(error)) { engine.post(.remove(self)) }
    }

    func cancel() {
        let isLive = finish(.failure(CancellationError()))
        state.withLock { state in
            state.content.discard()
            state.end = .failure(CancellationError())
        }
        if isLive { engine.post(.remove(self)) }
    }

    /// Ends the exchange unless it has ended; returns whether it was running.
    @discardableResult func finish(_ end: Result<CurlResponseHead, any Error>) -> Bool {
        // A response that is dropped ends its exchange once more, and the place of an error takes long to find.
        guard isRunning else { return false }
        let end = end.mapError(located)
        let waiting = state.withLock { state -> (Task<Void, Never>?, CheckedContinuation<Bool, Never>?)? in
            guard state.end == nil else { return nil }
            state.end = end
            return (state.pump.take(), state.upload.discard())
        }
        guard let (pump, producer) = waiting else { return false }
        watch.remove(self)
        pump?.cancel()
        producer?.resume(returning: false)
        wakeReader()
        engine.transfers.end()
        return true
    }

    /// Adds the server and the time to an error of the transport.
    private func located(_ error: any Error) -> any Error {
        guard error is TransportError else { return error }
        let origin = metadata.target.flatMap { try? Origin($0) }
        return TransportError.locate(
            error, at: origin, after: beginning.duration(to: watch.clock.now), method: method,
            url: metadata.target?.urlText.flatMap { URL(string: $0) }, routeName: request.routeName)
    }
}

/// Reads the body of a response while it arrives.
struct CurlBodyReader: BodyReader {
    private let lease: TransferLease<CurlExchange>
    private var batch: ArraySlice<Data> = []
    // Kept here, since the exchange forgets its trailers if the caller is cancelled after its end.
    private(set) var trailers: HTTPFields?

    init(_ lease: TransferLease<CurlExchange>) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        if !Task.isCancelled, let chunk = batch.popFirst() { return chunk }
        switch try await lease.exchange.read() {
        case .content(let chunks): batch = chunks[...]
        case .end(let lines): (batch, trailers) = ([], lines.trailers)
        }
        return batch.popFirst()
    }
}

extension CurlExchange {
    /// Takes the part of the body that has arrived, or waits for one.
    func read() async throws -> Part {
        if Task.isCancelled { cancel() }
        let (ready, resumes) = state.withLock { state in (state.takeContent(), state.resumesReceiving) }
        if resumes { engine.post(.receive(self)) }
        if let ready { return try ready.get() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { $0.contentWaiter = continuation }
                wakeReader()
            }
        } onCancel: {
            cancel()
        }
    }

    /// Wakes the task that waits for the head or the body, and restarts the idle time if bytes were sent or received.
    func wakeReader(notingProgressAt instant: ContinuousClock.Instant? = nil) {
        let wake = state.withLock { state -> (() -> Void)? in
            if let instant {
                state.lastProgress = instant
                state.hasUnnotedProgress = false
            }
            if let waiter = state.headWaiter {
                guard let result = state.takeHead() else { return nil }
                state.headWaiter = nil
                return { waiter.resume(with: result) }
            }
            guard let waiter = state.contentWaiter, let content = state.takeContent() else { return nil }
            state.contentWaiter = nil
            let resumes = state.resumesReceiving
            return {
                if resumes { self.engine.post(.receive(self)) }
                waiter.resume(with: content)
            }
        }
        wake?()
    }
}

extension CurlExchange.State {
    /// Takes the head that has arrived, or else the error; nil with neither.
    fileprivate mutating func takeHead() -> Result<CurlExchange.Head, any Error>? {
        if let head = head.take() { return .success(head) }
        guard case .failure(let error) = end else { return nil }
        return .failure(error)
    }

    /// Takes the content that has arrived, or else the end; nil with neither.
    fileprivate mutating func takeContent() -> Result<CurlExchange.Part, any Error>? {
        guard content.isEmpty else { return .success(.content(content.take())) }
        return end.map { $0.map { .end(trailers: $0) } }
    }

    /// Takes the content if it has arrived as a whole, in one piece and without trailers, so that no reader has to wait.
    fileprivate mutating func takeWhole() -> Data? {
        guard case .success(let trailers) = end, trailers.bytes.isEmpty, content.hasOnePiece else { return nil }
        return content.take().first ?? Data()
    }

    /// Whether a reader that waits for content is served better by more of it, if that has arrived too.
    fileprivate var awaitsMore: Bool {
        head == nil && end == nil && receiving == .going && !content.isEmpty && !content.isHalfFull
    }

    /// Whether libcurl has to be resumed, which is true once for each pause.
    fileprivate var resumesReceiving: Bool {
        mutating get {
            guard receiving == .paused, content.isEmpty, end == nil else { return false }
            receiving = .resuming
            return true
        }
    }
}

/// The content of the request: a task reads it, and libcurl takes it.
extension CurlExchange {
    /// Opens the body, starts the transfer, and reads the body while it is sent.
    private func startPump(reading body: Body) {
        let pump = Task { await send(body) }
        let isWanted = state.withLock { state in
            if state.end == nil { state.pump = pump }
            return state.end == nil
        }
        if !isWanted { pump.cancel() }
    }

    private func send(_ body: Body) async {
        do {
            var reader = try await body.open()
            start()
            while let chunk = try await reader.next() {
                guard await offer(chunk) else { return }
            }
            change { $0.finish(trailers: reader.trailers) }
        } catch {
            abort(with: TransportError.unreadableBody(error, at: stage))
        }
    }

    /// Adds a chunk, and waits while much is left to send; returns false once the exchange has ended.
    private func offer(_ chunk: Data) async -> Bool {
        await withCheckedContinuation { continuation in
            var result: Bool? = false
            change { upload in result = upload.offer(chunk, from: continuation) ? true : nil }
            if let result { continuation.resume(returning: result) }
        }
    }

    /// Changes the content, unless the exchange has ended, and resumes libcurl if it waits for content.
    private func change(_ change: (inout CurlUpload) -> Void) {
        let resumes = state.withLock { state in
            guard state.end == nil else { return false }
            change(&state.upload)
            guard state.sending == .paused else { return false }
            state.sending = .resuming
            return true
        }
        if resumes { engine.post(.send(self)) }
    }
}

/// The part of a response's content that has arrived and was not read yet.
struct CurlContentBuffer: Sendable {
    /// The server has to wait while this many bytes are in the buffer.
    private static let highMark = 256 << 10
    private static let chunkSize = 64 << 10
    // libcurl gives at most this much at a time. A piece of this size is probably followed by more.
    private static let pieceSize = 16 << 10

    /// What arrives and what a reader has taken and not returned yet, each with one piece above the mark, and the buffer and
    /// the last piece of libcurl.
    static let bytesHeld = 2 * (highMark + pieceSize) + CurlOptions.bufferSize + pieceSize

    private var chunks: [Data] = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    var hasOnePiece: Bool { chunks.count <= 1 }

    /// Whether the server has to wait.
    var isFull: Bool { count >= Self.highMark }
    var isHalfFull: Bool { count >= Self.highMark / 2 }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        count += bytes.count
        if let last = chunks.indices.last, chunks[last].count + bytes.count <= Self.chunkSize {
            unsafe chunks[last].append(contentsOf: bytes)
            return
        }
        guard bytes.count >= Self.pieceSize else { return unsafe chunks.append(Data(bytes)) }
        var chunk = Data(capacity: Self.chunkSize)
        unsafe chunk.append(contentsOf: bytes)
        chunks.append(chunk)
    }

    mutating func take() -> [Data] {
        defer { discard() }
        return chunks
    }

    mutating func discard() {
        (chunks, count) = ([], 0)
    }
}

/// The head of a request in the form that libcurl takes.
struct CurlRequestHead: Sendable {
    let method: String
    let url: String
    /// The server, by which connections are counted.
    let host: CurlHost
    /// The target; nil for the path of the URL.
    let target: String?
    let fields: CurlList
    let proxies: CurlProxies
    /// The options of the proxy, if it depends on the request.
    let proxyOptions: [CurlOptions.Option]
    let routeName: String?

    /// Converts the head of a request, which was validated.
    init(
        _ request: borrowing Request, _ library: CurlLibrary, through proxies: CurlProxies = CurlProxies()
    ) throws(InvalidRequestError) {
        self.proxies = proxies
        proxyOptions = try proxies.options(for: request.head)
        routeName = request.options.routeName
        let head = request.head
        let path = head.path ?? "/"
        guard request.body.isEmpty || head.method != .head else {
            throw InvalidRequestError(.invalidBody, "libcurl cannot send content with HEAD; use another method.")
        }
        method = head.method.rawValue
        // RFC 9112, section 3.2.4.
        target = path == "*" ? path : nil
        let (scheme, authority) = (head.scheme ?? "", head.authority ?? "")
        let isSecure = scheme == "https" || scheme.lowercased() == "https"
        host = CurlHost(isSecure: isSecure, authority: authority)
        var url = ""
        // An interpolation would move the text as it grows.
        url.reserveCapacity(scheme.utf8.count + 3 + authority.utf8.count + path.utf8.count)
        for part in [scheme, "://", authority, target == nil ? path : "/"] { url += part }
        self.url = url
        fields = CurlList(library)
        append(head.headerFields, announcing: Self.announcement(of: request.body, head.method))
    }

    var isSecure: Bool { host.isSecure }

    /// The proxy that the request is to be sent through; nil for a direct connection.
    var proxyAddress: CurlProxyAddress? {
        (try? Origin(Target(url))).flatMap { proxies.proxy(for: $0)?.address }
    }

    // Longer ones make the array grow.
    private static let usualLineSize = 128

    private func append(_ headerFields: HTTPFields, announcing announcement: HTTPField?) {
        var announcement = announcement
        var acceptsNothing = true
        var expectsNothing = true
        var line: [UInt8] = []
        line.reserveCapacity(Self.usualLineSize)
        for field in headerFields {
            // The length of a name is compared first: most fields have another one.
            let nameLength = field.name.rawName.utf8.count
            if nameLength == 14 || nameLength == 17, field.name == .contentLength || field.name == .transferEncoding {
                // A length or coding that contradicts the content would allow request smuggling (RFC 9112, section 6.3).
                if let announcement { fields.append(announcement, using: &line) }
                announcement = nil
                continue
            }
            if nameLength == 6 {
                acceptsNothing = acceptsNothing && field.name != .accept
                expectsNothing = expectsNothing && field.name != .expect
            }
            fields.append(field, using: &line)
        }
        if let announcement { fields.append(announcement, using: &line) }
        // For a name without a value, libcurl does not add its default field.
        if acceptsNothing { fields.append("Accept:") }
        if expectsNothing { fields.append("Expect:") }
    }

    /// The field that announces the length of the content (RFC 9110, section 8.6).
    private static func announcement(of body: Body, _ method: HTTPRequest.Method) -> HTTPField? {
        guard let length = body.length else { return HTTPField(name: .transferEncoding, value: "chunked") }
        guard length > 0 || !methodsWithoutContent.contains(method) else { return nil }
        return HTTPField(name: .contentLength, value: String(length))
    }

    private static let methodsWithoutContent: [HTTPRequest.Method] = [.get, .head, .delete, .options, .trace, .connect]
}

/// The content of a request between one producer and libcurl, its consumer.
struct CurlUpload: Sendable {
    /// The producer waits while this many bytes are to be sent, and goes on when half of them were taken.
    ///
    /// These are four chunks of a file. With half of it, libcurl took the last chunk before the producer was awake, and
    /// both waited for each other.
    private static let highMark = 1 << 20
    /// What waits to be sent, and the buffer of libcurl.
    static let bytesHeld = highMark + CurlOptions.bufferSize

    /// The answer to libcurl when it asks for content.
    enum Supply: Equatable {
        case bytes(Int)
        case nothing
        case end
        /// The content has ended before its length.
        case short
    }

    let length: Int64?
    /// The body that a task reads; nil if all content is in memory.
    private(set) var source: Body?
    private var chunks: ArraySlice<Data> = []
    private var waiting = 0
    private var supplied: Int64 = 0
    private var isComplete = false
    private(set) var trailers: HTTPFields?
    private var producer: CheckedContinuation<Bool, Never>?

    init(_ body: Body) {
        length = body.length
        switch body.storage {
        case .bytes(let data):
            if !data.isEmpty { chunks = [data] }
            isComplete = true
        case .stream where body.isEmpty: isComplete = true
        case .file, .stream: source = body
        }
    }

    /// Checks a file away from the caller's actor.
    @concurrent static func check(_ file: BodyFile) async throws {
        do {
            guard try BodyFile(file.url) == file else { throw BodyLengthError() }
        } catch {
            throw TransportError(.unreadableBody, at: .connecting, underlying: error)
        }
    }

    /// Adds a chunk; returns whether the producer may continue at once, and otherwise keeps its continuation.
    mutating func offer(_ chunk: Data, from producer: CheckedContinuation<Bool, Never>) -> Bool {
        chunks.append(chunk)
        waiting += chunk.count
        guard waiting >= Self.highMark else { return true }
        self.producer = producer
        return false
    }

    mutating func finish(trailers: HTTPFields?) {
        isComplete = true
        self.trailers = trailers
    }

    /// Discards all content and returns the producer, if it waits.
    mutating func discard() -> CheckedContinuation<Bool, Never>? {
        chunks = []
        source = nil
        return producer.take()
    }

    /// Moves content to a buffer, and returns the producer if it may continue.
    mutating func supply(
        _ buffer: UnsafeMutableRawBufferPointer
    ) -> (supply: Supply, producer: CheckedContinuation<Bool, Never>?) {
        var count = 0
        while count < buffer.count, let chunk = chunks.first {
            let part = chunk.prefix(buffer.count - count)
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: part)
            count += part.count
            if part.count < chunk.count {
                chunks[chunks.startIndex] = chunk.dropFirst(part.count)
            } else {
                chunks.removeFirst()
            }
        }
        supplied += Int64(count)
        if source != nil { waiting -= count }
        let released = waiting <= Self.highMark / 2 ? producer.take() : nil
        guard count == 0 else { return (.bytes(count), released) }
        guard isComplete else { return (.nothing, released) }
        return (supplied < length ?? 0 ? .short : .end, released)
    }
}
#endif
