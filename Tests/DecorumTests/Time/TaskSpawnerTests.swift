import Decorum
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct TaskSpawnerTests {
    @Test func `Work outlives a cancelled caller`() async throws {
        let gate = Gate()
        let spawner = TrackingSpawner()
        let caller = Task {
            spawner.spawn {
                try? await gate.wait()
                #expect(!Task.isCancelled)
            }
        }
        caller.cancel()
        try await gate.waitForWaiting(1)
        #expect(spawner.runningCount == 1)

        gate.open()
        try await spawner.finished()
        #expect(spawner.runningCount == 0)
        #expect(spawner.spawnedCount == 1)
    }

    @Test func `Work is cancelled by its task`() async {
        let task = SystemSpawner().spawn {
            await #expect(throws: CancellationError.self) { try await Gate().wait() }
        }
        task.cancel()
        await task.value
    }

    @Test func `Work runs on the requested executor with the requested priority`() async {
        let executor = QueueExecutor()
        let task = SystemSpawner(executor: executor, priority: .utility).spawn {
            #expect(Task.currentPriority >= .utility)
            dispatchPrecondition(condition: .onQueue(executor.queue))
        }
        await task.value
        #expect(executor.jobCount.load(ordering: .relaxed) > 0)
    }
}

private final class QueueExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "tests")
    let jobCount = Atomic(0)

    func enqueue(_ job: consuming ExecutorJob) {
        jobCount.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        queue.async { [self] in
            // Safe: the jobs hold the executor, so it outlives them.
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
