#if os(Linux)
import Foundation

/// What the reader of the response does, on any thread.
extension CurlExchange {
    /// Takes what has arrived of the body, or waits for it.
    func read() async throws -> Arrival {
        if Task.isCancelled { cancel() }
        let (ready, mayGoOn) = state.withLock { state in (state.takeContent(), state.resumesReceiving) }
        if mayGoOn { engine.post(.receive(self)) }
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

    /// Wakes whoever waits for what has arrived, and starts the idle time anew where bytes were sent or received.
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
        case .content(let waiter, let result, let mayGoOn):
            if mayGoOn { engine.post(.receive(self)) }
            waiter.resume(with: result)
        }
    }
}

extension CurlExchange.State {
    fileprivate enum Wake {
        case none
        case head(CheckedContinuation<CurlExchange.Head, any Error>, Result<CurlExchange.Head, any Error>)
        case content(
            CheckedContinuation<CurlExchange.Arrival, any Error>, Result<CurlExchange.Arrival, any Error>, mayGoOn: Bool
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
        return .content(waiter, content, mayGoOn: resumesReceiving)
    }

    /// Takes the content that waits, or else the end; nil where there is neither.
    fileprivate mutating func takeContent() -> Result<CurlExchange.Arrival, any Error>? {
        guard content.isEmpty else { return .success(.content(content.take())) }
        return end.map { $0.map { .end(trailers: $0) } }
    }

    /// Whether libcurl has to be told to go on, which is true once for each pause.
    fileprivate var resumesReceiving: Bool {
        mutating get {
            guard receiving == .paused, content.isEmpty, end == nil else { return false }
            receiving = .resuming
            return true
        }
    }
}
#endif
