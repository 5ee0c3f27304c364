#if os(Linux)
import Foundation
import HTTPTypes

/// Reads the body of a response while it arrives.
struct CurlBodyReader: BodyReader {
    private let lease: TransferLease<CurlExchange>
    private var batch: ArraySlice<Data> = []
    // Kept here, since the exchange forgets its trailers where the caller is cancelled after its end.
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
                let ready = state.withLock { state in
                    let ready = state.takeContent()
                    if ready == nil { state.contentWaiter = continuation }
                    return ready
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Wakes the task that waits for the head or the body, and restarts the idle time where bytes were sent or received.
    func wakeReader(notingProgressAt instant: ContinuousClock.Instant? = nil) {
        let wake = state.withLock { state in
            if let instant {
                state.lastProgress = instant
                state.hasUnnotedProgress = false
            }
            return state.takeWake()
        }
        switch wake {
        case .none: break
        case .head(let waiter, let result): waiter.resume(with: result)
        case .content(let waiter, let result, let resumes):
            if resumes { engine.post(.receive(self)) }
            waiter.resume(with: result)
        }
    }
}

extension CurlExchange.State {
    fileprivate enum Wake {
        case none
        case head(CheckedContinuation<CurlExchange.Head, any Error>, Result<CurlExchange.Head, any Error>)
        case content(
            CheckedContinuation<CurlExchange.Part, any Error>, Result<CurlExchange.Part, any Error>, resumes: Bool
        )
    }

    fileprivate mutating func takeWake() -> Wake {
        if let waiter = headWaiter {
            if let head {
                headWaiter = nil
                self.head = nil
                return .head(waiter, .success(head))
            }
            guard case .failure(let error) = end else { return .none }
            headWaiter = nil
            return .head(waiter, .failure(error))
        }
        guard let waiter = contentWaiter, let content = takeContent() else { return .none }
        contentWaiter = nil
        return .content(waiter, content, resumes: resumesReceiving)
    }

    /// Takes the content that has arrived, or else the end; nil where there is neither.
    fileprivate mutating func takeContent() -> Result<CurlExchange.Part, any Error>? {
        guard content.isEmpty else { return .success(.content(content.take())) }
        return end.map { $0.map { .end(trailers: $0) } }
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
    func startPump(reading body: Body) {
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
        } catch let error as CancellationError {
            abort(with: error)
        } catch {
            abort(with: TransportError(.unreadableBody, at: stage, underlying: error))
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

    /// Changes the content, unless the exchange has ended, and resumes libcurl where it waits for content.
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
#endif
