import Decorum
import Foundation
import HTTPTypes

/// The content of a response while it is recorded, which outlives its reader.
///
/// A task reads the content, one chunk for each that the reader asks for. When the reader drops the content, or the
/// cassette is finished, the task reads on to the end or to the limits for a remainder.
final class RecordedTransfer: Sendable {
    enum End: Sendable {
        case finished(trailers: HTTPFields)
        case failed(any Error)
        /// A limit for the remainder was reached.
        case cut
    }

    struct Arrival: Sendable {
        var content = Data()
        var chunks: [RecordedResponse.Chunk] = []
        /// Whether the reader has read more than is recorded.
        var isOverLimit = false
        var end: End?
    }

    private struct State {
        var arrival = Arrival()
        var lastArrival: ContinuousClock.Instant
        var body: Body?
        var task: Task<Void, Never>?
        var unread: [Data] = []
        var isWanted = false
        var isDropped = false
        var isLast = false
        var remainder: Int

        var readsOn: Bool { isDropped || isLast }
    }

    private let length: Int64?
    private let limit: Int
    private let remainder: CassetteRules.Remainder
    private let clock: any DatedClock
    private let spawner: any TaskSpawner
    private let monitor: Monitor<State>

    init(_ body: Body, rules: CassetteRules, clock: any DatedClock, spawner: any TaskSpawner) {
        length = body.length
        limit = rules.bodyLimit
        remainder = rules.remainder
        self.clock = clock
        self.spawner = spawner
        monitor = Monitor(State(lastArrival: clock.now, body: body, remainder: rules.remainder.bytes))
    }

    func body(typed mediaType: String?) -> Body {
        let lease = Lease(transfer: self)
        return Body(length: length, replay: .once) { _ in RecordedBodyReader(lease: lease) }.typed(as: mediaType)
    }

    var arrival: Arrival { monitor.read(\.arrival) }

    func begin() { readOn(isDropped: false) }

    func end() async {
        try? await monitor.wait { $0.arrival.end != nil }
        // The waiting task may have been cancelled.
        finish(.cut)
    }

    func stop() {
        if monitor.read(\.readsOn) { finish(.cut) }
    }

    fileprivate func drop() { readOn(isDropped: true) }

    private func readOn(isDropped: Bool) {
        let isFirst = monitor.update { state in
            let isFirst = !state.readsOn && state.arrival.end == nil
            if isDropped { (state.isDropped, state.unread) = (true, []) } else { state.isLast = true }
            return isFirst
        }
        guard isFirst else { return }
        start()
        spawner.spawn { [self, remainder] in
            await remainder.wait { [monitor] in try await monitor.wait { $0.arrival.end != nil } }
            finish(.cut)
        }
    }

    /// The next chunk for the reader, and the trailer fields after the last one.
    fileprivate func next() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        start()
        let isDiscarding = Body.isDiscarding
        monitor.update { $0.isWanted = $0.unread.isEmpty }
        try await withTaskCancellationHandler {
            try await monitor.wait { !$0.unread.isEmpty || $0.arrival.end != nil }
        } onCancel: {
            if isDiscarding { drop() } else { finish(.failed(CancellationError())) }
        }
        let (chunk, end) = monitor.update { state in
            (state.unread.isEmpty ? nil : state.unread.removeFirst(), state.arrival.end)
        }
        if let chunk { return (chunk, nil) }
        switch end {
        case .finished(let trailers): return (nil, trailers)
        case .failed(let error): throw error
        // The cassette was finished before the reader came here.
        case .cut, nil: throw TransportError(.limitExceeded, at: .body)
        }
    }

    private func start() {
        guard let body = monitor.update({ $0.body.take() }) else { return }
        let task = spawner.spawn { [self] in await read(body) }
        let hasEnded = monitor.update { state in
            state.task = task
            return state.arrival.end != nil
        }
        if hasEnded { task.cancel() }
    }

    private func read(_ body: Body) async {
        do {
            var reader = try await body.open()
            while true {
                try await monitor.wait { $0.isWanted || $0.readsOn }
                guard let chunk = try await reader.next() else { break }
                guard accept(chunk) else { return finish(.cut) }
            }
            finish(.finished(trailers: reader.trailers ?? [:]))
        } catch {
            finish(.failed(error))
        }
    }

    /// Keeps a chunk; returns false if it is beyond the limits for the remainder.
    private func accept(_ chunk: Data) -> Bool {
        let now = clock.now
        return monitor.update { state in
            if state.readsOn {
                state.remainder -= chunk.count
                guard state.remainder >= 0, state.arrival.content.count + chunk.count <= limit else { return false }
            }
            let pause = state.lastArrival.duration(to: now)
            state.lastArrival = now
            state.arrival.chunks.append(.init(pause: pause.inMilliseconds, length: chunk.count))
            if state.arrival.content.count + chunk.count <= limit {
                state.arrival.content.append(chunk)
            } else {
                state.arrival.isOverLimit = true
            }
            state.isWanted = false
            if !state.isDropped { state.unread.append(chunk) }
            return true
        }
    }

    private func finish(_ end: End) {
        let task = monitor.update { state in
            guard state.arrival.end == nil else { return nil as Task<Void, Never>? }
            state.arrival.end = end
            state.body = nil
            return state.task.take()
        }
        task?.cancel()
    }

    /// The right of a reader to the content; the last holder to release it drops the content.
    fileprivate final class Lease: Sendable {
        let transfer: RecordedTransfer

        init(transfer: RecordedTransfer) {
            self.transfer = transfer
        }

        deinit { transfer.drop() }
    }
}

private struct RecordedBodyReader: BodyReader {
    let lease: RecordedTransfer.Lease
    private(set) var trailers: HTTPFields?

    init(lease: RecordedTransfer.Lease) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        let (chunk, trailers) = try await lease.transfer.next()
        if let trailers, !trailers.isEmpty { self.trailers = trailers }
        return chunk
    }
}

extension Duration {
    fileprivate var inMilliseconds: Int {
        Int(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
}
