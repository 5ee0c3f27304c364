import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum
@testable import DecorumSharedStorage

@Suite(.timeLimit(.minutes(3)))
struct SharedPausesTests {
    private let clock = VirtualClock()
    private let spawner = TrackingSpawner()
    private let storage = MemorySharedStorage()
    private let busy = StubConnection { _ in .pause }
    private let calm = StubConnection { _ in Response(status: .ok) }

    private func pauses(on storage: any SharedStorage, _ name: String = "api") -> ServerPauses {
        ServerPauses(sharedOn: storage, named: name, clock: clock, spawner: spawner)
    }

    /// Sends a request that may not wait.
    private func send(
        _ connection: some Connection, in pauses: ServerPauses, by policy: PacingPolicy = .standard,
        to url: String = "/"
    ) async throws -> Response {
        let paced = connection.pacing(policy, in: pauses, clock: clock, generator: SeededGenerator(seed: 1))
        var request = try Request(.get, "https://a.example" + url)
        request.options.deadline = clock.now + .milliseconds(1)
        return try await paced.send(request)
    }

    @Test func `A machine heeds a pause that a server has asked another one for`() async throws {
        let (first, second) = (pauses(on: storage), pauses(on: storage))
        let stranger = pauses(on: storage, "other")
        _ = try await send(busy, in: first)
        try await spawner.finished()
        try await yield { second.isActive }
        let error = await #expect(throws: PacingError.self) { try await send(calm, in: second) }
        #expect(error?.cause == .init(status: .serviceUnavailable, asked: .seconds(10), isRateLimit: false))
        #expect(try #require(error).wait > .seconds(9.9) && error?.wait ?? .zero <= .seconds(15))
        #expect(calm.requests.isEmpty)
        // Requests to others, stacks of another name and the time after the pause are free.
        var request = try Request(.get, "https://b.example/")
        request.options.deadline = clock.now + .milliseconds(1)
        _ = try await calm.pacing(in: second, clock: clock).send(request)
        _ = try await send(calm, in: stranger)
        clock.advance(by: .seconds(15))
        _ = try await send(calm, in: second)
    }

    @Test func `A machine takes no longer pause from others than its own policy allows`() async throws {
        let (first, second) = (pauses(on: storage), pauses(on: storage))
        _ = try await send(busy, in: first)
        try await spawner.finished()
        try await yield { second.isActive }
        let policy = PacingPolicy(longestPause: .seconds(2))
        let error = await #expect(throws: PacingError.self) { try await send(calm, in: second, by: policy) }
        #expect(try #require(error).wait <= .seconds(3))
    }

    @Test func `A storage that fails or hangs delays no request, and is asked again after a second`() async throws {
        let failing = ProbingStorage(storage)
        failing.set(.hangs)
        let (first, second) = (pauses(on: storage), pauses(on: failing))
        for _ in 0..<3 { _ = try await send(calm, in: second) }
        try await yield { failing.calls == 1 }
        _ = try await send(busy, in: first)
        failing.set(.fails)
        clock.advance(by: .seconds(1))
        _ = try await send(calm, in: second)
        try await yield { failing.calls == 2 }
        failing.set(nil)
        clock.advance(by: .seconds(1))
        _ = try await send(calm, in: second)
        try await yield { second.isActive }
        await #expect(throws: PacingError.self) { try await send(calm, in: second) }
    }

    @Test func `Machines that tell at the same time lose no pause`() async throws {
        let machines = (0..<4).map { _ in SharedPauses(on: storage, named: "api", clock: clock, spawner: spawner) }
        for (number, machine) in machines.enumerated() { machine.tell(pause(UInt64(number))) }
        try await spawner.finished()
        try await yield { machines[0].hasPauses && (0..<4).allSatisfy { machines[0].pause(of: $0) != nil } }
    }

    @Test func `A list keeps 64 pauses, the last one of the same requests, and the ones that began last`() {
        let date = clock.date
        let list = (1...70).reduce([SharedPause]()) { $0.adding(pause(UInt64($1), after: $1 - 11), at: date) }
        #expect(list.map(\.requests) == Array(7...70))
        let again = list.adding(pause(70, after: 59, lasting: 5), at: date).adding(pause(7, after: 99), at: date)
        #expect(again.map(\.requests) == Array(8...70) + [7] && again[62].cause.asked == .seconds(10))
        let content = again.content(seed: 1)
        #expect(content.count == 8 + 64 * 22 && [SharedPause](content, seed: 1) == again)
        // A machine whose date is wrong by a minute removes no pause of others.
        #expect(again.adding(pause(8, after: 100), at: date + 60).count == 64)
        #expect(again.adding(pause(8, after: 0), at: date - 3700).map(\.requests) == [8])
    }

    @Test func `A content that is damaged or of others has no pause`() {
        let content = [pause(1)].content(seed: 1)
        for index in content.indices {
            var damaged = content
            damaged[index] ^= 1 << UInt8(index % 8)
            #expect([SharedPause](damaged, seed: 1).isEmpty)
            #expect([SharedPause](content[..<index], seed: 1).isEmpty)
        }
        #expect([SharedPause](content, seed: 2).isEmpty)
        #expect([SharedPause](nil, seed: 1).isEmpty)
        // Whatever stands behind a right checksum ends no process.
        let generator = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let bytes = (0..<220).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            var writer = ByteWriter()
            writer.add(Checksum.of(bytes[...], seed: 1))
            #expect([SharedPause](Data(writer.bytes + bytes), seed: 1).adding(pause(1), at: clock.date).count <= 11)
        }
    }

    private func pause(_ requests: UInt64, after start: Int = 0, lasting seconds: Int = 10) -> SharedPause {
        SharedPause(
            requests, since: clock.date + Double(start),
            because: .init(status: .tooManyRequests, asked: .seconds(seconds), isRateLimit: seconds % 2 == 0))
    }
}

extension Response {
    fileprivate static var pause: Response { Response(status: .serviceUnavailable, fields: [.retryAfter: "10"]) }
}
