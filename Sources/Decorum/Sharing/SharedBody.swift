import Foundation
import HTTPTypes
import Synchronization

/// The body of a response that several callers read, each at a different speed.
///
/// If only one reader is left when reading starts, it reads the body itself. Otherwise a task reads a chunk when a reader
/// waits for one, and gives it to all readers. The transfer ends with the last reader.
final class SharedBody: Sendable {
    /// The number of bytes that wait in memory for each reader who is slower than the fastest; one chunk of any size may
    /// always wait.
    static let backlogLimit = 5 << 20

    private struct Reader {
        var chunks: ArraySlice<Data> = []
        var backlog = 0
        /// The wait for the next chunk; nil while the reader does not wait.
        var wait: LimitedWait<Data?>?
    }

    private enum Taken {
        case chunk(Data?)
        case wait(LimitedWait<Data?>)
    }

    private struct State {
        /// The body; nil once it is being read.
        var source: Body?
        var readers: [Int: Reader]
        /// The readers who were too slow.
        var leftBehind: Set<Int> = []
        var end: Result<HTTPFields?, any Error>?
        /// The task that reads the body.
        var transfer: Task<Void, Never>?
        /// The wait of that task for a change among the readers.
        var change: LimitedWait<Void>?

        /// Whether a reader waits for a chunk.
        var isWanted: Bool { readers.values.contains { $0.wait != nil } }

        mutating func nextChange(until instant: ContinuousClock.Instant? = nil) -> LimitedWait<Void> {
            let wait = LimitedWait<Void>(until: instant)
            change = wait
            return wait
        }

        /// Takes the next chunk or the end for a reader, or begins its wait.
        mutating func take(for number: Int) throws -> Taken {
            guard readers[number] != nil else {
                throw leftBehind.contains(number) ? CoalescingBacklogError() : CancellationError()
            }
            if let chunk = readers[number]?.chunks.popFirst() {
                readers[number]?.backlog -= chunk.count
                return .chunk(chunk)
            }
            if let end { return .chunk(try end.map { _ in nil }.get()) }
            let wait = LimitedWait<Data?>(until: nil)
            readers[number]?.wait = wait
            return .wait(wait)
        }

        /// Removes the readers who have no room for a chunk.
        mutating func leaveBehind(_ slow: [Int]) {
            for number in slow { readers[number] = nil }
            leftBehind.formUnion(slow)
        }
    }

    private let state: Mutex<State>
    private let watch: TimeLimitWatch
    private let spawner: any TaskSpawner
    private let backlogLimit: Int
    private let patience: Duration

    /// Makes a body for each reader of one body, who leaves when it is dropped.
    ///
    /// Readers may be behind by `backlogLimit` bytes. Beyond it they delay the others, for `patience` over the whole body.
    static func bodies(
        _ count: Int, sharing source: Body, watchedBy watch: TimeLimitWatch, spawner: any TaskSpawner,
        backlogLimit: Int = SharedBody.backlogLimit, patience: Duration = .seconds(1)
    ) -> [Body] {
        let shared = SharedBody(count, source, watch, spawner, backlogLimit, patience)
        return (0..<count).map { number in
            let reader = SharedBodyReader(body: shared, number: number)
            return Body(trustedLength: source.length, replay: .once) { _ in try await shared.open(reader) }
        }
    }

    private init(
        _ count: Int, _ source: Body, _ watch: TimeLimitWatch, _ spawner: any TaskSpawner, _ backlogLimit: Int,
        _ patience: Duration
    ) {
        let readers = Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, Reader()) })
        state = Mutex(State(source: source, readers: readers))
        (self.watch, self.spawner, self.backlogLimit, self.patience) = (watch, spawner, backlogLimit, patience)
    }

    private func open(_ reader: SharedBodyReader) async throws -> any BodyReader {
        let (source, isAlone) = state.withLock { state -> (Body?, Bool) in
            let source = state.source.take()
            let isAlone = source != nil && state.readers.count == 1
            if isAlone { state.readers = [:] }
            return (source, isAlone)
        }
        guard let source else { return reader }
        if isAlone { return try await source.open() }
        let held = HeldBody(source)
        let transfer = spawner.spawn { [self] in
            if let source = held.take() { await read(source) }
        }
        let isWanted = state.withLock { state in
            state.transfer = transfer
            return !state.readers.isEmpty
        }
        if !isWanted { transfer.cancel() }
        return reader
    }

    /// Reads a chunk whenever a reader waits for one, until the end; without readers, until the task is cancelled.
    private func read(_ source: Body) async {
        do {
            var reader = try await source.open()
            var patience = patience
            while true {
                try await waitUntilWanted()
                guard let chunk = try await reader.next() else { return finish(.success(reader.trailers)) }
                try await makeRoom(for: chunk.count, within: &patience)
                deliver(chunk)
            }
        } catch {
            finish(.failure(error))
        }
    }

    private func waitUntilWanted() async throws {
        while let change = state.withLock({ $0.isWanted ? nil : $0.nextChange() }) {
            _ = try await change.value(watchedBy: watch, orCancel: {})
        }
    }

    /// Waits for slow readers while another reader waits, and leaves them behind when the time for it is used up.
    private func makeRoom(for count: Int, within patience: inout Duration) async throws {
        while true {
            let start = watch.clock.now
            let (change, isDelay) = state.withLock { state -> (LimitedWait<Void>?, Bool) in
                let slow = state.readers.filter { $0.value.backlog > 0 && $0.value.backlog > backlogLimit - count }
                guard !slow.isEmpty else { return (nil, false) }
                guard state.isWanted else { return (state.nextChange(), false) }
                guard patience > .zero else {
                    state.leaveBehind(Array(slow.keys))
                    return (nil, false)
                }
                return (state.nextChange(until: start + patience), true)
            }
            guard let change else { return }
            _ = try await change.value(watchedBy: watch, orCancel: {})
            if isDelay { patience -= start.duration(to: watch.clock.now) }
        }
    }

    private func deliver(_ chunk: Data) {
        let waits = state.withLock { state in
            state.readers.keys.sorted().compactMap { number -> LimitedWait<Data?>? in
                if let wait = state.readers[number]?.wait.take() { return wait }
                state.readers[number]?.chunks.append(chunk)
                state.readers[number]?.backlog += chunk.count
                return nil
            }
        }
        for wait in waits { wait.deliver(.success(chunk)) }
    }

    private func finish(_ end: Result<HTTPFields?, any Error>) {
        let waits = state.withLock { state in
            state.end = end
            state.transfer = nil
            return state.readers.keys.sorted().compactMap { state.readers[$0]?.wait.take() }
        }
        for wait in waits { wait.deliver(end.map { _ in nil }) }
    }

    /// Takes the next chunk or the end for a reader, or waits for it.
    fileprivate func next(for number: Int) async throws -> Data? {
        guard !Task.isCancelled else {
            leave(number)
            throw CancellationError()
        }
        let (taken, change) = try state.withLock { state in (try state.take(for: number), state.change.take()) }
        change?.deliver(.success(()))
        switch taken {
        case .chunk(let chunk): return chunk
        case .wait(let wait):
            return try await wait.value(watchedBy: watch, orCancel: { [self] in leave(number) }) ?? nil
        }
    }

    /// Removes a reader who was cancelled or has dropped the body, and ends the transfer with the last one.
    fileprivate func leave(_ number: Int) {
        let (source, transfer, change) = state.withLock { state -> (Body?, Task<Void, Never>?, LimitedWait<Void>?) in
            state.readers[number] = nil
            state.leftBehind.remove(number)
            guard state.readers.isEmpty else { return (nil, nil, state.change.take()) }
            return (state.source.take(), state.transfer.take(), nil)
        }
        // The end of a transfer may need a lock of its own.
        withExtendedLifetime(source) {}
        transfer?.cancel()
        change?.deliver(.success(()))
    }

    fileprivate var trailers: HTTPFields? {
        state.withLock { state in
            guard case .success(let trailers) = state.end else { return nil }
            return trailers
        }
    }
}

/// One reader of a shared body, who leaves it when this is dropped.
private final class SharedBodyReader: BodyReader, Sendable {
    private let body: SharedBody
    private let number: Int

    init(body: SharedBody, number: Int) {
        self.body = body
        self.number = number
    }

    deinit {
        body.leave(number)
    }

    func next() async throws -> Data? { try await body.next(for: number) }

    var trailers: HTTPFields? { body.trailers }
}

/// A reader of a shared body is so far behind the others that its unread bytes are no longer kept.
public struct CoalescingBacklogError: DescribableError, Hashable {
    package init() {}

    /// A sentence that says what happened, and one that says how to avoid it.
    public var description: String {
        """
        More than \(SharedBody.backlogLimit >> 20) MiB waited for a slow reader of a body that it shares with others. \
        Read it faster, or set the request's option `allowsCoalescing` to false.
        """
    }
}
