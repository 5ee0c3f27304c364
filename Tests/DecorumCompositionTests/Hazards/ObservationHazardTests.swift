import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Logs, recordings and tests: the harm, the finding, and the mended stack.
@Suite(.timeLimit(.minutes(3))) struct ObservationHazardTests {
    private final class Lines: Sendable {
        private let state = Mutex<[String]>([])
        var all: [String] { state.withLock { $0 } }
        var sink: LogSink { LogSink { line in self.state.withLock { $0.append(line) } } }
    }

    @Test func `A log without redaction shows the token`() async throws {
        let (open, hidden) = (Lines(), Lines())
        let token = try Credentials.bearer("Zx81secret")
        let stub = StubConnection { _ in .page }
        let wrong = stub.logging(to: open.sink, detail: .fields, redacting: .none)
            .authenticating(with: token, for: site)
        let mended = stub.logging(to: hidden.sink, detail: .fields).authenticating(with: token, for: site)

        _ = try await wrong.send(.page).text()
        _ = try await mended.send(.page).text()

        #expect(open.all.joined().contains("Zx81secret"))
        #expect(!hidden.all.isEmpty && !hidden.all.joined().contains("Zx81secret"))
        expectFinding(of: "secretsRecorded", in: wrong, naming: ["logging"], notIn: mended)
    }

    @Test func `A log of lines without redaction shows a token in a URL, and no fields`() async throws {
        let open = Lines()
        let stub = StubConnection { _ in .page }
        let wrong = try stub.logging(to: open.sink, redacting: .none).authenticating(with: .bearer("Zx81"), for: site)
        _ = try await wrong.send(.get("https://a.example/?access_token=Zx82")).text()

        #expect(open.all.joined().contains("Zx82") && !open.all.joined().contains("Zx81"))
        let finding = try #require(wrong.findings.first)
        #expect(finding.hazard == "secretsRecorded" && finding.severity == .warning)
    }

    @Test func `An observer of attempts outside of retries takes a call for one attempt`() async throws {
        func stack(_ observer: ExchangeStatistics, isWrong: Bool) -> any Connection {
            let stub = StubConnection(Response.busy, .busy, .page)
            let clock = ImpatientClock()
            return isWrong
                ? stub.retrying(.tool, clock: clock).observing(observer, as: .attempt)
                : stub.observing(observer, as: .attempt).retrying(.tool, clock: clock)
        }
        let (calls, attempts) = (ExchangeStatistics(), ExchangeStatistics())
        _ = try await stack(calls, isWrong: true).send(.page).text()
        _ = try await stack(attempts, isWrong: false).send(.page).text()
        #expect(calls.snapshot().rows.map(\.count) == [1])
        #expect(attempts.snapshot().rows.map(\.count) == [3])

        expectFinding(
            of: "attemptsUnseen", in: StubConnection().retrying().observing(calls, as: .attempt),
            naming: ["observing", "retrying"], notIn: StubConnection().observing(calls, as: .attempt).retrying())
    }

    @Test func `A log of whole bodies holds them without a limit`() {
        let stub = StubConnection()
        expectFinding(
            of: "unboundedMemory", in: stub.logging(to: Lines().sink, detail: .bodies(upTo: .max)), naming: ["logging"],
            notIn: stub.logging(to: Lines().sink, detail: .bodies()))
    }

    @Test func `A log of attempts alone shows no call that the cache answers`() async throws {
        let (attempts, calls) = (Lines(), Lines())
        let stub = StubConnection { _ in .page }
        let wrong = stub.logging(to: attempts.sink).caching(in: MemoryResponseStore())
        let mended = stub.logging(to: attempts.sink).caching(in: MemoryResponseStore()).logging(to: calls.sink)

        for _ in 1...3 { _ = try await wrong.send(.page).text() }
        #expect(attempts.all.count == 1)
        for _ in 1...3 { _ = try await mended.send(.page).text() }
        #expect(calls.all.count == 3)

        expectFinding(of: "callsUnseen", in: wrong, naming: ["logging", "caching"], notIn: mended)
        expectFinding(
            of: "callsUnseen", in: stub.observing { _ in }.retrying(), naming: ["observing", "retrying"],
            notIn: stub.retrying().observing { _ in })
    }

    @Test func `A cassette around retries records one exchange, and a replay runs no retry`() async throws {
        @Sendable func server() -> StubConnection { StubConnection(.busy, .page) }
        let clock = ImpatientClock()
        for isWrong in [true, false] {
            let path = FileManager.default.temporaryDirectory.appending(path: "hazard-\(UUID()).json").path
            let cassette = try Cassette(at: path, mode: .rewrite)
            let wrong = server().retrying(clock: clock).recording(on: cassette)
            let mended = CassetteConnection(cassette, recording: server()).retrying(clock: clock)
            let connection: any Connection = isWrong ? wrong : mended
            #expect(try await connection.send(.page).status == .ok)
            try await cassette.finish()

            let recorded = try Cassette(at: path, mode: .replay).interactions()
            #expect(recorded.count == (isWrong ? 1 : 2))
            expectFinding(of: "layersRecorded", in: wrong, naming: ["CassetteConnection", "retrying"], notIn: mended)
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func `A test with the clock of the system waits, and one with its own clock does not`() async throws {
        let clock = ImpatientClock()
        let stub = StubConnection { _ in .busy }
        let policy = RetryPolicy(certainPart: 1, budget: .perCall(3))
        let mended = stub.retrying(policy, clock: clock).pacing(clock: clock)
        let start = clock.now
        _ = try await mended.send(.page)

        #expect(clock.now - start > .seconds(3))
        expectFinding(
            of: "testWaits", in: stub.retrying(policy).pacing(), naming: ["StubConnection", "pacing", "retrying"],
            notIn: mended)
        #expect(!SystemConnection().retrying().findings.contains { $0.hazard == "testWaits" })
    }
}
