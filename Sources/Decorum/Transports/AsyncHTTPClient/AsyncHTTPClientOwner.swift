#if AsyncHTTPClient
import AsyncHTTPClient
import NIOCore
import Synchronization

/// Holds on to a client, and shuts it down when it is let go, if it is ours.
///
/// A client that was forgotten ends the process in a debug build.
final class AsyncHTTPClientOwner: Sendable {
    let client: HTTPClient
    private let shutsDown: Bool
    private let loops: [EventLoopExecutor]
    private let transferCount = Atomic(0)

    init(_ client: HTTPClient, shutsDown: Bool) {
        self.client = client
        self.shutsDown = shutsDown
        loops = client.eventLoopGroup.makeIterator().map(EventLoopExecutor.init)
    }

    deinit {
        // It waits for nobody: this may be the thread of an event loop.
        if shutsDown { client.shutdown { _ in } }
    }

    /// Starts a task for a transfer on one of the client's event loops.
    ///
    /// Transfers one after the other share a loop, and thereby the thread of the connection that they use again.
    func start(_ transfer: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let number = transferCount.wrappingAdd(1, ordering: .relaxed).oldValue
        return Task(executorPreference: loops.isEmpty ? nil : loops[number % loops.count]) { [self] in
            await transfer()
            transferCount.wrappingSubtract(1, ordering: .relaxed)
        }
    }

    /// Waits until the event loops have done what they were given to do.
    func settle() async throws {
        for executor in loops { try await executor.loop.submit {}.get() }
    }
}

/// Runs a task on an event loop, where the client works too, which saves it hops from thread to thread.
final class EventLoopExecutor: TaskExecutor {
    let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Safe: the closure holds the executor while the job runs, and runs it once.
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
#endif
