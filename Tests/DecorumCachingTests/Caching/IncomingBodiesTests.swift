import Foundation
import Testing

@testable import Decorum

/// The bodies that are being received, and the room that they take.
@Suite struct IncomingBodiesTests {
    private func begin(_ bodies: inout IncomingBodies) -> Int {
        bodies.begin(IncomingContent())
    }

    private func reserve(_ count: Int, for number: Int, _ bodies: inout IncomingBodies) -> Bool {
        bodies.reserve(count, for: number).isReserved
    }

    private func end(_ number: Int, _ bodies: inout IncomingBodies) -> Bool {
        bodies.end(number)
    }

    @Test func `Bodies take no more than the limits`() {
        var bodies = IncomingBodies(byteLimit: 100, bodyLimit: 60)
        let first = begin(&bodies)
        #expect(reserve(60, for: first, &bodies))
        #expect(!reserve(1, for: first, &bodies))
        #expect(bodies.byteCount == 0)
        // A body that was let go is not counted again.
        #expect(!reserve(1, for: first, &bodies))
        #expect(!end(first, &bodies))
    }

    @Test func `A body that has stood still is let go for one that began later`() {
        var bodies = IncomingBodies(byteLimit: 100, bodyLimit: 100)
        let (still, slow) = (begin(&bodies), begin(&bodies))
        #expect(reserve(50, for: still, &bodies))
        #expect(reserve(40, for: slow, &bodies))
        let late = begin(&bodies)
        #expect(reserve(5, for: slow, &bodies))

        let reservation = bodies.reserve(50, for: late)
        #expect(reservation.isReserved)
        #expect(reservation.released.count == 1)
        #expect(!end(still, &bodies))
        #expect(bodies.byteCount == 95)

        // The slow one has gone on since the late one began.
        #expect(!reserve(10, for: late, &bodies))
        #expect(end(slow, &bodies))
        #expect(bodies.byteCount == 0)
    }

    @Test func `A body that is too long lets go of no other`() {
        var bodies = IncomingBodies(byteLimit: 100, bodyLimit: 50)
        let still = begin(&bodies)
        #expect(reserve(50, for: still, &bodies))
        let long = begin(&bodies)
        #expect(reserve(50, for: long, &bodies))
        #expect(!reserve(1, for: long, &bodies))
        #expect(end(still, &bodies))
    }
}
