import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Bodies that several callers read.
@Suite(.timeLimit(.minutes(3))) struct SharedBodyTests {
    let transfer = GatedTransfer()
    let spawner = TrackingSpawner()
    let clock = VirtualClock()

    let watch: TimeLimitWatch

    init() {
        watch = TimeLimitWatch(clock: clock)
    }

    private func bodies(
        _ count: Int, sharing body: Body, backlogLimit: Int = 5 << 20, patience: Duration = .seconds(3)
    ) -> [Body] {
        SharedBody.bodies(
            count, sharing: body, watchedBy: watch, spawner: spawner, backlogLimit: backlogLimit, patience: patience)
    }

    private func read(_ body: Body) async throws -> Int { try await body.data(upTo: 1 << 30).count }

    @Test func `A body with one reader left is read at its speed, without a task`() async throws {
        transfer.gate.open()
        var bodies = bodies(2, sharing: transfer.body(chunks: 10))
        bodies.removeLast()
        var reader = try await bodies[0].open()
        for count in 1...3 {
            _ = try await reader.next()
            #expect(transfer.chunksRead == count)
        }
        #expect(spawner.spawnedCount == 0)
    }

    @Test func `Every reader gets all bytes and the trailers`() async throws {
        transfer.gate.open()
        let bodies = bodies(5, sharing: transfer.body(chunks: 100, trailers: [.eTag: "1"]))
        try await withThrowingTaskGroup { group in
            for body in bodies {
                group.addTask {
                    let (data, trailers) = try await body.collect(upTo: 1 << 20)
                    #expect(data.count == 100_000)
                    #expect(BytePattern.matches(data))
                    #expect(trailers == [.eTag: "1"])
                }
            }
            try await group.waitForAll()
        }
        #expect(transfer.chunksRead == 100)
        try await spawner.finished()
    }

    @Test func `An error reaches every reader, after the content before it`() async throws {
        transfer.gate.open()
        let failure = TransportError(.connectionLost, at: .body)
        let bodies = bodies(3, sharing: transfer.body(chunks: 2, failure: failure))
        for body in bodies {
            var reader = try await body.open()
            #expect(try await reader.next()?.count == 1000)
            #expect(try await reader.next()?.count == 1000)
            for _ in 0..<2 {
                let error = await #expect(throws: TransportError.self) { try await reader.next() }
                #expect(error?.code == .connectionLost)
            }
        }
    }

    @Test func `The transfer ends when the last response is dropped unread`() async throws {
        var bodies = bodies(3, sharing: transfer.body(chunks: 1))
        bodies.removeLast(2)
        #expect(transfer.isAlive)
        bodies.removeLast()
        #expect(!transfer.isAlive)
    }

    @Test func `A dropped reader stops no other, and the last one ends the transfer`() async throws {
        var bodies = bodies(3, sharing: transfer.body(chunks: 5))
        transfer.gate.admit(2)
        do {
            var early = try await bodies.removeLast().open()
            _ = try await early.next()
        }
        do {
            var other = try await bodies.removeLast().open()
            #expect(try await other.next()?.count == 1000)
            #expect(try await other.next()?.count == 1000)
            #expect(transfer.isAlive)
        }
        #expect(transfer.chunksRead == 2)

        bodies = []
        try await spawner.finished()
        #expect(!transfer.isAlive)
    }

    @Test func `A cancelled reader stops no other, and the last one ends the transfer`() async throws {
        let bodies = bodies(3, sharing: transfer.body(chunks: 1))
        let readers = await Callers.start(3) { try await read(bodies[$0]) }
        try await transfer.gate.waitForWaiting(1)

        readers[0].cancel()
        await #expect(throws: CancellationError.self) { try await readers[0].value }
        #expect(transfer.gate.waitingCount == 1)
        transfer.gate.admit()
        transfer.gate.admit()
        #expect(try await readers[1].value == 1000)
        #expect(try await readers[2].value == 1000)
        try await spawner.finished()
    }

    @Test func `The reading is cancelled with the last reader`() async throws {
        let bodies = bodies(3, sharing: transfer.body(chunks: 1))
        let readers = await Callers.start(3) { try await read(bodies[$0]) }
        try await transfer.gate.waitForWaiting(1)

        for reader in readers { reader.cancel() }
        for reader in readers {
            await #expect(throws: CancellationError.self) { try await reader.value }
        }
        try await spawner.finished()
        #expect(transfer.gate.waitingCount == 0 && !transfer.isAlive)
    }

    @Test func `A slow reader has a backlog up to the limit, and fails when the patience ends`() async throws {
        transfer.gate.open()
        let bodies = bodies(2, sharing: transfer.body(chunks: 10), backlogLimit: 2500)
        var slow = try await bodies[0].open()
        let fast = await Callers.start { _ in try await read(bodies[1]) }
        try await clock.waitForSleepers()
        #expect(transfer.chunksRead == 3)

        // There is space for one chunk, after one of the three seconds.
        clock.advance(by: .seconds(1))
        #expect(try await slow.next()?.count == 1000)
        try await yield { transfer.chunksRead == 4 && watch.count == 1 }
        #expect(clock.pendingSleeps == [.seconds(2)])

        clock.advance(by: .seconds(2))
        #expect(try await fast[0].joinedValue == 10_000)
        for _ in 0..<2 { await #expect(throws: CoalescingBacklogError.self) { try await slow.next() } }
        try await spawner.finished()
    }

    @Test(arguments: [0, -1]) func `A reader that is slow while no other waits does not fail`(limit: Int) async throws {
        transfer.gate.open()
        let bodies = bodies(2, sharing: transfer.body(chunks: 3), backlogLimit: limit, patience: .zero)
        var one = try await bodies[0].open()
        var other = try await bodies[1].open()
        for _ in 0..<3 {
            #expect(try await one.next()?.count == 1000)
            #expect(try await other.next()?.count == 1000)
        }
        #expect(try await one.next() == nil)
        for _ in 0..<2 { #expect(try await other.next() == nil) }
    }

    @Test func `A slow reader continues when the others have gone`() async throws {
        transfer.gate.open()
        let bodies = bodies(2, sharing: transfer.body(chunks: 10), backlogLimit: 1000)
        var slow = try await bodies[0].open()
        let fast = await Callers.start { [body = bodies[1]] _ in try await read(body) }
        try await clock.waitForSleepers()
        fast[0].cancel()
        await #expect(throws: CancellationError.self) { try await fast[0].value }

        var count = 0
        while let chunk = try await slow.next() { count += chunk.count }
        #expect(count == 10_000)
        try await spawner.finished()
    }

    @Test func `A body that is shared is read once`() async throws {
        transfer.gate.open()
        for body in bodies(2, sharing: transfer.body(chunks: 1)) {
            #expect(body.replay == .once)
            #expect(try await read(body) == 1000)
            await #expect(throws: BodyReadTwiceError.self) { try await body.open() }
        }
    }
}
