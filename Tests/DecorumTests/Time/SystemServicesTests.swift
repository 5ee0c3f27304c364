import Decorum
import DecorumTesting
import Testing

@Suite struct RandomGeneratorTests {
    // The sequence that the authors of SplitMix64 publish for this seed.
    @Test func `The sequence is SplitMix64's`() {
        let generator = SeededGenerator(seed: 1_234_567)
        #expect(generator.next() == 6_457_827_717_110_365_317)
        #expect(generator.next() == 3_203_168_211_198_807_973)
    }

    @Test(arguments: [SeededGenerator(seed: 1), SystemGenerator()] as [any RandomGenerator])
    func `Uniform numbers fill the range from 0 up to 1`(generator: any RandomGenerator) {
        let numbers = (0..<10_000).map { _ in generator.uniform() }
        #expect(numbers.allSatisfy { (0..<1).contains($0) })
        let mean: Double = numbers.reduce(0, +) / 10_000
        #expect(abs(mean - 0.5) < 0.03)
    }

    @Test func `Many tasks get different numbers`() async {
        let generator = SeededGenerator(seed: 5)
        let numbers = await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<8 { group.addTask { (0..<500).map { _ in generator.next() } } }
            return await group.reduce(into: Set()) { $0.formUnion($1) }
        }
        #expect(numbers.count == 4000)
    }
}

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
