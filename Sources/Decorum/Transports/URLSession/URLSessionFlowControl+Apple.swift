#if !canImport(FoundationNetworking)
import Foundation
import Synchronization

/// Holds a server back while many bytes wait to be read.
final class URLSessionFlowControl: Sendable {
    private struct State {
        var suspended: URLSessionTask?
        var control: DispatchQueue?
    }

    private let state = Mutex(State())

    var isHoldingBack: Bool {
        state.withLock { $0.suspended != nil }
    }

    /// Suspends the task once more than half of the bytes that memory may hold wait to be read.
    func received(by buffer: URLSessionResponseBuffer, _ task: URLSessionTask?, on control: DispatchQueue) {
        guard let task else { return }
        state.withLock { state in
            guard state.suspended == nil, buffer.isHalfFull else { return }
            state.suspended = task
            state.control = control
            // Enqueued under the lock, so that suspending and resuming are in the order of the decisions.
            control.async { task.suspend() }
        }
    }

    /// Resumes the task once few enough bytes wait, and returns whether it did.
    func read(from buffer: URLSessionResponseBuffer) -> Bool {
        state.withLock { state in
            guard let task = state.suspended, !buffer.isHalfFull else { return false }
            state.control?.async { task.resume() }
            state.suspended = nil
            return true
        }
    }
}

extension URLSessionResponseBuffer {
    fileprivate var isHalfFull: Bool { waiting.memory > memoryBound / 2 || waiting.disk > 0 }
}
#endif
