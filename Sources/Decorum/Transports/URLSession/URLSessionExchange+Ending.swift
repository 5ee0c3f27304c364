import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

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
        buffer.finish(end)
        switch end {
        case .success: waiter?.resume(throwing: TransportError(.connectionLost, at: .head))
        case .failure(let error): waiter?.resume(throwing: error)
        }
        return true
    }
}
