/// Waits for a value, or fails with a sentence when it takes too long.
///
/// The operation runs in a separate task, which is cancelled at the end and not awaited: a subject that hangs must not
/// hang its suite. The time is counted in many short sleeps. In a busy process each of them waits for a thread as the
/// operation does, so the operation gets as many turns as it would in an idle one.
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
