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
    struct State {
        /// Whether as many bytes as the head has announced have arrived.
        var isWhole: Bool { expected == received }

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
        /// The certificates of the server, where they are reported.
        var certificates: [Data] = []
        var upload: URLSessionUpload
        var lastProgress: ContinuousClock.Instant
    }

    let buffer: URLSessionResponseBuffer
    let origin: Origin
    let flow = URLSessionFlowControl()
    let method: HTTPRequest.Method
    let metadata: ResponseMetadata
    let limits: TransferLimits
    let priority: TaskPriority?
    let beginning: ContinuousClock.Instant
    let watch: TimeLimitWatch
    let control: DispatchQueue
    let transfers: OpenTransfers
    let state: Mutex<State>

    init(
        _ request: borrowing Request,
        to origin: Origin,
        upload: URLSessionUpload,
        limits: TransferLimits,
        since beginning: ContinuousClock.Instant,
        buffer: URLSessionResponseBuffer,
        watch: TimeLimitWatch,
        control: DispatchQueue,
        transfers: OpenTransfers
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
