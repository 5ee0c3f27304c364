import Decorum
import DecorumTesting
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
}
