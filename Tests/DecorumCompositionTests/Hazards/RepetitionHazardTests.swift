import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Layers that do the same work one inside of the other: the harm, the finding, and which of them stays.
@Suite(.timeLimit(.minutes(3))) struct RepetitionHazardTests {
    private let clock = ImpatientClock()

    @Test func `The limit of outer redirections does not apply where inner ones follow`() async throws {
        let server = { @Sendable (request: Request) -> Response in
            let path = request.head.path ?? ""
            return path.count < 4 ? .redirection(to: path + "a") : .page
        }
        let wrong = StubConnection(server).followingRedirects().followingRedirects(upTo: 1)
        let mended = StubConnection(server).followingRedirects(upTo: 1)

        #expect(try await wrong.send(.page).status == .ok)
        await #expect(throws: RedirectionLimitError.self) { try await mended.send(.page) }

        expectFinding(
            of: .layerTwice, in: wrong, naming: ["followingRedirects", "followingRedirects"], notIn: mended)
        let finding = try #require(wrong.findings.first { $0.hazard == .layerTwice })
        #expect(
            finding.change
                == "Keep `followingRedirects` (layer 1), and remove `followingRedirects` (layer 2).")
    }

    @Test func `Layers of one kind are found, and the better place stays`() throws {
        let stub = ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }
        let stores = (MemoryResponseStore(), MemoryResponseStore())
        let rows: [(stack: any Connection, kept: Int, severity: Finding.Severity)] = [
            (stub.pacing().pacing(), 2, .warning),
            (stub.decompressing().decompressing(), 1, .information),
            (stub.validatingStatus().validatingStatus(.codes(200..<300)), 1, .information),
            (stub.coalescing().coalescing(), 1, .warning),
            (stub.caching(in: stores.0).caching(in: stores.1), 1, .information),
            // Other findings show which place is wrong.
            (stub.coalescing().caching(in: stores.0).coalescing(), 3, .warning),
            (stub.decompressing().caching(in: stores.0).decompressing(), 1, .information),
            (stub.followingRedirects().validatingStatus().followingRedirects(), 3, .warning),
        ]
        for row in rows {
            let finding = try #require(row.stack.findings.first { $0.hazard == .layerTwice }, "\(row.stack.layers)")
            #expect(finding.places.last?.number == row.kept, "\(row.stack.composition)")
            #expect(finding.severity == row.severity, "\(row.stack.composition)")
        }
    }

    @Test func `Two layers of one kind on different branches are sound`() {
        let other = StubConnection().pacing(clock: clock).decompressing()
        let connection = ClosureConnection(choosingFrom: [.init("one", other.layers), .init("two", other.layers)]) {
            _ in
            .page
        }
        #expect(connection.findings.isEmpty)
        let layers = StubConnection().observing { _ in }.observing { _ in }.addingRequestID().addingRequestID()
        #expect(!layers.findings.contains { $0.hazard == .layerTwice })
    }

    @Test func `A pacing outside of retries is too many where there is one inside`() throws {
        let connection = StubConnection().pacing(clock: clock).retrying(clock: clock).pacing(clock: clock)
            .limitingTime()
        #expect(connection.findings.map(\.hazard) == [.layerTwice])
        let finding = try #require(connection.findings.first)
        #expect(finding.change == "Keep `pacing` (layer 4), and remove `pacing` (layer 2).")
    }

    @Test func `The finding about retries around retries says which to keep, and counts the layers between`() throws {
        let policy = RetryPolicy(retries: 1, budget: .perCall(1))
        let transport = ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }
        let outside = transport.retrying(policy).followingRedirects(upTo: 3).retrying(policy).limitingTime()
        let first = try #require(outside.findings.first { $0.hazard == .retriesMultiply })
        #expect(
            first.consequence
                == "`retrying` (layer 2) and `retrying` (layer 4) multiply: one call may be sent 36 times in place of 12."
        )
        #expect(first.change == "Keep `retrying` (layer 4), and remove `retrying` (layer 2).")
        #expect(outside.bounds.requests.value == 36)

        let pauses = transport.retrying(policy).pacing().retrying(policy).limitingTime()
        let inside = try #require(pauses.findings.first { $0.hazard == .retriesMultiply })
        // The inner one is inside of the pauses, and the outer one is not.
        #expect(inside.change == "Keep `retrying` (layer 2), and remove `retrying` (layer 4).")

        let thrice = transport.retrying(policy).retrying(policy).retrying(policy).limitingTime()
        let findings = thrice.findings.filter { $0.hazard == .retriesMultiply }
        #expect(
            findings.map(\.change) == [
                "Keep `retrying` (layer 4), and remove `retrying` (layer 2) and `retrying` (layer 3)."
            ])
        #expect(findings.first?.consequence.hasSuffix("27 times in place of 3.") == true)
    }

    /// A layer that sends up to three times.
    private struct Asking<Base: Connection>: ComposedConnection {
        let base: Base
        var sends = 1...3
        var layer: Layer { Layer(name: "asking", sends: sends) }

        func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
    }

    @Test func `The product of layers of any role is found, and one that corrects a request is none of them`() throws {
        let policy = RetryPolicy(retries: 2, budget: .perCall(2))
        let wrong = Asking(base: StubConnection().retrying(policy), sends: 1...10)
        let finding = try #require(wrong.findings.first { $0.hazard == .manySends })
        #expect(finding.consequence == "`asking` and `retrying` multiply: one call may be sent 40 times.")
        #expect(!Asking(base: StubConnection().retrying(policy)).findings.contains { $0.hazard == .manySends })
        let correcting = Asking(base: StubConnection().compressing().followingRedirects(), sends: 1...10)
        #expect(!correcting.findings.contains { $0.hazard == .manySends })
    }

    @Test func `The advised limit of a layer that sends very often is sound`() {
        let stub = StubConnection()
        let stacks: [(wrong: any Connection, advice: String, mended: any Connection)] = [
            (
                stub.retrying(RetryPolicy(retries: 11, budget: .perCall(11)), clock: clock), "`retries: 10`",
                stub.retrying(RetryPolicy(retries: 10, budget: .perCall(10)), clock: clock)
            ),
            (stub.followingRedirects(upTo: 50), "`upTo: 49`", stub.followingRedirects(upTo: 49)),
            (
                stub.followingRedirects(upTo: 25, remembering: PermanentRedirections()), "`upTo: 24`",
                stub.followingRedirects(upTo: 24, remembering: PermanentRedirections())
            ),
        ]
        for stack in stacks {
            let finding = stack.wrong.findings.first { $0.hazard == .manySends }
            #expect(finding?.change.contains(stack.advice) == true, "\(stack.wrong.composition)")
            #expect(!stack.mended.findings.contains { $0.hazard == .manySends })
        }
    }

    @Test func `Retries on two branches inside of retries add up, and the ones inside may stay`() throws {
        let policy = RetryPolicy(retries: 1, budget: .perCall(1))
        let one = StubConnection().retrying(policy)
        let both = ClosureConnection(choosingFrom: [.init("one", one.layers), .init("two", one.layers)]) { _ in .page }
        let finding = try #require(both.retrying(policy).findings.first { $0.hazard == .retriesMultiply })
        #expect(finding.consequence.hasSuffix("one call may be sent 18 times in place of 6."), "\(finding)")
        #expect(
            finding.change == "Keep `retrying` (layer 1), and remove `retrying` (layer 3) and `retrying` (layer 5).")
    }
}
