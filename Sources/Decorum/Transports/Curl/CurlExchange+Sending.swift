#if os(Linux)
import Foundation

/// The content of the request: a task that reads it, and libcurl that takes it.
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
            supplied { $0.finish(trailers: reader.trailers) }
        } catch let error as CancellationError {
            abort(with: error)
        } catch {
            abort(with: TransportError(.unreadableBody, at: state.withLock { $0.stage }, underlying: error))
        }
    }

    /// Waits while much is left to send; false once nobody wants the content any more.
    private func offer(_ chunk: Data) async -> Bool {
        await withCheckedContinuation { continuation in
            var answer: Bool? = false
            supplied { upload in answer = upload.offer(chunk, from: continuation) ? true : nil }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Changes the content, unless the exchange has ended, and lets libcurl go on where it waits for that.
    private func supplied(_ change: (inout CurlUpload) -> Void) {
        let mayGoOn = state.withLock { state in
            guard state.end == nil else { return false }
            change(&state.upload)
            guard state.sending == .paused else { return false }
            state.sending = .resuming
            return true
        }
        if mayGoOn { engine.post(.send(self)) }
    }
}
#endif
