extension VirtualClock {
    /// Moves on, second by second, until a task has ended.
    ///
    /// In steps, since what is under way in the buffers of both sides may start the time anew.
    ///
    /// - Parameter task: The task, which is cancelled if it does not end.
    /// - Throws: ``ConformanceFailure`` after ten seconds of real time.
    package func advance(until task: Task<Void, any Error>) async throws {
        let advancing = Task {
            while !Task.isCancelled {
                advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(2))
            }
        }
        defer {
            advancing.cancel()
            task.cancel()
        }
        try await withDeadline(of: .seconds(10), "No time limit ended the exchange.") { _ = await task.result }
    }
}
