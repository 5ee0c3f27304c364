#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

extension IsolatedTests {
    /// The time between the arrival of content and the end of the loop's turn, in which a reader may already take it.
    @Suite(.timeLimit(.minutes(3))) struct CurlTurnTests {
        @Test func `Content counts as progress before the turn in which it arrived is over`() async throws {
            let (origin, gate, clock) = (try LoopbackOrigin(), Gate(), TurnClock())
            origin.enqueue(.script(.head(.ok, ["Content-Length": "2"]), .wait(gate), .raw("a"), .wait(gate), .raw("b")))
            let connection = try CurlConnection(idleTimeout: .seconds(10), clock: clock)
            var reader = try await connection.send(.get(origin.url + "/")).body.open()
            try await gate.waitForWaiting(1)
            clock.base.advance(by: .seconds(9))

            clock.holdNextTurn()
            gate.admit()
            try await clock.isHeld.wait()
            #expect(try await reader.next() == Data("a".utf8))
            clock.base.advance(by: .seconds(9))
            // Waits until the timeout has looked at the exchange and sleeps again.
            try await clock.base.waitForSleepers()
            clock.release()

            try await gate.waitForWaiting(1)
            gate.admit()
            #expect(try await reader.next() == Data("b".utf8))
            #expect(try await reader.next() == nil)
        }
    }
}

/// A virtual clock that holds the transport's thread where it asks for the time, which it does at the end of a turn.
private final class TurnClock: DatedClock {
    let base = VirtualClock()
    /// Opens when the thread is held.
    let isHeld = Gate()
    private let holdsTurn = Mutex(false)
    private let turn = DispatchSemaphore(value: 0)

    func holdNextTurn() { holdsTurn.withLock { $0 = true } }
    func release() { turn.signal() }

    var now: ContinuousClock.Instant {
        if Self.isThreadOfTransport, holdsTurn.withLock({ exchange(&$0, with: false) }) {
            isHeld.open()
            turn.wait()
        }
        return base.now
    }

    private static var isThreadOfTransport: Bool {
        (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) == "decorum.curl\n"
    }

    var date: Date { base.date }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}
#endif
