#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import Foundation
import NIOCore
import Synchronization

/// One request and its response, from the first byte asked for to the last one received.
///
/// A separate task executes the request and receives the body, so that a timeout can cancel that task and not the
/// caller's. It runs on an event loop of the client. An exchange ends once; later events are ignored.
final class AsyncHTTPClientExchange: TransportExchange {
    struct State {
        var waiters = Waiters()
        var hasHead = false
        var end: Result<Void, any Error>?
        var lastProgress: ContinuousClock.Instant

        /// The bytes that have arrived and were not read yet.
        var chunks: [Data] = []
        var byteCount = 0

        /// Takes the content if it has arrived as a whole, in one piece of this length, so that no reader has to wait.
        mutating func takeWhole(_ length: Int64?) -> Data? {
            guard case .success = end, chunks.count <= 1, length ?? Int64(byteCount) == byteCount else { return nil }
            defer { (chunks, byteCount) = ([], 0) }
            return chunks.first ?? Data()
        }
    }

    /// The tasks that are to be cancelled or resumed when the exchange ends.
    struct Waiters {
        var transfer: Task<Void, Never>?
        var head: CheckedContinuation<HTTPResponse, any Error>?
        var reading: Task<ByteBuffer?, any Error>?
        var reader: CheckedContinuation<Void, Never>?
        var producer: CheckedContinuation<Void, Never>?
    }

    // The number of unread bytes at which receiving pauses, so that the server is held back.
    static let bound = 256 << 10

    let content: AsyncHTTPClientContent
    let owner: AsyncHTTPClientOwner
    private let loop: EventLoopExecutor?
    let method: HTTPRequest.Method
    let authority: String
    let metadata: ResponseMetadata
    let limits: TransferLimits
    let beginning: ContinuousClock.Instant
    private let timings = RunningTimings()
    let watch: TimeLimitWatch
    let state: Mutex<State>

    init(
        _ request: borrowing Request, content: AsyncHTTPClientContent, by owner: AsyncHTTPClientOwner,
        authority: String, limits: TransferLimits, since beginning: ContinuousClock.Instant, watch: TimeLimitWatch
    ) {
        self.content = content
        self.owner = owner
        loop = owner.beginOnLoop()
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
        let head = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let end = state.withLock { state in
                    if state.end == nil {
                        state.waiters.head = continuation
                        state.waiters.transfer = Task(executorPreference: loop) { await self.transfer(request) }
                    }
                    return state.end
                }
                guard let end else { return watch.add(self) }
                continuation.resume(with: end.flatMap { .failure(TransportError(.other, at: .head)) })
            }
        } onCancel: {
            cancel()
        }
        return answer(head)
    }

    @concurrent private func transfer(_ request: HTTPClientRequest) async {
        do {
            let response = try await owner.client.execute(request, deadline: .distantFuture)
            let head = try head(of: response)
            if mayHaveContent(head) { resumeCaller(with: head) }
            for try await part in response.body {
                guard await receive(part) else { break }
            }
            // Without content, the caller waits until the connection can be used for the next request.
            if !mayHaveContent(head) { resumeCaller(with: head) }
            finish(.success(()))
        } catch {
            finish(.failure(AsyncHTTPClientFailure.error(for: error, at: stage)))
        }
        content.close()
    }
}

/// The events of the transfer.
extension AsyncHTTPClientExchange {
    /// The stage that a failure would be at now.
    var stage: TransportError.Stage {
        state.withLock { $0.hasHead ? .body : .head }
    }

    private func head(of response: HTTPClientResponse) throws -> HTTPResponse {
        guard response.history.count == 1 else {
            throw TransportError(.other, at: .head, underlying: RedirectingClientError())
        }
        guard let head = HTTPResponse(response) else { throw TransportError(.malformedResponse, at: .head) }
        timings.timings.firstByte = beginning.duration(to: watch.clock.now)
        let version = "\(response.version)"
        timings.timings.protocolVersion = version == "HTTP/2.0" ? "HTTP/2" : version
        return head
    }

    /// Resumes the caller, who takes longer to wake than content takes that has arrived with the head.
    private func resumeCaller(with head: HTTPResponse) {
        let now = watch.clock.now
        let waiter = state.withLock { state in
            (state.hasHead, state.lastProgress) = (true, now)
            return state.waiters.head.take()
        }
        waiter?.resume(returning: head)
    }

    private func mayHaveContent(_ head: HTTPResponse) -> Bool {
        method != .head && head.status != .noContent && head.status != .notModified && head.contentLength != 0
    }

    private func answer(_ head: HTTPResponse) -> Response {
        var metadata = metadata
        metadata.runningTimings = timings
        guard mayHaveContent(head) else { return Response(head: head, metadata: metadata) }
        if let content = state.withLock({ $0.takeWhole(head.contentLength) }) {
            return Response(head: head, body: Body(arrived: content), metadata: metadata)
        }
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
            throw TransportError.unreadableBody(error, at: stage)
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

    /// Takes the unread chunks; nil without any while the body has not ended.
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

/// The ways in which the exchange ends.
extension AsyncHTTPClientExchange {
    var timeLimit: TimeLimit? {
        state.withLock { state in
            guard state.end == nil else { return nil }
            // A slow reader, and slow content of the request before the head, do not count as the server's time.
            let awaitsClient = state.waiters.producer != nil || (state.waiters.reading != nil && !state.hasHead)
            return limits.next(
                after: awaitsClient ? watch.clock.now : state.lastProgress, at: state.hasHead ? .body : .head)
        }
    }

    func timeOut(at limit: TimeLimit) {
        guard isStill(at: limit) else { return }
        let end = { @Sendable [self] in finish(.failure(limits.error(at: limit, stage))) }
        guard let connections = owner.connections else {
            end()
            return
        }
        // Before the caller hears of it, whose next request would otherwise be sent on the dead connection.
        connections.retire(servingAuthority: authority, silentFor: limits.idleTimeout, then: end)
    }

    func cancel() {
        finish(.failure(CancellationError()), isUnwanted: true)
    }

    func finish(_ end: Result<Void, any Error>, isUnwanted: Bool = false) {
        let end = end.mapError {
            TransportError.locate(
                $0, at: metadata.url.flatMap { try? Origin($0) }, after: beginning.duration(to: watch.clock.now),
                method: method, url: metadata.url, routeName: metadata.routeName)
        }
        let waiters = state.withLock { state in
            let isRunning = state.end == nil
            if isRunning || isUnwanted { state.end = end }
            if isUnwanted { state.chunks = [] }
            defer { state.waiters = Waiters() }
            return isRunning ? state.waiters : nil
        }
        guard let waiters else { return }
        watch.remove(self)
        loop?.transferCount.subtract(1, ordering: .relaxed)
        owner.transfers.end()
        switch end {
        case .success: timings.end(after: beginning.duration(to: watch.clock.now))
        case .failure(let error):
            waiters.transfer?.cancel()
            waiters.head?.resume(throwing: error)
        }
        waiters.reading?.cancel()
        waiters.reader?.resume()
        waiters.producer?.resume()
    }
}

/// Reads the body of a response while it arrives.
struct AsyncHTTPClientBodyReader: BodyReader {
    private let lease: TransferLease<AsyncHTTPClientExchange>
    private var batch: ArraySlice<Data> = []

    init(_ lease: TransferLease<AsyncHTTPClientExchange>) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        if !Task.isCancelled, let chunk = batch.popFirst() { return chunk }
        batch = try await lease.exchange.receivedChunks()[...]
        return batch.popFirst()
    }

    var trailers: HTTPFields? { nil }
}
#endif
