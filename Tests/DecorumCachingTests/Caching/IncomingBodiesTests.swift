import Foundation
import Testing

@testable import Decorum

/// The bodies that are being received, and the room that they take.
@Suite struct IncomingBodiesTests {
    private func begin(_ bodies: inout IncomingBodies) -> Int {
        bodies.begin(IncomingContent())
    }

    @Test func `Bodies take no more than the limits`() {
        var bodies = IncomingBodies(byteLimit: 100, bodyLimit: 60)
        let first = begin(&bodies)
        #expect(bodies.reserve(60, for: first).isReserved)
        #expect(!bodies.reserve(1, for: first).isReserved)
        #expect(bodies.byteCount == 0)
        // A body that was let go is not counted again.
        #expect(!bodies.reserve(1, for: first).isReserved)
        #expect(!bodies.end(first))
    }

    @Test func `A body that has stood still is let go for one that began later`() {
        var bodies = IncomingBodies(byteLimit: 100, bodyLimit: 100)
        let (still, slow) = (begin(&bodies), begin(&bodies))
        #expect(bodies.reserve(50, for: still).isReserved)
        #expect(bodies.reserve(40, for: slow).isReserved)
        let late = begin(&bodies)
        #expect(bodies.reserve(5, for: slow).isReserved)

        let reservation = bodies.reserve(50, for: late)
        #expect(reservation.isReserved)
        #expect(reservation.released.count == 1)
        #expect(!bodies.end(still))
        #expect(bodies.byteCount == 95)

        // The slow one has gone on since the late one began.
        #expect(!bodies.reserve(10, for: late).isReserved)
        #expect(bodies.end(slow))
        #expect(bodies.byteCount == 0)
    }

    @Test func `A body that is too long lets go of no other`() {
        var bodies = IncomingBodies(byteLimit: 100, bodyLimit: 50)
        let still = begin(&bodies)
        #expect(bodies.reserve(50, for: still).isReserved)
        let long = begin(&bodies)
        #expect(bodies.reserve(50, for: long).isReserved)
        #expect(!bodies.reserve(1, for: long).isReserved)
        #expect(bodies.end(still))
    }
}
