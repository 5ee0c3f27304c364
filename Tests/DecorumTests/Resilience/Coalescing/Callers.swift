/// Callers on the main actor, who have all called before the test goes on.
@MainActor enum Callers {
    /// Starts callers, and returns when each of them waits for something, or has ended.
    static func start<Result: Sendable>(
        _ count: Int = 1, _ call: @escaping @MainActor @Sendable (_ number: Int) async throws -> Result
    ) async -> [Task<Result, any Error>] {
        let tasks = (0..<count).map { number in Task { @MainActor in try await call(number) } }
        // The actor takes its jobs in the order in which they came, and a call runs on it until it waits.
        await Task { @MainActor in }.value
        return tasks
    }
}
