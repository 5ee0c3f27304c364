/// Starts tasks for layers: work that outlives the call that caused it, behind one value that a test can replace.
///
/// Every modifier that has such work takes one as `spawner:`. ``SystemSpawner`` is the default; `TrackingSpawner` in
/// `DecorumTesting` lets a test wait for the work to end.
public protocol TaskSpawner: Sendable {
    /// Starts work that continues when the caller has ended or was cancelled.
    ///
    /// - Parameter work: The work; it is started at once, on no actor, with the task-local values of the caller.
    /// - Returns: The task; only the layer that started it cancels it, when it no longer needs it.
    @discardableResult func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never>
}

/// Starts unstructured tasks on the executor and with the priority that an app chooses.
public struct SystemSpawner: TaskSpawner {
    private let executor: (any TaskExecutor)?
    private let priority: TaskPriority?

    /// Creates a spawner.
    ///
    /// - Parameters:
    ///   - executor: The executor of the tasks; nil for the global executor.
    ///   - priority: The priority of the tasks; nil for the priority of the caller.
    public init(executor: (any TaskExecutor)? = nil, priority: TaskPriority? = nil) {
        self.executor = executor
        self.priority = priority
    }

    /// Starts an unstructured task.
    @discardableResult public func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor, priority: priority) { await work() }
    }
}
