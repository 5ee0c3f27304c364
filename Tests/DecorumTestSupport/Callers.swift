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
