import Decorum
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct SimulatedClockTests {
    @Test func `Tasks of each kind run in the same order twice`() throws {
        let first = try order(seed: nil)
        #expect(first.count == 26)
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
            let task = Task {
                await log.add("task")
                await concurrently { await log.add("task again") }
            }
            let detached = Task.detached {
                await Task.yield()
                await log.add("detached")
            }
            await withDiscardingTaskGroup { group in
                for child in 0..<8 {
                    group.addTask {
                        await log.add("child \(child)")
                        try? await clock.sleep(until: clock.now + .seconds(child % 3), tolerance: nil)
                        await log.add("child \(child) at \(clock.time)")
                    }
                }
            }
            async let last: Void = log.add("async let")
            let value = await withCheckedContinuation { continuation in
                _ = Task(priority: .background) {
                    await log.add("background")
                    continuation.resume(returning: "continuation")
                }
            }
            await log.add(value)
            await last
            await task.value
            await detached.value
            let sleeper = Task { try await clock.sleep(until: clock.now + .seconds(60), tolerance: nil) }
            await Task.yield()
            sleeper.cancel()
            await log.add("\(await sleeper.result) at \(clock.time)")
            for await number in AsyncStream(unfolding: { [count = Log()] in await count.next(below: 3) }) {
                await log.add("element \(number)")
            }
            return await log.entries
        }
    }

    @Test func `Other tasks of the process run as before`() async throws {
        let log = Log()
        let outside = Task.detached {
            for number in 0..<100 {
                await log.add("\(number)")
                await Task.yield()
            }
        }
        let time = try SimulatedClock().run {
            for _ in 0..<1000 { await Task.yield() }
            return await log.entries.count >= 0
        }
        #expect(time)
        await outside.value
        #expect(await log.entries.count == 100)
    }

    @Test func `A clock keeps its time and its sleepers from run to run`() throws {
        let clock = SimulatedClock()
        let start = clock.date
        let woken = Monitor(false)
        try clock.run {
            Task {
                try await clock.sleep(until: clock.now + .seconds(10), tolerance: nil)
                woken.update { $0 = true }
            }
            try await clock.sleep(until: clock.now + .seconds(4), tolerance: nil)
        }
        #expect(clock.time == .seconds(4) && !woken.state)
        try clock.run { try await clock.sleep(until: clock.now + .seconds(7), tolerance: nil) }
        #expect(clock.time == .seconds(11) && woken.state)
        #expect(clock.date == start + 11)
    }

    @Test func `A time that is over and a time without end neither wait nor trap`() throws {
        let clock = SimulatedClock()
        try clock.run {
            try await clock.sleep(until: clock.now - .seconds(1), tolerance: nil)
            try await clock.sleep(until: clock.now, tolerance: nil)
        }
        #expect(clock.time == .zero)
        let error = #expect(throws: SimulationError.self) {
            try clock.run { try await clock.sleep(until: clock.now + .seconds(1 << 40), tolerance: nil) }
        }
        #expect(error?.description.hasPrefix("The work has not ended after") == true)
    }

    @Test func `The error of the work is thrown`() {
        #expect(throws: Log.Failure()) { try SimulatedClock().run { throw Log.Failure() } }
    }

    @Test func `Work that waits in real time, or for nothing, is refused`() {
        let waits: [@Sendable () async throws -> Void] = [
            { try await Gate().wait() },
            { try await VirtualClock().sleep(until: .now + .seconds(1), tolerance: nil) },
            { try await Task.sleep(for: .seconds(1)) },
        ]
        for wait in waits {
            let error = #expect(throws: SimulationError.self) { try SimulatedClock().run { try await wait() } }
            #expect(error?.description.hasPrefix("No task is ready") == true)
        }
        // The main actor may have been quicker.
        #expect(throws: SimulationError.self) { try SimulatedClock().run { await MainActor.run {} } }
    }

    @Test func `Work that is given back from another thread is refused`() {
        let error = #expect(throws: SimulationError.self) {
            let clock = SimulatedClock()
            try clock.run {
                await withCheckedContinuation { continuation in
                    Task {
                        let outside = Thread { continuation.resume() }
                        outside.start()
                        while !outside.isFinished {}
                    }
                }
            }
        }
        #expect(error?.description.hasPrefix("A task ran on another thread") == true)
    }

    @Test func `A simulation in a simulation, and a loop without end, are refused`() {
        let clock = SimulatedClock()
        for inner in [clock, SimulatedClock()] {
            let nested = #expect(throws: SimulationError.self) { try clock.run { try inner.run {} } }
            #expect(nested?.description.hasPrefix("A simulation runs on this thread") == true)
        }
        let restless = #expect(throws: SimulationError.self) {
            try SimulatedClock(jobLimit: 1000).run { while !Task.isCancelled { await Task.yield() } }
        }
        #expect(restless?.description.hasPrefix("Tasks run on while") == true)
    }

    @Test func `100,000 sleepers wake in the order of their instants`() throws {
        let clock = SimulatedClock()
        let woken = Monitor<[Duration]>([])
        try clock.run {
            let generator = SeededGenerator(seed: 1)
            for _ in 0..<100_000 {
                let instant = clock.now + .milliseconds(Int(generator.uniform() * 1e6))
                Task {
                    try? await clock.sleep(until: instant, tolerance: nil)
                    woken.update { $0.append(clock.time) }
                }
            }
            try await woken.wait { $0.count == 100_000 }
        }
        #expect(woken.state.count == 100_000 && woken.state == woken.state.sorted())
    }
}

@concurrent private func concurrently(_ work: @Sendable () async -> Void) async { await work() }

private actor Log {
    struct Failure: Error, Equatable {}

    private(set) var entries: [String] = []
    private var number = 0

    func add(_ entry: String) { entries.append(entry) }

    func next(below limit: Int) -> Int? {
        number += 1
        return number <= limit ? number : nil
    }
}
