/// Lets other tasks run until a condition holds.
///
/// A loop that ignores cancellation would go on after the time limit of its test, and keep the whole run from its end.
///
/// - Throws: `CancellationError` when the task is cancelled first, as it is at the time limit of its test.
public func yield(
    isolation: isolated (any Actor)? = #isolation, until condition: () throws -> Bool
) async throws {
    while try !condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

/// Does work in a task that was cancelled before.
public func cancelled<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) async throws -> Result {
    let task = Task {
        while !Task.isCancelled { await Task.yield() }
        return try await work()
    }
    task.cancel()
    return try await task.value
}

/// Whether a condition is met within some seconds of real time, so that a test that fails does not wait for long.
///
/// In a busy process a turn may take seconds, so the condition gets a thousand turns at least.
public func soon(within limit: Duration = .seconds(5), _ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + limit
    var turns = 0
    while !condition() {
        guard turns < 1000 || ContinuousClock.now < deadline else { return false }
        turns += 1
        await Task.yield()
    }
    return true
}

extension Task where Success: Sendable {
    /// The value of the task, which is cancelled when the task that waits for it is.
    ///
    /// The time limit of a test cancels the test alone, and not a task that the test has created and waits for.
    public var joinedValue: Success {
        get async throws(Failure) {
            let result = await withTaskCancellationHandler {
                await self.result
            } onCancel: {
                self.cancel()
            }
            return try result.get()
        }
    }
}

extension Sequence where Element: Sendable {
    /// Calls a closure for each element, at most `width` at a time.
    ///
    /// It is for checks that mostly wait, such as for the deadline of a case that is expected to fail.
    public func forEach(
        atMost width: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws where Self: Sendable {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, element) in enumerated() {
                if index >= width { try await group.next() }
                group.addTask { try await body(element) }
            }
            try await group.waitForAll()
        }
    }
}

/// Callers on the main actor, which have all called before the test continues.
@MainActor public enum Callers {
    /// Starts callers, and returns when each of them is suspended or has ended.
    public static func start<Result: Sendable>(
        _ count: Int = 1, _ call: @escaping @MainActor @Sendable (_ number: Int) async throws -> Result
    ) async -> [Task<Result, any Error>] {
        let tasks = (0..<count).map { number in Task { @MainActor in try await call(number) } }
        // The actor runs its jobs in the order in which they were enqueued, and a call runs on it until it is suspended.
        await Task { @MainActor in }.value
        return tasks
    }
}
