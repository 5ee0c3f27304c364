public import Decorum

/// A spawner that knows which work is still under way, so that a test can wait for its end.
///
/// ```swift
/// let spawner = TrackingSpawner()
/// let connection = stub.caching(in: MemoryResponseStore(), spawner: spawner)
/// _ = try await connection.send(request)
/// _ = try await connection.send(request)  // The stored response is stale, and is validated in the background.
/// try await spawner.finished()
/// #expect(spawner.spawnedCount == 1)
/// ```
public final class TrackingSpawner: TaskSpawner {
    private struct State {
        var spawned = 0
        var running = 0
    }

    private let base: any TaskSpawner
    private let monitor = Monitor(State())

    /// Creates a spawner that has started nothing.
    ///
    /// - Parameter base: Starts the tasks.
    public init(_ base: any TaskSpawner = SystemSpawner()) {
        self.base = base
    }

    /// The number of tasks that were started so far.
    public var spawnedCount: Int { monitor.state.spawned }

    /// The number of tasks whose work has not ended.
    package var runningCount: Int { monitor.state.running }

    /// Starts work, and counts it until it has ended.
    @discardableResult public func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        monitor.update { state in
            state.spawned += 1
            state.running += 1
        }
        return base.spawn { [monitor] in
            await work()
            monitor.update { $0.running -= 1 }
        }
    }

    /// Waits until all work has ended, also work that is started meanwhile; throws only `CancellationError`.
    public func finished() async throws { try await monitor.wait { $0.running == 0 } }
}
