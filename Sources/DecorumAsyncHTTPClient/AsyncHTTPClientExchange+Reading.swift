#if AsyncHTTPClient
import Decorum
import Foundation
import Synchronization

/// The requests of the reader of the response's body.
extension AsyncHTTPClientExchange {
    /// Returns the unread chunks of the body, or waits for the next one; an empty array at its end.
    func receivedChunks() async throws -> [Data] {
        if Task.isCancelled { cancel() }
        if let chunks = try take() { return chunks }
        return try await withTaskCancellationHandler {
            while true {
                await waitForChunk()
                if let chunks = try take() { return chunks }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Takes the unread chunks; nil where there are none and the body has not ended.
    private func take() throws -> [Data]? {
        let (chunks, producer) = try state.withLock { state in
            guard state.chunks.isEmpty else {
                let chunks = state.chunks
                state.chunks = []
                state.byteCount = 0
                if state.waiters.producer != nil { state.lastProgress = watch.clock.now }
                return (chunks as [Data]?, state.waiters.producer.take())
            }
            try state.end?.get()
            return (state.end == nil ? nil : [], nil)
        }
        producer?.resume()
        return chunks
    }

    private func waitForChunk() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                guard state.chunks.isEmpty, state.end == nil else { return true }
                state.waiters.reader = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}
#endif
