#if os(Linux)
import Foundation
import HTTPTypes

/// One request and its response, from the first byte asked for to the last one received.
///
/// The engine's thread tells it what happens; it wakes whoever waits for the head or the body. It ends once, and what
/// comes later is ignored.
///
/// `@unchecked Sendable`: `state` is behind its lock, `wire` is touched by the engine's thread alone, and the rest
/// never changes.
final class CurlExchange: TransportExchange, @unchecked Sendable {
    struct State {
        var headWaiter: CheckedContinuation<Head, any Error>?
        var head: Head?
        var content = CurlContent()
        var contentWaiter: CheckedContinuation<Arrival, any Error>?
        var upload: CurlUpload
        var pump: Task<Void, Never>?
        /// The trailers, or what kept the exchange from its end.
        var end: Result<RawHead, any Error>?
        var stage = TransportError.Stage.connecting
        var receiving = Flow.going
        var sending = Flow.going
        var lastProgress: ContinuousClock.Instant
        /// Content has arrived, and the loop will note when at the end of its turn.
        var hasUnnotedProgress = false
    }

    /// Whether libcurl waits for the reader, or for the producer of the request's content.
    enum Flow {
        case going
        case paused
        /// The engine was asked to let it go on.
        case resuming
    }

    /// What has arrived before the body.
    struct Head {
        let final: RawHead
        let informational: [RawHead]
        let timings: TransferTimings
    }

    /// What has arrived of the body.
    enum Arrival {
        case content([Data])
        case end(trailers: RawHead)
    }

    let method: HTTPRequest.Method
    let request: CurlRequestHead
    let uploadLength: Int64?
    let engine: CurlEngine
    let library: CurlLibrary
    let state: Locked<State>
    let wire = CurlWire()
    private let url: String?
    private let idleTimeout: Duration
    let watch: IdleTimer

    init(
        _ request: borrowing Request,
        _ head: CurlRequestHead,
        upload: CurlUpload,
        idleTimeout: Duration,
        watch: IdleTimer,
        engine: CurlEngine,
        library: CurlLibrary
    ) {
        method = request.head.method
        url = request.urlText
        self.request = head
        uploadLength = upload.length
        self.idleTimeout = idleTimeout
        self.watch = watch
        self.engine = engine
        self.library = library
        state = Locked(State(upload: upload, lastProgress: watch.clock.now))
    }

    /// The longest time that libcurl may take for a connection, of which each address of a host gets a share.
    var connectTimeout: Duration {
        // The exchange's own timeout is exact; this one keeps libcurl from spending all of it on the first address.
        max(idleTimeout, .seconds(5))
    }

    /// Sends the request and waits for the head of the response.
    func response() async throws -> Response {
        let head = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (end, source) = state.withLock { state in
                    if state.end == nil { state.headWaiter = continuation }
                    return (state.end, state.upload.source)
                }
                if case .failure(let error) = end {
                    continuation.resume(throwing: error)
                } else if let source {
                    startPump(reading: source)
                } else {
                    start()
                }
            }
        } onCancel: {
            cancel()
        }
        return try answer(head)
    }

    func start() {
        let now = watch.clock.now
        state.withLock { $0.lastProgress = now }
        watch.add(self)
        engine.post(.start(self))
    }

    private func answer(_ head: Head) throws -> Response {
        guard let final = head.final.response, final.contentLength ?? 0 >= 0 else {
            let error = TransportError(.malformedResponse, at: .head)
            abort(with: error)
            throw error
        }
        var metadata = ResponseMetadata()
        metadata.source = .network
        metadata.urlText = url
        metadata.timings = head.timings
        if !head.informational.isEmpty {
            metadata.informational = head.informational.compactMap(\.response)
        }
        guard method != .head, final.status != .noContent, final.status != .notModified else {
            return Response(head: final, metadata: metadata)
        }
        let lease = TransferLease(self)
        let body = Body(trustedLength: final.contentLength, replay: .once) { _ in CurlBodyReader(lease) }
        return Response(head: final, body: body, metadata: metadata)
    }

    var deadline: ContinuousClock.Instant? {
        let now = watch.clock.now
        return state.withLock { state in
            guard state.end == nil else { return nil }
            // After the head, content that is still to be made may wait for the server itself.
            let isHeldBack = state.receiving != .going || (state.sending != .going && state.stage != .body)
            // A reader may have taken content before the loop has noted it.
            guard !isHeldBack, !state.hasUnnotedProgress else { return now.advanced(by: idleTimeout) }
            return state.lastProgress.advanced(by: idleTimeout)
        }
    }

    func timeOut() {
        abort(with: TransportError(.timedOut, at: state.withLock { $0.stage }))
    }

    /// Ends the exchange before its time, and its transfer with it.
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

    /// Ends the exchange, where only the first end counts, and returns whether this is it.
    @discardableResult func finish(_ end: Result<RawHead, any Error>) -> Bool {
        let (isFirst, pump, producer) = state.withLock { state in
            guard state.end == nil else {
                return (false, nil as Task<Void, Never>?, nil as CheckedContinuation<Bool, Never>?)
            }
            state.end = end
            return (true, state.pump.take(), state.upload.discard())
        }
        guard isFirst else { return false }
        watch.remove(self)
        pump?.cancel()
        producer?.resume(returning: false)
        wakeReader()
        engine.transfers.end()
        return true
    }
}
#endif
