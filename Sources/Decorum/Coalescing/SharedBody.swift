import Foundation
import HTTPTypes
import Synchronization

/// The body of a response that several callers read, each at a different speed.
///
/// If only one reader is left when reading starts, it reads the body itself. Otherwise a task reads it when a reader
/// waits for a chunk, and gives each chunk to all readers. The transfer ends with the last reader.
final class SharedBody: Sendable {
    private enum Opening {
        case alone(Body)
        case pumped(Body)
        case shared
    }

    let settings: SharedRequestSettings
    let state: Mutex<SharedBodyState>
    private let length: Int64?
    private let onClose: @Sendable () -> Void

    /// Creates a body without readers.
    ///
    /// - Parameters:
    ///   - source: A body that may be read once.
    ///   - settings: The limits for slow readers.
    ///   - onClose: Is called when joining is no longer possible.
    init(_ source: Body, _ settings: SharedRequestSettings, onClose: @escaping @Sendable () -> Void) {
        self.settings = settings
        self.onClose = onClose
        length = source.length
        state = Mutex(SharedBodyState(source: source))
    }

    /// Makes the body of one more reader; returns nil once a reader reads.
    func join() -> Body? {
        let reader = state.withLock { $0.join(patience: settings.patience) }
        guard let reader else { return nil }
        let shared = SharedReader(body: self, number: reader)
        return Body(trustedLength: length, replay: .once) { _ in try await shared.open() }
    }

    fileprivate func open(_ reader: SharedReader) async throws -> any BodyReader {
        let opening = state.withLock { state in
            guard let source = state.source.take() else { return Opening.shared }
            guard state.readers.count > 1 else {
                state.readers = [:]
                return .alone(source)
            }
            return .pumped(source)
        }
        switch opening {
        case .shared:
            return SharedBodyReader(reader: reader)
        case .alone(let source):
            onClose()
            return try await source.open()
        case .pumped(let source):
            onClose()
            startPump(source)
            return SharedBodyReader(reader: reader)
        }
    }

    private func startPump(_ source: Body) {
        let held = HeldBody(source)
        let task = settings.spawner.spawn { [self] in
            if let source = held.take() { await transfer(source) }
        }
        let isWanted = state.withLock { state in
            state.transfer = task
            return !state.isAbandoned
        }
        if !isWanted { task.cancel() }
    }

    /// Reads the next chunk as a reader, or waits for it.
    fileprivate func next(for reader: Int) async throws -> Data? {
        guard !Task.isCancelled else {
            leave(reader)
            throw CancellationError()
        }
        if let chunk = take(for: reader) { return try chunk.get() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let chunk = take(for: reader, orWaitWith: continuation) {
                    continuation.resume(with: chunk)
                } else if Task.isCancelled {
                    // The handler may have run before the reader was waiting.
                    cancel(reader)
                }
            }
        } onCancel: {
            cancel(reader)
        }
    }

    private func take(
        for reader: Int, orWaitWith continuation: SharedBodyState.Waiter? = nil
    ) -> Result<Data?, any Error>? {
        let (chunk, woken) = state.withLock { state in
            let chunk = state.take(for: reader, orWaitWith: continuation, limit: settings.backlogLimit)
            return (chunk, state.takeWoken(wantingChunk: chunk == nil))
        }
        for waiter in woken { waiter.resume() }
        return chunk
    }

    /// Removes a waiting reader, or ends the transfer if it was the last reader.
    private func cancel(_ reader: Int) {
        let (waiter, transfer, woken) = state.withLock { state in
            guard let waiter = state.readers[reader]?.waiter else {
                return (nil as SharedBodyState.Waiter?, nil as Task<Void, Never>?, [] as [SharedBodyState.Continuation])
            }
            guard state.readers.count > 1 else {
                // The last reader waits for the end of the cancelled read, as it would without coalescing.
                state.isAbandoned = true
                return (nil, state.transfer, [])
            }
            state.readers[reader] = nil
            return (waiter, nil, state.takeWoken(wantingChunk: true))
        }
        transfer?.cancel()
        for waiter in woken { waiter.resume() }
        waiter?.resume(throwing: CancellationError())
    }

    /// Records that a reader has dropped the body.
    fileprivate func leave(_ reader: Int) {
        let (source, transfer, woken) = state.withLock { state in
            state.readers[reader] = nil
            state.detached.remove(reader)
            guard state.readers.isEmpty else {
                return (nil as Body?, nil as Task<Void, Never>?, state.takeWoken(wantingChunk: true))
            }
            state.isAbandoned = true
            return (state.source.take(), state.transfer.take(), state.takeWoken(wantingChunk: true))
        }
        if source != nil { onClose() }
        transfer?.cancel()
        for waiter in woken { waiter.resume() }
    }

    fileprivate var trailers: HTTPFields? {
        state.withLock { state in
            guard case .success(let trailers) = state.end else { return nil }
            return trailers
        }
    }
}

/// One reader of a shared body, who leaves it when this is dropped.
private final class SharedReader: Sendable {
    let body: SharedBody
    let number: Int

    init(body: SharedBody, number: Int) {
        self.body = body
        self.number = number
    }

    deinit {
        body.leave(number)
    }

    func open() async throws -> any BodyReader {
        try await body.open(self)
    }
}

private struct SharedBodyReader: BodyReader {
    let reader: SharedReader

    mutating func next() async throws -> Data? {
        try await reader.body.next(for: reader.number)
    }

    var trailers: HTTPFields? { reader.body.trailers }
}
