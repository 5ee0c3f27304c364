#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import Foundation
import NIOCore
import Synchronization

/// The events of the transfer.
extension AsyncHTTPClientExchange {
    /// The stage that a failure would be at now.
    var stage: TransportError.Stage {
        state.withLock { $0.hasHead ? .body : .head }
    }

    /// Resumes the caller with a response; returns one without a body instead, to keep until its connection can be used
    /// for the next request.
    func receive(_ response: HTTPClientResponse) throws -> Response? {
        guard response.history.count == 1 else {
            throw TransportError(.other, at: .head, underlying: RedirectingClientError())
        }
        guard let head = HTTPResponse(response) else { throw TransportError(.malformedResponse, at: .head) }
        let answer = answer(head)
        guard !answer.body.isEmpty else { return answer }
        resumeCaller(with: answer)
        return nil
    }

    func resumeCaller(with response: Response) {
        let now = watch.clock.now
        let waiter = state.withLock { state in
            state.hasHead = true
            state.lastProgress = now
            return state.waiters.head.take()
        }
        waiter?.resume(returning: response)
    }

    private func answer(_ head: HTTPResponse) -> Response {
        guard method != .head, head.status != .noContent, head.status != .notModified, head.contentLength != 0
        else { return Response(head: head, metadata: metadata) }
        let lease = TransferLease(self)
        let body = Body(length: head.contentLength, replay: .once) { _ in AsyncHTTPClientBodyReader(lease) }
        return Response(head: head, body: body, metadata: metadata)
    }

    /// Receives a part of the body and waits until there is room for the next; false once the exchange has ended.
    func receive(_ part: ByteBuffer) async -> Bool {
        // The bytes are copied before the closure returns.
        let data = unsafe part.withUnsafeReadableBytes { unsafe Data($0) }
        let now = watch.clock.now
        let (reader, isFull, isWanted) = state.withLock { state in
            guard state.end == nil else { return (state.waiters.reader.take(), false, false) }
            state.lastProgress = now
            if !data.isEmpty { state.chunks.append(data) }
            state.byteCount += data.count
            return (state.waiters.reader.take(), state.byteCount >= Self.bound, true)
        }
        reader?.resume()
        return isFull ? await waitForRoom() : isWanted
    }

    private func waitForRoom() async -> Bool {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                guard state.end == nil, state.byteCount >= Self.bound else { return true }
                state.waiters.producer = continuation
                return false
            }
            if hasRoom { continuation.resume() }
        }
        let now = watch.clock.now
        return state.withLock { state in
            state.lastProgress = now
            return state.end == nil
        }
    }

    /// Reads the next piece of the request's content, in a task that ends with the exchange.
    func read(_ source: ContentSource) async throws -> ByteBuffer? {
        // The task starts within the lock. Otherwise the source could run before `reading` is set, and its time would
        // count as the server's.
        let reading = state.withLock { state -> Task<ByteBuffer?, any Error>? in
            guard state.end == nil else { return nil }
            let reading = Task { try await source.next() }
            state.waiters.reading = reading
            return reading
        }
        guard let reading else { throw CancellationError() }
        let piece = await reading.result
        let now = watch.clock.now
        state.withLock { state in
            state.waiters.reading = nil
            state.lastProgress = now
        }
        do {
            return try piece.get()
        } catch {
            throw UnreadableContentError(underlying: error)
        }
    }
}

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
