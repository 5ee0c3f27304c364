import Decorum
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct SimulatedClockTests {
    @Test func `Tasks of each kind run in the same order twice`() throws {
        let first = try order(seed: nil)
        #expect(first.count == 21)
        #expect(try order(seed: nil) == first)

        let shuffled = try order(seed: 1)
        #expect(shuffled != first && shuffled.sorted() == first.sorted())
        #expect(try order(seed: 1) == shuffled)
        #expect(try order(seed: 2) != shuffled)
    }

    /// Runs tasks of each kind, which wait in each way, and returns what they did in its order.
    private func order(seed: UInt64?) throws -> [String] {
        let clock = SimulatedClock(shufflingTasksBy: seed.map { SeededGenerator(seed: $0) })
        return try clock.run {
            let log = Log()
            let tasks = [
                Task { await concurrently { await log.add("task") } }, Task.detached { await log.add("detached") },
            ]
            await withDiscardingTaskGroup { group in
                for child in 0..<8 {
                    group.addTask {
                        await log.add("child \(child)")
                        try? await clock.sleep(for: .seconds(child % 3))
                        await log.add("child \(child) at \(clock.time)")
                    }
                }
            }
            async let last: Void = log.add("async let")
            await withCheckedContinuation { continuation in
                _ = Task(priority: .background) { continuation.resume() }
            }
            await log.add("continuation")
            await last
            for task in tasks { await task.value }
            let sleeper = Task { try await clock.sleep(for: .seconds(60)) }
            await Task.yield()
            sleeper.cancel()
            await log.add("\(await sleeper.result) at \(clock.time)")
            return await log.entries
        }
    }

    @Test func `Other tasks of the process run as before`() async throws {
        let turns = Monitor(0)
        let outside = Task.detached {
            while turns.increment() < 100 { await Task.yield() }
        }
        try SimulatedClock().run { for _ in 0..<1000 { await Task.yield() } }
        await outside.value
        #expect(turns.state == 100)
    }

    @Test func `A clock keeps its time and its sleepers from run to run, and throws the error of the work`() throws {
        let clock = SimulatedClock()
        let start = clock.date
        let woken = Monitor(false)
        try clock.run {
            Task {
                try await clock.sleep(for: .seconds(10))
                woken.update { $0 = true }
            }
            try await clock.sleep(for: .seconds(4))
            // A time that is over.
            try await clock.sleep(until: clock.now - .seconds(1), tolerance: nil)
        }
        #expect(clock.time == .seconds(4) && !woken.state)
        try clock.run { try await clock.sleep(for: .seconds(7)) }
        #expect(clock.time == .seconds(11) && woken.state && clock.date == start + 11)
        #expect(throws: Log.Failure()) { try clock.run { throw Log.Failure() } }
    }

    @Test func `Work that waits in real time, for nothing or without end is refused`() {
        let refusals: [(String, @Sendable (SimulatedClock) async throws -> Void)] = [
            ("No task is ready", { _ in try await Gate().wait() }),
            ("No task is ready", { _ in try await Task.sleep(for: .seconds(1)) }),
            ("The work has not ended", { try await $0.sleep(until: $0.now + .seconds(1 << 40), tolerance: nil) }),
            ("A simulation runs on this thread", { _ in try SimulatedClock().run {} }),
            ("Tasks run on while", { _ in while !Task.isCancelled { await Task.yield() } }),
            ("A task ran on another thread", { _ in await resumedByThread() }),
        ]
        for (reason, work) in refusals {
            let clock = SimulatedClock(jobLimit: 1000)
            let error = #expect(throws: SimulationError.self) { try clock.run { try await work(clock) } }
            #expect(error?.description.hasPrefix(reason) == true)
        }
        // The main actor may be quicker, so that the reason is one of two.
        #expect(throws: SimulationError.self) { try SimulatedClock().run { await MainActor.run {} } }
    }
}

private func resumedByThread() async {
    await withCheckedContinuation { continuation in
        Task {
            let outside = Thread { continuation.resume() }
            outside.start()
            while !outside.isFinished {}
        }
    }
}

@concurrent private func concurrently(_ work: @Sendable () async -> Void) async { await work() }

private actor Log {
    struct Failure: Error, Equatable {}

    private(set) var entries: [String] = []

    func add(_ entry: String) { entries.append(entry) }
}
