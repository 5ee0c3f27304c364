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
    private struct State {
        /// Whether as many bytes as the head has announced have arrived.
        var isWhole: Bool { hasHead && expected == received }

        var task: URLSessionTask?
        var head: CheckedContinuation<Response, any Error>?
        var hasHead = false
        var end: Result<Void, any Error>?
        /// The length of the body; nil where the head does not announce it.
        var expected: Int64?
        var received: Int64 = 0
        /// The number of bytes of the content that were sent.
        var sent: Int64 = 0
        var informational: [HTTPResponse] = []
        var upload: URLSessionUpload
        var lastProgress: ContinuousClock.Instant
    }

    let buffer: URLSessionResponseBuffer
    let origin: Origin
    private let flow = URLSessionFlowControl()
    private let method: HTTPRequest.Method
    private let metadata: ResponseMetadata
    private let idleTimeout: Duration
    private let beginning: ContinuousClock.Instant
    private let timer: IdleTimer
    private let control: DispatchQueue
    private let transfers: OpenTransfers
    private let state: Mutex<State>

    init(
        _ request: borrowing Request,
        to origin: Origin,
        upload: URLSessionUpload,
        idleTimeout: Duration,
        buffer: URLSessionResponseBuffer,
        timer: IdleTimer,
        control: DispatchQueue,
        transfers: OpenTransfers
    ) {
        self.buffer = buffer
        self.origin = origin
        method = request.head.method
        metadata = ResponseMetadata(answering: request, from: .network)
        self.idleTimeout = idleTimeout
        self.timer = timer
        self.control = control
        self.transfers = transfers
        beginning = timer.clock.now
        state = Mutex(State(upload: upload, lastProgress: beginning))
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
                    timer.add(self)
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

extension URLSessionExchange {
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

    /// Ends the exchange where the whole response has arrived before all of the content was sent.
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
        let now = timer.clock.now
        state.withLock { $0.lastProgress = now }
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
        let (isWhole, hasLength) = state.withLock { ($0.isWhole, $0.expected != nil) }
        switch error {
        // The response is whole although the server broke the connection after it.
        case let error? where !isWhole: finish(.failure(URLSessionFailure.error(for: error, at: stage)))
        case nil where hasLength && !isWhole:
            distrust()
            finish(.failure(TransportError(.malformedResponse, at: .body)))
        default: finish(.success(()))
        }
    }

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

    func timeOut() {
        abort(with: TransportError(idleFor: idleTimeout, at: stage))
    }

    var deadline: ContinuousClock.Instant? {
        let start = flow.isHoldingBack ? timer.clock.now : nil
        return state.withLock { $0.end != nil ? nil : (start ?? $0.lastProgress).advanced(by: idleTimeout) }
    }

    @discardableResult private func finish(_ end: Result<Void, any Error>) -> Bool {
        let end = end.mapError {
            TransportError.locate(
                $0, at: origin, after: beginning.duration(to: timer.clock.now), routeName: metadata.routeName)
        }
        let (isFirst, waiter) = state.withLock { state in
            guard state.end == nil else { return (false, nil as CheckedContinuation<Response, any Error>?) }
            state.end = end
            state.task = nil
            state.upload = .none
            state.informational = []
            return (true, state.head.take())
        }
        guard isFirst else { return false }
        timer.remove(self)
        transfers.end()
        buffer.finish(end)
        switch end {
        case .success: waiter?.resume(throwing: TransportError(.connectionLost, at: .head))
        case .failure(let error): waiter?.resume(throwing: error)
        }
        return true
    }
}
