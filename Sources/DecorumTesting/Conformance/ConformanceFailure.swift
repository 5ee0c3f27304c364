/// What a subject did that a case of a conformance suite forbids.
public struct ConformanceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened, in a sentence.
    public let description: String

    /// Creates a failure.
    ///
    /// - Parameter description: What happened, in a sentence.
    public init(_ description: String) {
        self.description = description
    }
}

/// Throws a failure unless a condition holds.
func require(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(ConformanceFailure) {
    guard condition else { throw ConformanceFailure(sentence()) }
}

/// Throws a failure unless two values are equal.
func requireEqual<Value: Equatable>(
    _ value: Value, _ expected: Value, _ what: @autoclosure () -> String
) throws(ConformanceFailure) {
    try require(value == expected, "\(what()): \(value) in place of \(expected).")
}

/// Waits for a value, or fails with a sentence when it takes too long.
///
/// What is waited for runs in a task of its own, which is cancelled in the end and then left alone: a subject that
/// hangs must not hang its suite.
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
        try await Task.sleep(for: limit)
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
