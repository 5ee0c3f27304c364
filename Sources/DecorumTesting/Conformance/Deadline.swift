/// Waits for a value, or fails with a sentence when it takes too long.
///
/// What is waited for runs in a task of its own, which is cancelled in the end and then left alone: a subject that
/// hangs must not hang its suite. The time is counted in many steps: where the tasks of a busy process wait long for a
/// thread, so does each step, and what is waited for gets as many turns.
func withDeadline<Value: Sendable>(
    of limit: Duration = .seconds(5), _ sentence: String, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let outcome = Monitor<Result<Value, any Error>?>(nil)
    let work = Task {
        do {
            let value = try await operation()
            outcome.update { $0 = $0 ?? .success(value) }
        } catch {
            outcome.update { $0 = $0 ?? .failure(error) }
        }
    }
    let alarm = Task {
        for _ in 0..<100 { try await Task.sleep(for: limit / 100) }
        outcome.update { $0 = $0 ?? .failure(ConformanceFailure(sentence)) }
    }
    defer {
        alarm.cancel()
        work.cancel()
    }
    try await outcome.wait { $0 != nil }
    guard let result = outcome.state else { throw CancellationError() }
    return try result.get()
}
