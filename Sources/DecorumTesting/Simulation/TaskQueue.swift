import Decorum
import Foundation
import Synchronization

/// The parts of tasks that are ready to run in one simulation, which one thread runs, first come first served.
///
/// The runtime asks a hook of the process where to run a part of a task that has no executor of its own. Here, the hook gives
/// what becomes ready on the thread of a simulation to the queue of that simulation; all else goes where it would go without it.
final class TaskQueue: SerialExecutor, TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var isRunning = false
        var hasForeignJob = false
    }

    private let state = Mutex(State())
    private let generator: (any RandomGenerator)?
    private let limit: Int

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - generator: Chooses the order of the parts that are ready at the same moment; nil for first come, first served.
    ///   - limit: The largest number of parts that run one after the other while no time passes.
    init(shuffledBy generator: (any RandomGenerator)?, limit: Int) {
        self.generator = generator
        self.limit = limit
    }

    /// Whether a task that left the thread, such as for the main actor, has given work back from another thread.
    var hasForeignJob: Bool { state.withLock { $0.hasForeignJob } }

    func enqueue(_ job: UnownedJob) {
        let isOwn = TaskQueue.ofThread === self
        let isTaken = state.withLock { state in
            guard state.isRunning else { return false }
            state.ready.append(job)
            if !isOwn { state.hasForeignJob = true }
            return true
        }
        // A task that is cancelled after its simulation has to end somewhere.
        if !isTaken { globalConcurrentExecutor.enqueue(job) }
    }

    /// Makes the queue that of the calling thread while a closure runs.
    func occupyThread<Value>(_ body: () throws -> Value) throws -> Value {
        guard Self.isInstalled else { throw SimulationError.noHook }
        guard Self.ofThread == nil else { throw SimulationError.nested }
        let isFree = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFree else { throw SimulationError.nested }
        // The queue outlives the use of its address, which ends with this function.
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer {
            pthread_setspecific(Self.key, nil)
            state.withLock { $0.isRunning = false }
        }
        return try withExtendedLifetime(self) { try body() }
    }

    /// Runs what is ready, and what becomes ready by that, until nothing is.
    ///
    /// - Parameter interruption: Is called before each round, and may make more ready.
    /// - Throws: ``SimulationError`` when there is no end.
    func runReady(interruptedBy interruption: () -> Void = {}) throws {
        var (count, batch) = (0, [UnownedJob]())
        while true {
            interruption()
            // The two lists change places, so that neither is allocated again.
            batch.removeAll(keepingCapacity: true)
            state.withLock { swap(&$0.ready, &batch) }
            guard !batch.isEmpty else { return }
            count += batch.count
            if let generator { batch.shuffle(by: generator) }
            for job in batch { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
            guard count < limit else { throw SimulationError.restless }
        }
    }

    /// The queue of the simulation that runs on this thread.
    private static var ofThread: TaskQueue? {
        unsafe pthread_getspecific(key).map { unsafe Unmanaged<TaskQueue>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The place for the queue of each thread.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        unsafe pthread_key_create(&key, nil)
        return key
    }()

    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

    /// Whether the hook is set, which happens once in a process: false where the runtime does not show it.
    private static let isInstalled: Bool = {
        guard let symbol = unsafe dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else { return false }
        // The runtime declares the variable with this type; it is written once, in one store.
        unsafe symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, enqueue in
            if let queue = TaskQueue.ofThread { queue.enqueue(job) } else { enqueue(job) }
        }
        return true
    }()
}

extension Array {
    /// Puts the elements into a random order.
    fileprivate mutating func shuffle(by generator: any RandomGenerator) {
        for index in indices.dropFirst() {
            swapAt(index, Int(generator.uniform() * Double(index + 1)))
        }
    }
}
