import Decorum
import Synchronization

/// The state of a transfer, or of an entry of an outbox.
public enum TransferState: String, Sendable, Hashable, Codable, CaseIterable {
    /// It was not started.
    case ready
    /// Bytes move, or a request is under way.
    case running
    /// It waits, for the reason in ``TransferProgress/waitsFor``.
    case waiting
    /// It was paused.
    case paused
    /// It has its result.
    case finished
    /// It has failed, and can be started again.
    case failed
    /// It was cancelled.
    case cancelled

    /// Whether it does not change by itself.
    public var isOver: Bool { self == .finished || self == .failed || self == .cancelled }
}

/// How far a transfer has come.
public struct TransferProgress: Sendable, Hashable {
    /// The state.
    public package(set) var state = TransferState.ready
    /// The number of bytes that have arrived, or that the server has stored.
    public package(set) var bytes: Int64 = 0
    /// The number of bytes of the whole; nil if it is not known.
    public package(set) var length: Int64?
    /// The bytes of a second, over the last few seconds; nil while nothing moves.
    public package(set) var rate: Double?
    /// The number of requests that have moved bytes, or tried to.
    public package(set) var attempts = 0
    /// What it waits for, such as “the network”; nil unless it waits.
    public package(set) var waitsFor: String?

    package init() {}

    /// The part that is done, from 0 to 1; nil if the length is not known.
    public var fraction: Double? { length.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 } }

    /// The time until the end at the present rate; nil if it is not known.
    public var timeLeft: Duration? {
        guard let length, let rate, rate > 0 else { return nil }
        return .seconds(min(Double(max(0, length - bytes)) / rate, 1e9))
    }
}

/// A download, an upload or a call that can be steered; one that nobody holds any longer is cancelled.
public final class Transfer<Value: Sendable>: Sendable {
    /// Moves the bytes once, from where an earlier run has stopped.
    typealias Work = @Sendable (_ run: TransferRun) async throws -> Value

    private struct State {
        var run: TransferRun?
        var task: Task<Void, Never>?
        var result: Result<Value, any Error>?
        var reason: String?
    }

    let principal: Principal?
    private let work: Work
    private let spawner: any TaskSpawner
    private let meter: TransferMeter
    private let current = Mutex(State())

    init(
        of principal: Principal? = nil, clock: any DatedClock, spawner: any TaskSpawner, _ work: @escaping Work
    ) {
        (self.principal, self.work, self.spawner) = (principal, work, spawner)
        meter = TransferMeter(clock: clock)
    }

    deinit { current.withLock { $0.task }?.cancel() }

    /// Begins, or goes on after a pause or a failure; without effect while it runs and after its end.
    public func start() { run(from: [.ready, .paused, .failed]) }

    /// Stops the bytes, and keeps what has arrived.
    public func pause() { stop(as: .paused, from: [.ready, .running, .waiting]) }

    /// Goes on after a pause.
    public func resume() { run(from: [.paused]) }

    /// Begins anew with the first byte, whatever the state.
    public func restart() { run(from: Set(TransferState.allCases), afresh: true) }

    /// Ends the transfer, for a reason without secrets, as it may be logged; ``value`` then throws `CancellationError`.
    public func cancel(_ reason: String? = nil) {
        stop(as: .cancelled, from: [.ready, .running, .waiting, .paused, .failed], because: reason)
    }

    /// Waits until a run that was paused or cancelled has written what has arrived, and let its file go.
    public func stopped() async { await current.withLock { $0.task }?.value }

    /// The state now.
    public var state: TransferState { progress.state }

    /// The reason of the cancellation; nil without one.
    public var cancellationReason: String? { current.withLock { $0.reason } }

    /// The priority of the requests that are sent from now on; nil for that of the request.
    public var priority: TaskPriority? {
        get { meter.priority.withLock { $0 } }
        set { meter.priority.withLock { $0 = newValue } }
    }

    /// How far it has come.
    public var progress: TransferProgress { meter.updates.value }

    /// The progress now, and each new one until the end, for a slow reader the newest; the stream keeps the transfer alive.
    public func progressUpdates() -> AsyncStream<TransferProgress> { meter.updates.stream(retaining: self) }

    /// The result; starts the transfer if nobody has, and throws the error of the last attempt, or `CancellationError`.
    ///
    /// A caller who is cancelled leaves, and the transfer goes on.
    public var value: Value {
        get async throws {
            run(from: [.ready])
            while true {
                for await progress in meter.updates.stream() where progress.state.isOver { break }
                try Task.checkCancellation()
                // A restart in the meantime has taken it away.
                if let result = current.withLock({ $0.result }) { return try result.get() }
            }
        }
    }

    private func run(from states: Set<TransferState>, afresh: Bool = false) {
        let former = current.withLock { current -> Task<Void, Never>? in
            guard states.contains(state) else { return nil }
            let (last, former) = (current.run, current.task)
            // A pause before the first attempt does not take back that the transfer is to begin anew.
            let isAfresh = afresh || last?.isAfresh == true && !meter.count.withLock { $0.hasBegun }
            let run = TransferRun(number: (last?.number ?? 0) + 1, isAfresh: isAfresh, meter: meter)
            meter.begin(run.number, afresh: isAfresh)
            current = State(run: run)
            current.task = spawner.spawn { [weak self, work] in
                // Two runs never write at the same time.
                await former?.value
                do {
                    try Task.checkCancellation()
                    let value = try await work(run)
                    self?.end(run, as: .finished, with: .success(value))
                } catch {
                    self?.end(run, as: .failed, with: .failure(error))
                }
            }
            return former
        }
        // Outside of the lock, since a cancellation calls handlers.
        former?.cancel()
    }

    private func end(_ run: TransferRun, as end: TransferState, with result: Result<Value, any Error>) {
        current.withLock { current in
            guard current.run?.number == run.number, !state.isOver else { return }
            // The failure of a run that a pause has ended.
            guard state != .paused || end == .finished else { return }
            // Those who wait for the end ask for the result then.
            current.result = result
            meter.stop(as: end)
        }
    }

    private func stop(as end: TransferState, from states: Set<TransferState>, because reason: String? = nil) {
        let task = current.withLock { current -> Task<Void, Never>? in
            guard states.contains(state) else { return nil }
            if end == .cancelled { (current.result, current.reason) = (.failure(CancellationError()), reason) }
            meter.stop(as: end)
            return current.task
        }
        task?.cancel()
    }
}

/// One run of a transfer, which tells its progress; what an earlier run tells is too late.
struct TransferRun: Sendable {
    let number: Int
    /// Whether what an earlier run has moved does not count.
    let isAfresh: Bool
    let meter: TransferMeter

    /// A run whose progress nobody reads.
    static func untold(_ clock: any DatedClock) -> TransferRun {
        TransferRun(number: 0, isAfresh: false, meter: TransferMeter(clock: clock))
    }

    /// The largest offset that the run has come to.
    var reach: Int64 { meter.count.withLock { $0.reach } }

    func prioritized(_ request: Request) -> Request {
        var request = request
        if let priority = meter.priority.withLock({ $0 }) { request.options.priority = priority }
        return request
    }

    func begin(at offset: Int64, of length: Int64?) {
        meter.change(in: number) { count, now in
            count.move(to: offset)
            (count.hasBegun, count.told) = (true, (offset, now))
            guard count.isMoving else { return }
            count.tell(.running)
            count.progress.attempts += 1
            count.progress.length = length ?? count.progress.length
        }
    }

    func add(_ count: Int) { move { $0 + Int64(count) } }

    /// Tells all bytes up to an offset; content may be read a second time.
    func advance(to offset: Int64) { move { max($0, offset) } }

    /// Tells that the run waits, or with nil that it goes on.
    func wait(for reason: String?) {
        meter.change(in: number) { count, _ in
            if count.isMoving { count.tell(reason == nil ? .running : .waiting, for: reason) }
        }
    }

    private func move(_ move: (Int64) -> Int64) {
        meter.change(in: number) { count, now in
            count.move(to: move(count.bytes))
            let (told, rate) = (count.told ?? (count.bytes, now), count.progress.rate)
            let time = told.instant.duration(to: now)
            let isDue = time >= .milliseconds(100) || count.bytes == count.progress.length
            if isDue || count.told == nil { count.told = (count.bytes, now) }
            // One of several ranges may wait while others move.
            guard isDue, count.isMoving else { return }
            count.tell(.running)
            let latest = Double(count.bytes - told.bytes) / max(time / .seconds(1), 1e-6)
            // The rate follows a change within about three seconds.
            count.progress.rate = rate.map { $0 + min(1, time / .seconds(3)) * (latest - $0) } ?? latest
        }
    }
}

/// Measures the bytes of a transfer, and tells them at most ten times a second.
final class TransferMeter: Sendable {
    fileprivate struct Count {
        var number = 0
        var bytes: Int64 = 0
        var hasBegun = false
        var reach: Int64 = 0
        /// The bytes and the instant of the last telling.
        var told: (bytes: Int64, instant: ContinuousClock.Instant)?
        var progress = TransferProgress()

        var isMoving: Bool { progress.state == .running || progress.state == .waiting }

        mutating func move(to offset: Int64) { (bytes, reach) = (offset, max(reach, offset)) }

        mutating func tell(_ state: TransferState, for reason: String? = nil) {
            (progress.state, progress.waitsFor, progress.rate, progress.bytes) = (state, reason, nil, bytes)
        }
    }

    let updates = Updates(TransferProgress(), endingWith: \.state.isOver)
    fileprivate let priority = Mutex<TaskPriority?>(nil)
    private let clock: any DatedClock
    fileprivate let count = Mutex(Count())

    init(clock: any DatedClock) { self.clock = clock }

    func begin(_ number: Int, afresh: Bool) {
        change { count, _ in
            count = Count(number: number, bytes: afresh ? 0 : count.bytes, progress: count.progress)
            if afresh { count.progress.length = nil }
            count.tell(.running)
        }
    }

    func stop(as state: TransferState) { change { count, _ in count.tell(state) } }

    /// Changes the count if the run is the present one, and tells it within the lock, so that each change is told in its order.
    fileprivate func change(in number: Int? = nil, _ change: (inout Count, ContinuousClock.Instant) -> Void) {
        count.withLock { count in
            guard number == nil || number == count.number else { return }
            change(&count, clock.now)
            updates.update { $0 = count.progress }
        }
    }
}
