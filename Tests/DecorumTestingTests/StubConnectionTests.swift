import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct StubConnectionTests {
    private let clock = VirtualClock()

    @Test func `A slow answer without a second attempt is a timeout that names the request`() async throws {
        let stub = StubConnection(clock: clock) { [clock] _ in
            try await clock.sleep(for: .seconds(60))
            return Response(status: .ok)
        }
        var request = try Request.get("https://example.com/slow")
        request.options.deadline = clock.now + .seconds(2)
        let slow = request
        let call = Task { try await stub.send(slow) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        let error = try #require(await #expect(throws: TransportError.self) { try await call.value })
        #expect(error.isTimeout && error.code == .deadlineExceeded && error.elapsed == .seconds(2))
        #expect("\(error)".contains("https://example.com/slow"))
    }

    @Test func `A cancelled caller leaves a slow answer at once`() async throws {
        let stub = StubConnection(clock: clock) { [clock] _ in
            try await clock.sleep(for: .seconds(60))
            return Response(status: .ok)
        }
        var request = try Request.get("https://example.com/")
        request.options.deadline = clock.now + .seconds(90)
        let slow = request
        let call = Task { try await stub.send(slow) }
        try await clock.waitForSleepers(2)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test func `An answer that sleeps for too long on an impatient clock ends at the deadline`() async throws {
        let clock = ImpatientClock()
        let isOver = Mutex(false)
        let stub = StubConnection(clock: clock) { _ in
            try await clock.sleep(for: .seconds(60))
            isOver.withLock { $0 = true }
            return Response(status: .ok)
        }
        let start = clock.now
        for number in 1...40 {
            var request = try Request.get("https://a.example/")
            request.options.deadline = clock.now + .seconds(2)
            let late = request
            let error = await #expect(throws: TransportError.self) { try await stub.send(late) }
            #expect(error?.code == .deadlineExceeded && error?.elapsed == .seconds(2))
            #expect(clock.now - start == .seconds(2 * number))
        }
        #expect(!isOver.withLock { $0 })
    }

    @Test func `Without a clock, an answer takes as long as it likes`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        var request = try Request.get("https://example.com/")
        request.options.deadline = clock.now - .seconds(1)
        #expect(try await stub.send(request).status == .ok)
    }
}
