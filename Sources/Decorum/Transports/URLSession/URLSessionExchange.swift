import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One request and its response, from the first byte asked for to the last one received.
///
/// The session's delegate tells it what happens; it wakes whoever waits for the head or the body. It ends once, and
/// what comes later is ignored.
final class URLSessionExchange: TransportExchange {
    private struct State {
        /// Whether the body is there as the head has announced it.
        var isWhole: Bool { hasHead && expected == received }

        var task: URLSessionTask?
        var head: CheckedContinuation<Response, any Error>?
        var hasHead = false
        var end: Result<Void, any Error>?
        /// How much of the body must be there at the end; nil where the head does not tell.
        var expected: Int64?
        var received: Int64 = 0
        /// How much of the content was sent.
        var sent: Int64 = 0
        var informational: [HTTPResponse] = []
        var upload: Upload
        var lastProgress: ContinuousClock.Instant
    }

    let buffer: ResponseBuffer
    let origin: Origin
    private let flow = FlowControl()
    private let method: HTTPRequest.Method
    private let url: String?
    private let idleTimeout: Duration
    private let watch: IdleWatch
    private let control: DispatchQueue
    private let transfers: OpenTransfers
    private let state: Mutex<State>

    init(
        _ request: borrowing Request,
        to origin: Origin,
        upload: Upload,
        idleTimeout: Duration,
        backlog: URLSessionConnection.Backlog,
        watch: IdleWatch,
        owner: URLSessionOwner
    ) {
        buffer = ResponseBuffer(backlog)
        self.origin = origin
        method = request.head.method
        url = request.urlText
        self.idleTimeout = idleTimeout
        self.watch = watch
        control = owner.control
        transfers = owner.transfers
        state = Mutex(State(upload: upload, lastProgress: watch.clock.now))
    }

    /// The stage that a failure would be at now.
    var stage: TransportError.Stage {
        state.withLock { $0.hasHead ? .body : .head }
    }

    /// What is sent; nothing once the exchange has ended.
    var upload: Upload {
        state.withLock { $0.upload }
    }

    /// Waits for the head of the response; `start` is called once there is somebody to wake.
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

    /// Takes the task that carries the exchange, unless the exchange has ended before it began.
    func begin(_ make: (Upload) -> URLSessionTask) -> URLSessionTask? {
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
    /// Takes the head of a response, which is informational, or answers the request.
    ///
    /// Where it makes no sense, its connection is distrusted before the caller is told and may send another request.
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

    /// Ends the exchange where the whole answer has come before all of the content was sent.
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

    /// Takes note of how much of the content was sent.
    func sent(_ count: Int64) {
        progress()
        state.withLock { $0.sent = count }
    }

    private func answer(_ head: consuming HTTPResponse, informational: [HTTPResponse]) -> Response {
        var metadata = ResponseMetadata()
        metadata.source = .network
        metadata.urlText = url
        if !informational.isEmpty { metadata.informational = informational }
        guard method != .head, head.status != .noContent, head.status != .notModified else {
            return Response(head: head, metadata: metadata)
        }
        let codings = head.removeDecodedCodings()
        if !codings.isEmpty { metadata.decodedContentCodings = codings }
        let lease = TransferLease(self)
        let body = Body(trustedLength: head.contentLength, replay: .once) { _ in TransferBodyReader(lease) }
        return Response(head: head, body: body, metadata: metadata)
    }

    /// Takes a part of the body.
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

    /// Takes note that the reader has read, which may let the server go on.
    func readerTook() {
        if flow.read(from: buffer) { progress() }
    }

    /// Takes note of bytes that were sent or received, which starts the idle time anew.
    func progress() {
        let now = watch.clock.now
        state.withLock { $0.lastProgress = now }
    }

    /// Takes the end of the task; its connection is distrusted where the head and the platform do not agree on the end.
    func complete(with error: (any Error)?, _ response: URLResponse?, orDistrust distrust: () -> Void) {
        // On Linux, a redirection without a usable Location ends without a head, and what body it had is lost.
        if error == nil, stage == .head, let response = response as? HTTPURLResponse {
            receive(response, orDistrust: distrust)
            let hasLostBody = HTTPResponse(response)?.contentLength != 0
            finish(hasLostBody ? .failure(TransportError(.truncated, at: .body)) : .success(()))
            return
        }
        let (isWhole, hasLength) = state.withLock { ($0.isWhole, $0.expected != nil) }
        switch error {
        // A server that breaks the connection behind its answer has answered.
        case let error? where !isWhole: finish(.failure(URLSessionFailure.error(for: error, at: stage)))
        case nil where hasLength && !isWhole:
            distrust()
            finish(.failure(TransportError(.malformedResponse, at: .body)))
        default: finish(.success(()))
        }
    }

    /// Ends the exchange before its time, and its task with it.
    func abort(with error: any Error) {
        let task = state.withLock { $0.task }
        guard finish(.failure(error)) else { return }
        // On Linux, cancelling waits for the queue that all sessions of the process share.
        if let task { control.async { task.cancel() } }
    }

    /// Ends the exchange because nobody wants it any more; what has arrived is dropped.
    func cancel() {
        abort(with: CancellationError())
        buffer.discard(CancellationError())
    }

    /// Fails the exchange when nothing was sent or received for too long.
    func timeOut() {
        abort(with: TransportError(.timedOut, at: stage))
    }

    /// When the exchange fails unless something is sent or received; nil once it has ended.
    var deadline: ContinuousClock.Instant? {
        let start = flow.isHoldingBack ? watch.clock.now : nil
        return state.withLock { $0.end != nil ? nil : (start ?? $0.lastProgress).advanced(by: idleTimeout) }
    }

    @discardableResult private func finish(_ end: Result<Void, any Error>) -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            guard state.end == nil else { return (false, nil as CheckedContinuation<Response, any Error>?) }
            state.end = end
            state.task = nil
            state.upload = .none
            state.informational = []
            return (true, state.head.take())
        }
        guard isFirst else { return false }
        watch.remove(self)
        transfers.end()
        buffer.finish(end)
        switch end {
        case .success: waiter?.resume(throwing: TransportError(.connectionLost, at: .head))
        case .failure(let error): waiter?.resume(throwing: error)
        }
        return true
    }
}
