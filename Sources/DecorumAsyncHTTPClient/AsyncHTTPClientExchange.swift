#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import Foundation
import NIOCore
import Synchronization

/// One request and its response, from the first byte asked for to the last one received.
///
/// A separate task executes the request and receives the body, so that a timeout can cancel that task and not the
/// caller's. An exchange ends once; later events are ignored.
final class AsyncHTTPClientExchange: TransportExchange {
    struct State {
        var waiters = Waiters()
        var hasHead = false
        var end: Result<Void, any Error>?
        var lastProgress: ContinuousClock.Instant

        /// The bytes that have arrived and were not read yet.
        var chunks: [Data] = []
        var byteCount = 0

        /// Ends the exchange and returns the tasks to cancel and to resume; nil where it has ended before.
        mutating func end(with end: Result<Void, any Error>) -> Waiters? {
            guard self.end == nil else { return nil }
            self.end = end
            defer { waiters = Waiters() }
            return waiters
        }
    }

    /// The tasks that are to be cancelled or resumed when the exchange ends.
    struct Waiters {
        var transfer: Task<Void, Never>?
        var head: CheckedContinuation<Response, any Error>?
        var reading: Task<ByteBuffer?, any Error>?
        var reader: CheckedContinuation<Void, Never>?
        var producer: CheckedContinuation<Void, Never>?
    }

    // The number of unread bytes at which receiving pauses, so that the server is held back.
    static let bound = 256 << 10

    let content: AsyncHTTPClientContent
    let owner: AsyncHTTPClientOwner
    let method: HTTPRequest.Method
    let authority: String
    let metadata: ResponseMetadata
    let limits: TransferLimits
    let beginning: ContinuousClock.Instant
    let watch: TimeLimitWatch
    let state: Mutex<State>

    init(
        _ request: borrowing Request, content: AsyncHTTPClientContent, by owner: AsyncHTTPClientOwner,
        authority: String, limits: TransferLimits, since beginning: ContinuousClock.Instant, watch: TimeLimitWatch
    ) {
        self.content = content
        self.owner = owner
        method = request.head.method
        self.authority = authority
        metadata = ResponseMetadata(answering: request, from: .network)
        self.limits = limits
        self.watch = watch
        self.beginning = beginning
        state = Mutex(State(lastProgress: watch.clock.now))
    }

    /// Sends the request and waits for the head of the response.
    func response(to request: HTTPClientRequest) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let end = state.withLock { state in
                    if state.end == nil { state.waiters.head = continuation }
                    return state.end
                }
                switch end {
                case nil:
                    watch.add(self)
                    begin(request)
                case .failure(let error): continuation.resume(throwing: error)
                case .success: continuation.resume(throwing: TransportError(.other, at: .head))
                }
            }
        } onCancel: {
            cancel()
        }
    }

    private func begin(_ request: HTTPClientRequest) {
        let transfer = start { await self.transfer(request) }
        let isWanted = state.withLock { state in
            if state.end == nil { state.waiters.transfer = transfer }
            return state.end == nil
        }
        if !isWanted { transfer.cancel() }
    }

    /// Starts a task, where it can be at once, without waiting for a thread.
    private func start(_ transfer: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate { await transfer() }
        } else {
            Task { await transfer() }
        }
    }

    @concurrent private func transfer(_ request: HTTPClientRequest) async {
        do {
            let response = try await owner.client.execute(request, deadline: .distantFuture)
            let kept = try receive(response)
            for try await part in response.body {
                guard await receive(part) else { break }
            }
            if let kept { resumeCaller(with: kept) }
            finish(.success(()))
        } catch {
            finish(.failure(AsyncHTTPClientFailure.error(for: error, at: stage)))
        }
        await content.close()
    }
}
#endif
