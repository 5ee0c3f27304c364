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
