import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Bodies that several callers read.
@Suite(.timeLimit(.minutes(3))) struct SharedBodyTests {
    let transfer = GatedTransfer()
    let spawner = TrackingSpawner()
    let clock = VirtualClock()

    /// Makes a number of callers' responses that share one body.
    private func responses(
        _ count: Int, sharing body: Body, policy: CoalescingPolicy = .standard
    ) async throws -> [Response] {
        // The body is taken out once, because a stub would keep it in its answer.
        let unsent = Unsent(body)
        let connection = StubConnection { _ in Response(status: .ok, body: unsent.take()) }
            .coalescing(policy, clock: clock, spawner: spawner)
        var responses: [Response] = []
        for _ in 0..<count {
            responses.append(try await connection.send(.get("https://a.example/")))
        }
        return responses
    }

    private func read(_ response: Response) async throws -> Int {
        try await response.body.data(upTo: 1 << 30).count
    }

    @Test func `A body of one caller is read at its speed, without a task`() async throws {
        transfer.gate.open()
        let responses = try await responses(1, sharing: transfer.body(chunks: 10))
        try await spawner.finished()
        var reader = try await responses[0].body.open()
        for count in 1...3 {
            _ = try await reader.next()
            #expect(transfer.chunksRead == count)
        }
        #expect(spawner.spawnedCount == 0)
    }

    @Test func `Every reader gets all bytes and the trailers`() async throws {
        transfer.gate.open()
        let responses = try await responses(5, sharing: transfer.body(chunks: 100, trailers: [.eTag: "1"]))
        try await withThrowingTaskGroup { group in
            for response in responses {
                group.addTask {
                    let (data, trailers) = try await response.body.collect(upTo: 1 << 20)
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
        let responses = try await responses(3, sharing: transfer.body(chunks: 2, failure: failure))
        for response in responses {
            var reader = try await response.body.open()
            #expect(try await reader.next()?.count == 1000)
            #expect(try await reader.next()?.count == 1000)
            for _ in 0..<2 {
                let error = await #expect(throws: TransportError.self) { try await reader.next() }
                #expect(error?.code == .connectionLost)
            }
        }
    }

    @Test func `The transfer ends when the last response is dropped unread`() async throws {
        var responses = try await responses(3, sharing: transfer.body(chunks: 1))
        try await spawner.finished()
        responses.removeLast()
        responses.removeLast()
        #expect(transfer.isAlive)
        responses.removeLast()
        #expect(!transfer.isAlive)
    }

    @Test func `A dropped reader stops no other, and the last one ends the transfer`() async throws {
        var bodies = try await responses(3, sharing: transfer.body(chunks: 5)).map(\.body)
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
        let responses = try await responses(3, sharing: transfer.body(chunks: 1))
        let readers = await Callers.start(3) { try await read(responses[$0]) }
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
        let responses = try await responses(3, sharing: transfer.body(chunks: 1))
        let readers = await Callers.start(3) { try await read(responses[$0]) }
        try await transfer.gate.waitForWaiting(1)

        for reader in readers { reader.cancel() }
        for reader in readers {
            await #expect(throws: CancellationError.self) { try await reader.value }
        }
        #expect(transfer.gate.waitingCount == 0)
        try await spawner.finished()
        #expect(!transfer.isAlive)
    }

    @Test func `A slow reader has a backlog up to the limit, and fails when the patience ends`() async throws {
        transfer.gate.open()
        let policy = CoalescingPolicy(backlogLimit: 2500, patience: .seconds(3))
        let responses = try await responses(2, sharing: transfer.body(chunks: 10), policy: policy)
        var slow = try await responses[0].body.open()
        // A second fast reader would wake the sender too, each time with a further sleep.
        let fast = await Callers.start { _ in try await read(responses[1]) }
        try await clock.waitForSleepers()
        #expect(transfer.chunksRead == 3)

        // There is space for one chunk, after one of the three seconds.
        clock.advance(by: .seconds(1))
        #expect(try await slow.next()?.count == 1000)
        // The sender and its second sleep remain; the first sleep, which has as much time left, is cancelled.
        try await spawner.waitForSpawned(3)
        try await yield { spawner.runningCount == 2 && clock.pendingSleeps == [.seconds(2)] }
        #expect(transfer.chunksRead == 4)

        clock.advance(by: .seconds(2))
        #expect(try await fast[0].joinedValue == 10_000)
        for _ in 0..<2 {
            let error = await #expect(throws: CoalescingBacklogError.self) { try await slow.next() }
            #expect(error?.limit == 2500)
        }
        try await spawner.finished()
    }

    @Test func `A reader that is slow while no other waits does not fail`() async throws {
        transfer.gate.open()
        let policy = CoalescingPolicy(backlogLimit: -1, patience: .seconds(-1))
        let responses = try await responses(2, sharing: transfer.body(chunks: 3), policy: policy)
        var one = try await responses[0].body.open()
        var other = try await responses[1].body.open()
        for _ in 0..<3 {
            #expect(try await one.next()?.count == 1000)
            #expect(try await other.next()?.count == 1000)
        }
        #expect(try await one.next() == nil)
        #expect(try await other.next() == nil)
        #expect(try await other.next() == nil)
    }

    @Test func `Without patience, a slow reader fails at once and delays no other`() async throws {
        transfer.gate.open()
        let policy = CoalescingPolicy(backlogLimit: 1000, patience: .zero)
        let responses = try await responses(2, sharing: transfer.body(chunks: 10), policy: policy)
        var slow = try await responses[0].body.open()
        #expect(try await read(responses[1]) == 10_000)

        let error = await #expect(throws: CoalescingBacklogError.self) { try await slow.next() }
        #expect(error?.description.contains("More than 1000 bytes waited for a slow reader") == true)
        #expect(clock.pendingSleeps.isEmpty)
        #expect(spawner.spawnedCount == 1)
    }

    @Test func `A slow reader continues when the others have gone`() async throws {
        transfer.gate.open()
        let policy = CoalescingPolicy(backlogLimit: 1000)
        let bodies = try await responses(2, sharing: transfer.body(chunks: 10), policy: policy).map(\.body)
        var slow = try await bodies[0].open()
        let fast = await Callers.start { [body = bodies[1]] _ in try await body.data(upTo: 1 << 20).count }
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
        let responses = try await responses(2, sharing: transfer.body(chunks: 1))
        for response in responses {
            #expect(response.body.replay == .once)
            #expect(try await read(response) == 1000)
            await #expect(throws: BodyReadTwiceError.self) { try await response.body.open() }
        }
    }
}

private final class Unsent: Sendable {
    private let body: Mutex<Body?>

    init(_ body: consuming Body) {
        self.body = Mutex(body)
    }

    func take() -> Body {
        body.withLock { $0.take() } ?? .empty
    }
}
