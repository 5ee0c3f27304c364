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
