#if os(Linux)
import Foundation

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
