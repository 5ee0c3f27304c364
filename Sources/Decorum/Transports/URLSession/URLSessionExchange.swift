import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One request and its response, from the first byte asked for to the last one received.
///
/// The session's delegate reports events to it, and it resumes the tasks that wait for the head or the body. An exchange
/// ends once; later events are ignored.
final class URLSessionExchange: TransportExchange {
    private struct State: ~Copyable {
        /// Whether as many bytes as the head has announced have arrived.
        var isWhole: Bool { expected == received }

        var task: URLSessionTask?
        var head: CheckedContinuation<Response, any Error>?
        var hasHead = false
        var end: Result<Void, any Error>?
        /// The length of the body; nil unless the head announces it.
        var expected: Int64?
        var received: Int64 = 0
        /// The number of bytes of the content that were sent.
        var sent: Int64 = 0
        var informational: [HTTPResponse] = []
        /// The certificates of the server, where they are reported.
        var certificates: [Data] = []
        var upload: URLSessionUpload
        var lastProgress: ContinuousClock.Instant
    }

    let buffer: URLSessionResponseBuffer
    let origin: Origin
    private let flow = URLSessionFlowControl()
    private let method: HTTPRequest.Method
    private let metadata: ResponseMetadata
    private let limits: TransferLimits
    let priority: TaskPriority?
    private let beginning: ContinuousClock.Instant
    private let timings = RunningTimings()
    private let watch: TimeLimitWatch
    private let control: DispatchQueue
    private let transfers: OpenTransfers
    private let state: Mutex<State>

    init(
        _ request: borrowing Request, to origin: Origin, upload: URLSessionUpload, limits: TransferLimits,
        since beginning: ContinuousClock.Instant, buffer: URLSessionResponseBuffer, watch: TimeLimitWatch,
        control: DispatchQueue, transfers: OpenTransfers
    ) {
        self.buffer = buffer
        self.origin = origin
        method = request.head.method
        metadata = ResponseMetadata(answering: request, from: .network)
        self.limits = limits
        priority = request.options.priority
        self.watch = watch
        self.control = control
        self.transfers = transfers
        self.beginning = beginning
        state = Mutex(State(upload: upload, lastProgress: watch.clock.now))
    }

    /// The stage that a failure would be at now.
    var stage: TransportError.Stage {
        state.withLock { $0.hasHead ? .body : .head }
    }

    /// The content that is sent; none once the exchange has ended.
    var upload: URLSessionUpload {
        state.withLock { $0.upload }
    }

    /// Waits for the head of the response; `start` is called once the exchange can receive it.
    func response(_ start: () -> Void) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let end = state.withLock { state in
                    if state.end == nil { state.head = continuation }
                    return state.end
                }
                switch end {
                case nil:
                    watch.add(self)
                    start()
                case .failure(let error): continuation.resume(throwing: error)
                case .success: continuation.resume(throwing: TransportError(.other, at: .head))
                }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Makes and keeps the task that carries the exchange, unless the exchange has ended before.
    func begin(_ make: (URLSessionUpload) -> URLSessionTask) -> URLSessionTask? {
        guard state.withLock({ $0.end == nil }) else { return nil }
        let task = make(upload)
        let isWanted = state.withLock { state in
            guard state.end == nil else { return false }
            state.task = task
            return true
        }
        if !isWanted { task.cancel() }
        return isWanted ? task : nil
    }
}

/// The events of the exchange's task.
extension URLSessionExchange {
    /// Receives the certificates of the server to whom the task has opened a connection.
    func receive(certificates: [Data]) {
        state.withLock { $0.certificates = certificates }
    }

    /// Receives the head of an informational or a final response.
    ///
    /// Where it is invalid, its connection is distrusted before the caller hears of it and may send another request.
    func receive(_ response: HTTPURLResponse, orDistrust distrust: () -> Void) {
        guard let head = HTTPResponse(response) else {
            distrust()
            abort(with: TransportError(.malformedResponse, at: .head))
            return
        }
        guard !URLSessionPlatform.isRefusal(head, byProxyOf: origin) else {
            abort(with: TransportError(.proxyRefused, at: .connecting))
            return
        }
        guard head.status.kind != .informational else {
            progress()
            state.withLock { $0.informational.append(head) }
            return
        }
        let (waiter, informational) = state.withLock { state in
            defer { state.head = nil }
            state.hasHead = true
            return (state.head, state.informational)
        }
        progress()
        let response = answer(head, informational: informational)
        let expected = response.body.length
        state.withLock { $0.expected = expected }
        waiter?.resume(returning: response)
        endIfAnswered()
    }

    /// Ends the exchange if the whole response has arrived before all of the content was sent.
    ///
    /// On Linux, the platform would wait for a server that does not read on.
    private func endIfAnswered() {
        let task = state.withLock { state in
            guard state.isWhole, let length = state.upload.length, state.sent < length else {
                return nil as URLSessionTask?
            }
            return state.task
        }
        guard let task, finish(.success(())) else { return }
        control.async { task.cancel() }
    }

    /// Records the number of bytes of the content that were sent.
    func sent(_ count: Int64) {
        progress()
        state.withLock { $0.sent = count }
    }

    private func answer(_ head: consuming HTTPResponse, informational: [HTTPResponse]) -> Response {
        var metadata = metadata
        if !informational.isEmpty { metadata.informational = informational }
        timings.timings.firstByte = beginning.duration(to: watch.clock.now)
        metadata.runningTimings = timings
        let certificates = state.withLock { $0.certificates }
        if !certificates.isEmpty { metadata.serverCertificates = certificates }
        guard method != .head, head.status != .noContent, head.status != .notModified else {
            return Response(head: head, metadata: metadata)
        }
        let codings = head.removeDecodedCodings()
        if !codings.isEmpty { metadata.decodedContentCodings = codings }
        let lease = TransferLease(self)
        let body = Body(trustedLength: head.contentLength, replay: .once) { _ in URLSessionBodyReader(lease) }
        return Response(head: head, body: body, metadata: metadata)
    }

    /// Receives a part of the body.
    func receive(_ data: Data) {
        progress()
        state.withLock { $0.received += Int64(data.count) }
        do {
            try buffer.append(data)
            flow.received(by: buffer, state.withLock { $0.task }, on: control)
            endIfAnswered()
        } catch {
            abort(with: error)
            buffer.discard(error)
        }
    }

    /// Records that the reader has read, after which the server may go on.
    func readerHasRead() {
        if flow.read(from: buffer) { progress() }
    }

    /// Restarts the idle time, since bytes were sent or received.
    func progress() {
        let now = watch.clock.now
        state.withLock { $0.lastProgress = now }
    }

    /// Receives the times of the parts, which come shortly before the end of the task.
    func receive(_ transaction: URLSessionTransaction) {
        timings.complete(with: transaction.timings)
    }

    /// Receives the end of the task; its connection is distrusted where the head and the platform disagree on the length.
    func complete(with error: (any Error)?, _ response: URLResponse?, orDistrust distrust: () -> Void) {
        // On Linux, a redirection without a usable Location ends without a head, and its body is lost.
        if error == nil, stage == .head, let response = response as? HTTPURLResponse {
            receive(response, orDistrust: distrust)
            let hasLostBody = HTTPResponse(response)?.contentLength != 0
            finish(hasLostBody ? .failure(TransportError(.truncated, at: .body)) : .success(()))
            return
        }
        let missing = state.withLock { state in state.expected.map { $0 - state.received } }
        let isCut = (missing ?? 0) > 0
        switch error {
        // The response is whole although the server broke the connection after it.
        case let error? where missing != 0:
            finish(.failure(URLSessionFailure.error(for: error, at: stage, isCut: isCut)))
        case nil where (missing ?? 0) != 0:
            distrust()
            // libcurl itself fails a body that is cut, so that the lengths of the head are at fault.
            let isTruncated = isCut && !URLSessionPlatform.isBuiltOnLibcurl
            finish(.failure(TransportError(isTruncated ? .truncated : .malformedResponse, at: .body)))
        default: finish(.success(()))
        }
    }
}

/// The ways in which the exchange ends.
extension URLSessionExchange {
    /// Fails the exchange and cancels its task.
    func abort(with error: any Error) {
        let task = state.withLock { $0.task }
        guard finish(.failure(error)) else { return }
        // On Linux, cancelling waits for the queue that all sessions of the process share.
        if let task { control.async { task.cancel() } }
    }

    func cancel() {
        abort(with: CancellationError())
        buffer.discard(CancellationError())
    }

    func timeOut(at limit: TimeLimit) {
        if isStill(at: limit) { abort(with: limits.error(at: limit, stage)) }
    }

    var timeLimit: TimeLimit? {
        let start = flow.isHoldingBack ? watch.clock.now : nil
        return state.withLock { state in
            guard state.end == nil else { return nil }
            return limits.next(after: start ?? state.lastProgress, at: state.hasHead ? .body : .head)
        }
    }

    @discardableResult func finish(_ end: Result<Void, any Error>) -> Bool {
        let end = end.mapError {
            TransportError.locate(
                $0, at: origin, after: beginning.duration(to: watch.clock.now), method: method, url: metadata.url,
                routeName: metadata.routeName)
        }
        let (upload, waiter) = state.withLock { state in
            guard state.end == nil else {
                return (nil as URLSessionUpload?, nil as CheckedContinuation<Response, any Error>?)
            }
            defer { state.upload = .none }
            state.end = end
            state.task = nil
            state.informational = []
            return (state.upload, state.head.take())
        }
        guard let upload else { return false }
        upload.close()
        watch.remove(self)
        transfers.end()
        if case .success = end { timings.end(after: beginning.duration(to: watch.clock.now)) }
        buffer.finish(end)
        switch end {
        case .success: waiter?.resume(throwing: TransportError(.connectionLost, at: .head))
        case .failure(let error): waiter?.resume(throwing: error)
        }
        return true
    }
}
