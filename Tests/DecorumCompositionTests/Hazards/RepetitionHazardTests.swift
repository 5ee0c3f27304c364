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
            of: "layerTwice", in: wrong, naming: ["followingRedirects", "followingRedirects"], notIn: mended)
    }

    @Test func `Layers of one kind are found`() throws {
        let stub = ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }
        let rows: [(stack: any Connection, severity: Finding.Severity)] = [
            (stub.pacing().pacing(), .warning), (stub.decompressing().decompressing(), .information),
            (stub.validatingStatus().validatingStatus(.codes(200..<300)), .information),
            (stub.coalescing().coalescing(), .warning),
            (stub.caching(in: MemoryResponseStore()).caching(in: MemoryResponseStore()), .information),
            (stub.coalescing().caching(in: MemoryResponseStore()).coalescing(), .warning),
        ]
        for row in rows {
            let finding = try #require(row.stack.findings.first { $0.hazard == "layerTwice" }, "\(row.stack)")
            #expect(finding.severity == row.severity, "\(row.stack)")
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
        #expect(!layers.findings.contains { $0.hazard == "layerTwice" })
    }

    @Test func `A pacing outside of retries is too many if there is one inside`() {
        let connection = StubConnection().pacing(clock: clock).retrying(clock: clock).pacing(clock: clock)
            .limitingTime()
        #expect(connection.findings.map(\.hazard) == ["layerTwice"])
    }

    @Test func `The finding about retries around retries counts the layers between, and branches add up`() throws {
        let policy = RetryPolicy(retries: 1, budget: .perCall(1))
        let one = ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }.retrying(policy)
        let chain = one.followingRedirects(upTo: 3).retrying(policy).limitingTime()
        let both = ClosureConnection(choosingFrom: [.init("one", one.layers), .init("two", one.layers)]) { _ in .page }
        for (stack, count) in [(chain, 16), (both.retrying(policy), 8)] as [(any Connection, Int)] {
            let finding = try #require(stack.findings.first { $0.hazard == "retriesMultiply" })
            #expect(finding.consequence.hasSuffix("multiply: one call may be sent \(count) times."), "\(finding)")
            #expect(stack.bounds.requests.value == count)
        }
    }

    /// A layer that sends up to three times.
    private struct Asking<Base: Connection>: ComposedConnection {
        let base: Base
        var sends = 1...3
        var layer: Layer { Layer(name: "asking", sending: .init(sends)) }

        func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
    }

    @Test func `The product of layers of any role is found, and one that corrects a request is none of them`() throws {
        let policy = RetryPolicy(retries: 2, budget: .perCall(2))
        let wrong = Asking(base: StubConnection().retrying(policy), sends: 1...11)
        let finding = try #require(wrong.findings.first { $0.hazard == "manySends" })
        #expect(finding.consequence == "`asking` and `retrying` multiply: one call may be sent 33 times.")
        #expect(!Asking(base: StubConnection().retrying(policy)).findings.contains { $0.hazard == "manySends" })
        let correcting = Asking(base: StubConnection().compressing().followingRedirects(), sends: 1...10)
        #expect(!correcting.findings.contains { $0.hazard == "manySends" })
    }
}
