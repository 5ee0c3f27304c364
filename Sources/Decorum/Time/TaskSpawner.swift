/// The tasks that layers start: work that outlives the call which caused it, in one value that a test can replace.
///
/// Every modifier that has such work takes one as `spawner:`. ``SystemSpawner`` is the default; `TrackingSpawner` in
/// `DecorumTesting` lets a test wait for the work to end.
public protocol TaskSpawner: Sendable {
    /// Starts work that goes on when the caller has ended or was cancelled.
    ///
    /// - Parameter work: What to do; it is started at once, on no actor, with the task-local values of the caller.
    /// - Returns: The task, which is cancelled by the layer that no longer needs it, and by nobody else.
    @discardableResult func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never>
}

/// Unstructured tasks, on the executor and with the priority that an app wants.
public struct SystemSpawner: TaskSpawner {
    private let executor: (any TaskExecutor)?
    private let priority: TaskPriority?

    /// Creates a spawner.
    ///
    /// - Parameters:
    ///   - executor: Where the tasks run; nil for the global executor.
    ///   - priority: The priority of the tasks; nil for that of the caller who causes one.
    public init(executor: (any TaskExecutor)? = nil, priority: TaskPriority? = nil) {
        self.executor = executor
        self.priority = priority
    }

    /// Starts a task that nobody waits for.
    @discardableResult public func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor, priority: priority) { await work() }
    }
}
