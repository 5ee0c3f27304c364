import Decorum
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct VirtualClockTests {
    let clock = VirtualClock(date: Date(timeIntervalSince1970: 1000))

    @Test func `The clock stands still until it is moved`() {
        let start = clock.now

        clock.advance(by: .milliseconds(1500))
        clock.advance(by: .seconds(-7))

        #expect(clock.now - start == .milliseconds(1500))
        #expect(clock.date == Date(timeIntervalSince1970: 1001.5))
    }

    @Test func `A sleeper wakes at its deadline and not before`() async throws {
        let start = clock.now
        async let woken: Duration = {
            try await clock.sleep(for: .seconds(10))
            return clock.now - start
        }()
        try await clock.waitForSleepers()

        clock.advance(by: .seconds(9))
        #expect(clock.pendingSleeps == [.seconds(1)])
        clock.advance(by: .seconds(1))

        #expect(try await woken == .seconds(10))
        #expect(clock.pendingSleeps.isEmpty)
    }

    @Test func `Many sleepers wake in any number of steps`() async throws {
        let woken = try await withThrowingTaskGroup(of: Int.self) { group in
            for seconds in 1...100 {
                group.addTask {
                    try await clock.sleep(for: .seconds(seconds))
                    return seconds
                }
            }
            try await clock.waitForSleepers(100)
            clock.advance(by: .seconds(50))
            #expect(clock.pendingSleeps.count == 50)
            clock.advance(by: .seconds(50))
            return try await group.reduce(0, +)
        }
        #expect(woken == 5050)
    }

    @Test func `A cancelled sleeper leaves`() async throws {
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        try await clock.waitForSleepers()

        sleeper.cancel()

        // At once, though the task may not have got a thread yet.
        #expect(clock.pendingSleeps.isEmpty)
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.pendingSleeps.isEmpty)
    }

    @Test func `A task that is cancelled already does not sleep`() async throws {
        let sleeper = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await clock.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test func `Waiting for sleepers that never come ends with an error`() async throws {
        await #expect(throws: NoSleeperError.self) { try await clock.waitForSleepers(within: .zero) }
    }
}
