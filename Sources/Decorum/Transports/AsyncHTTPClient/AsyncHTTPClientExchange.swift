#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import Synchronization

/// One request and its response, from the first byte asked for to the last one received.
///
/// A task of its own executes the request and takes the body as it comes, so that whoever watches over the exchange
/// can end it without ending the task of its caller. It ends once, and what comes later is ignored.
final class AsyncHTTPClientExchange: TransportExchange {
    private struct State {
        var parties = Parties()
        var hasHead = false
        var end: Result<Void, any Error>?
        var lastProgress: ContinuousClock.Instant

        var chunks: [Data] = []
        var waiting = 0

        /// Ends the exchange and returns whom to tell; nil where it has ended before.
        mutating func end(with end: Result<Void, any Error>) -> Parties? {
            guard self.end == nil else { return nil }
            self.end = end
            defer { parties = Parties() }
            return parties
        }
    }

    /// Whoever is under way or waits.
    private struct Parties {
        var transfer: Task<Void, Never>?
        var head: CheckedContinuation<Response, any Error>?
        var reading: Task<ByteBuffer?, any Error>?
        var reader: CheckedContinuation<Void, Never>?
        var producer: CheckedContinuation<Void, Never>?
    }

    // What waits for the reader, beyond which the server is held back.
    private static let bound = 256 << 10

    private let content: AsyncHTTPClientContent
    private let owner: AsyncHTTPClientOwner
    private let method: HTTPRequest.Method
    private let url: String?
    private let idleTimeout: Duration
    private let watch: IdleWatch
    private let state: Mutex<State>

    init(
        _ request: borrowing Request, content: AsyncHTTPClientContent, by owner: AsyncHTTPClientOwner,
        idleTimeout: Duration, watch: IdleWatch
    ) {
        self.content = content
        self.owner = owner
        method = request.head.method
        url = request.urlText
        self.idleTimeout = idleTimeout
        self.watch = watch
        state = Mutex(State(lastProgress: watch.clock.now))
    }

    /// Sends the request and waits for the head of the response.
    func response(to request: HTTPClientRequest) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let end = state.withLock { state in
                    if state.end == nil { state.parties.head = continuation }
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
            if state.end == nil { state.parties.transfer = transfer }
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
            if let kept { hand(out: kept) }
            finish(.success(()))
        } catch {
            finish(.failure(AsyncHTTPClientFailure.error(for: error, at: stage)))
        }
        await content.close()
    }
}

/// What the transfer tells.
extension AsyncHTTPClientExchange {
    /// The stage that a failure would be at now.
    private var stage: TransportError.Stage {
        state.withLock { $0.hasHead ? .body : .head }
    }

    /// Hands out a response, or returns one without a body, to keep until its connection is free for the next request.
    private func receive(_ response: HTTPClientResponse) throws -> Response? {
        guard response.history.count == 1 else {
            throw TransportError(.other, at: .head, underlying: RedirectingClientError())
        }
        guard let head = HTTPResponse(response) else { throw TransportError(.malformedResponse, at: .head) }
        let answer = answer(head)
        guard !answer.body.isEmpty else { return answer }
        hand(out: answer)
        return nil
    }

    private func hand(out response: Response) {
        let now = watch.clock.now
        let waiter = state.withLock { state in
            state.hasHead = true
            state.lastProgress = now
            return state.parties.head.take()
        }
        waiter?.resume(returning: response)
    }

    private func answer(_ head: HTTPResponse) -> Response {
        var metadata = ResponseMetadata()
        metadata.source = .network
        metadata.urlText = url
        guard method != .head, head.status != .noContent, head.status != .notModified, head.contentLength != 0
        else { return Response(head: head, metadata: metadata) }
        let lease = TransferLease(self)
        let body = Body(trustedLength: head.contentLength, replay: .once) { _ in AsyncHTTPClientBodyReader(lease) }
        return Response(head: head, body: body, metadata: metadata)
    }

    /// Takes a part of the body and waits until there is room for the next; false once nobody wants it.
    private func receive(_ part: ByteBuffer) async -> Bool {
        // The bytes are copied before the closure returns.
        let data = unsafe part.withUnsafeReadableBytes { unsafe Data($0) }
        let now = watch.clock.now
        let (reader, isFull, isWanted) = state.withLock { state in
            guard state.end == nil else { return (state.parties.reader.take(), false, false) }
            state.lastProgress = now
            if !data.isEmpty { state.chunks.append(data) }
            state.waiting += data.count
            return (state.parties.reader.take(), state.waiting >= Self.bound, true)
        }
        reader?.resume()
        return isFull ? await waitForRoom() : isWanted
    }

    private func waitForRoom() async -> Bool {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                guard state.end == nil, state.waiting >= Self.bound else { return true }
                state.parties.producer = continuation
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
        let reading = Task { try await source.next() }
        let isWanted = state.withLock { state in
            if state.end == nil { state.parties.reading = reading }
            return state.end == nil
        }
        guard isWanted else {
            reading.cancel()
            throw CancellationError()
        }
        let piece = await reading.result
        let now = watch.clock.now
        state.withLock { state in
            state.parties.reading = nil
            state.lastProgress = now
        }
        do {
            return try piece.get()
        } catch {
            throw UnreadableContentError(underlying: error)
        }
    }
}

/// What the reader of the response's body asks for.
extension AsyncHTTPClientExchange {
    /// Takes what has arrived of the body, or waits for it; nothing at its end.
    func arrivals() async throws -> [Data] {
        if Task.isCancelled { cancel() }
        if let chunks = try take() { return chunks }
        return try await withTaskCancellationHandler {
            while true {
                await waitForArrivals()
                if let chunks = try take() { return chunks }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Takes what has arrived; nil where nothing has, and the end has not either.
    private func take() throws -> [Data]? {
        let (chunks, producer) = try state.withLock { state in
            guard state.chunks.isEmpty else {
                let chunks = state.chunks
                state.chunks = []
                state.waiting = 0
                if state.parties.producer != nil { state.lastProgress = watch.clock.now }
                return (chunks as [Data]?, state.parties.producer.take())
            }
            try state.end?.get()
            return (state.end == nil ? nil : [], nil)
        }
        producer?.resume()
        return chunks
    }

    private func waitForArrivals() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                guard state.chunks.isEmpty, state.end == nil else { return true }
                state.parties.reader = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

/// Ends.
extension AsyncHTTPClientExchange {
    /// When the exchange fails unless something is sent or received; nil once it has ended.
    var deadline: ContinuousClock.Instant? {
        state.withLock { state in
            guard state.end == nil else { return nil }
            // The time stands still while it is not the server who is waited for.
            let isOurTurn = state.parties.producer != nil || (state.parties.reading != nil && !state.hasHead)
            return (isOurTurn ? watch.clock.now : state.lastProgress).advanced(by: idleTimeout)
        }
    }

    /// Fails the exchange when nothing was sent or received for too long.
    func timeOut() {
        let end = { @Sendable [self] in finish(.failure(TransportError(.timedOut, at: stage))) }
        guard let connections = owner.connections else {
            end()
            return
        }
        // First, so that a request that follows upon the failure does not go to a connection that is dead.
        connections.retire(silentFor: idleTimeout, then: end)
    }

    /// Ends the exchange because nobody wants it any more; what has arrived is dropped.
    func cancel() {
        finish(.failure(CancellationError()), isUnwanted: true)
    }

    private func finish(_ end: Result<Void, any Error>, isUnwanted: Bool = false) {
        let parties = state.withLock { state in
            let parties = state.end(with: end)
            if isUnwanted {
                state.chunks = []
                state.end = end
            }
            return parties
        }
        guard let parties else { return }
        watch.remove(self)
        owner.transfers.end()
        if case .failure(let error) = end {
            parties.transfer?.cancel()
            parties.head?.resume(throwing: error)
        }
        parties.reading?.cancel()
        parties.reader?.resume()
        parties.producer?.resume()
    }
}
#endif
