#if !canImport(FoundationNetworking)
import Foundation
import Synchronization

/// Holds a server back while much waits to be read.
final class FlowControl: Sendable {
    private struct State {
        var suspended: URLSessionTask?
        var control: DispatchQueue?
    }

    private let state = Mutex(State())

    var isHoldingBack: Bool {
        state.withLock { $0.suspended != nil }
    }

    /// Suspends the task as soon as bytes wait beyond the half of what the memory may hold.
    func received(by buffer: ResponseBuffer, _ task: URLSessionTask?, on control: DispatchQueue) {
        guard let task else { return }
        state.withLock { state in
            guard state.suspended == nil, buffer.isHalfFull else { return }
            state.suspended = task
            state.control = control
            // Asked for under the lock, so that suspending and resuming come in the order of the decisions.
            control.async { task.suspend() }
        }
    }

    /// Resumes the task when nothing waits any more, and returns whether it did.
    func read(from buffer: ResponseBuffer) -> Bool {
        state.withLock { state in
            guard let task = state.suspended, !buffer.isHalfFull else { return false }
            state.control?.async { task.resume() }
            state.suspended = nil
            return true
        }
    }
}

extension ResponseBuffer {
    fileprivate var isHalfFull: Bool { waiting.memory > backlog.memory / 2 || waiting.disk > 0 }
}
#endif
