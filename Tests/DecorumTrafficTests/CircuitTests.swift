import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct CircuitBreakingTests {
    private let clock = VirtualClock()
    private let breakers = CircuitBreakers()
    private let policy = CircuitPolicy(opensAfter: .failures(inARow: 2))
    private let busy: StubConnection.Answer = { _ in Response(status: .serviceUnavailable) }
    private let name = "the circuit of a.example:443 is"

    private func breaking(_ base: some Connection, _ policy: CircuitPolicy? = nil) -> AnyConnection {
        AnyConnection(
            base.breakingCircuits(
                policy ?? self.policy, in: breakers, clock: clock, generator: CircuitStateTests.Chance()))
    }

    /// Sends a request; returns its status, and the decisions of its call.
    @discardableResult private func send(
        to url: String = "https://a.example/", group: RequestGroup? = nil, over connection: AnyConnection
    ) async throws -> (status: Int, history: [CallDecision]) {
        let call = CallContext()
        let status = try await connection.send(.get(url, group: group, in: call)).status.code
        return (status, call.history)
    }

    @Test func `Requests to an origin that keeps failing are refused, and no others`() async throws {
        let stub = StubConnection(answers: [], then: busy)
        let connection = breaking(stub)
        try await send(to: "https://A.example:443/", over: connection)
        let opening = try await send(over: connection)
        #expect(opening.history.map(\.description).last == "breakingCircuits: \(name) open")

        let secret = "https://a.example/secret?token=1"
        let error = try await #require(throws: CircuitOpenError.self) { try await send(to: secret, over: connection) }
        try await send(to: "https://b.example/", over: connection)
        #expect(stub.requests.count == 3)
        #expect(error.circuit == .origin(try Origin("https://a.example")))
        #expect(error.wait == .milliseconds(2500) && error.date == clock.date + 2.5)
        #expect(error.instant == clock.now + .milliseconds(2500) && error.earliestRetry == error.instant)
        #expect(error.meansNotProcessed && error.meansServerNotReached && error.mayPass)
        #expect(
            error.description == "The request to a.example:443 was not sent, because the last requests have failed. "
                + "Send it in 2.50 s, not before Tue, 14 Nov 2023 22:13:22 GMT.")
        #expect(breakers.circuits.first?.description == "\(name) open")
    }

    @Test func `After a break, one request is sent; one that is cancelled or late gives its place back`() async throws {
        let gate = Gate()
        let changes = Mutex<[String]>([])
        let breakers = CircuitBreakers { circuit in changes.withLock { $0.append(circuit.description) } }
        let policy = CircuitPolicy(opensAfter: .failures(inARow: 1))
        func connection(_ answers: StubConnection.Answer...) -> AnyConnection {
            let stub = StubConnection(answers: answers, clock: clock) { _ in Response(status: .ok) }
            return AnyConnection(stub.breakingCircuits(policy, in: breakers, clock: clock))
        }
        let late = try Request.get("https://a.example/", deadline: clock.now)
        await #expect(throws: TransportError.self) { try await connection().send(late) }
        #expect(breakers.circuits.map(\.state) == [.closed])
        try await send(over: connection(busy))
        clock.advance(by: .seconds(5))
        await #expect(throws: TransportError.self) { try await connection().send(late) }
        let probe = Task { try await send(over: connection { _ in try await gate.response() }) }
        try await gate.waitForWaiting(1)
        let error = await #expect(throws: CircuitOpenError.self) { try await send(over: connection()) }
        #expect(error?.wait == .seconds(5))
        probe.cancel()
        await #expect(throws: CancellationError.self) { try await probe.value }
        #expect(try await send(over: connection()).history.map(\.kind.description) == ["probes", "sends", "closes"])
        #expect(changes.withLock { $0 } == ["\(name) open", "\(name) half open", "\(name) closed"])
    }

    @Test func `The timeout of an attempt counts, also where a layer further out ends it`() async throws {
        let stub = StubConnection(clock: clock) { [clock] _ in
            try await clock.sleep(for: .seconds(60))
            return Response(status: .ok)
        }
        let policy = CircuitPolicy(opensAfter: .failures(inARow: 1))
        let connection = breaking(stub, policy).limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
        let call = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        await #expect(throws: TransportError.self) { try await call.value }
        #expect(breakers.circuits.first?.description == "\(name) open")
    }

    @Test func `A layer that only observes sends all requests, and tells what would happen`() async throws {
        let policy = CircuitPolicy(
            opensAfter: .ratio(1, ofAtLeast: 2, within: .seconds(9)), scope: .group, onlyObserves: true)
        let stub = StubConnection(answers: [], then: busy)
        let connection = breaking(stub, policy)
        for _ in 0..<2 { try await send(group: "images", over: connection) }
        let words = "breakingCircuits: would not send: the circuit is open for another 2.50 s"
        #expect(try await send(group: "images", over: connection).history.first?.description == words)
        #expect(try await send(over: connection).history.map(\.kind) == [.sends])
        #expect(stub.requests.count == 4)
        #expect(breakers.circuits.map(\.key) == [.all, .group("images")])
        #expect(breakers.circuits.last?.state == .open(until: clock.now + .milliseconds(2500)))
        let layer = connection.layers[0]
        #expect(!layer.facts.contains(.refuses) && layer.time.window == .seconds(9))
    }

    @Test func `A circuit that was opened by hand is never forgotten, and closed by hand`() async throws {
        let connection = breaking(StubConnection { _ in Response(status: .ok) })
        let key = TrafficKey.origin(try Origin("https://a.example"))
        breakers.open(key)
        for number in 0..<600 { try await send(to: "https://\(number).example/", over: connection) }
        #expect(breakers.circuits.count == 256)
        let error = try await #require(throws: CircuitOpenError.self) { try await send(over: connection) }
        #expect(!error.mayPass && error.instant == nil && error.date == nil)
        let end = "was not sent, because the circuit was opened by hand. Close it by `CircuitBreakers.close(_:)`."
        #expect(error.description == "The request to a.example:443 " + end)
        breakers.close(key)
        #expect(try await send(over: connection).status == 200)
    }

    @Test func `A cache further out answers with a stale response while the circuit is open`() async throws {
        let stored = Response(status: .ok, fields: [.cacheControl: "max-age=1, stale-if-error=60"], body: "stored")
        let stub = StubConnection(
            answers: [{ _ in stored }], then: { _ in throw TransportError(.connectionLost, at: .head) })
        let connection = breaking(stub).caching(in: MemoryResponseStore(), clock: clock)
        for _ in 0..<4 {
            #expect(try await connection.send(.get("https://a.example/")).body.text(upTo: 100) == "stored")
            clock.advance(by: .seconds(2))
        }
        #expect(stub.requests.count == 3 && breakers.circuits.first?.description == "\(name) open")
    }

    @Test(arguments: DecoratorLaw.all) func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        let down = DecoratorLaw.ActivePath("a server that is down", times: 4) { _, _ in
            Response(status: .serviceUnavailable)
        }
        try await law.check(answering: [down]) { base, conditions in
            base.breakingCircuits(CircuitPolicy(opensAfter: .failures(inARow: 3)), clock: conditions.clock)
        }
    }
}

@Suite(.timeLimit(.minutes(3)))
struct CircuitStateTests {
    typealias Outcome = CircuitState.Outcome

    private static let inARow = CircuitPolicy(opensAfter: .failures(inARow: 3))
    private static let twoProbes = CircuitPolicy(opensAfter: .failures(inARow: 3), successesToClose: 2)

    private let start = ContinuousClock.now

    /// The breaks of this generator are halves, or almost whole.
    struct Chance: RandomGenerator {
        var bits = UInt64.min
        func next() -> UInt64 { bits }
    }

    private static func ratio(_ ratio: Double, _ minimum: Int) -> CircuitPolicy {
        CircuitPolicy(opensAfter: .ratio(ratio, ofAtLeast: minimum, within: .seconds(10)))
    }

    /// Performs steps, and returns the state, or the end of a break; a number is the time in seconds of the following steps.
    ///
    /// A request with the outcome success (`s`), failure (`f`) or neither (`n`), one without an end (`x`), the outcome of a
    /// request from the beginning (`S`, `F`), and opening (`o`) and closing by hand (`c`).
    private func run(_ steps: String, by policy: CircuitPolicy, _ chance: Chance = Chance()) -> String {
        let outcomes: [Character: Outcome] = [
            "s": .success, "f": .failure, "n": .neither, "S": .success, "F": .failure,
        ]
        var (circuit, now) = (CircuitState(), start)
        let first = circuit.pass
        for step in steps.split(separator: " ") {
            if let time = Double(step) { now = start + .seconds(time) }
            for kind in step {
                switch kind {
                case "o": circuit.isolate()
                case "c": circuit.close()
                case "S", "F": circuit.note(outcomes[kind] ?? .neither, of: first, at: now, by: policy, chance)
                case "s", "f", "n", "x":
                    guard case .go(let pass, let isProbe) = circuit.admit(at: now, by: policy, chance) else { continue }
                    #expect(isProbe == (circuit.state == .halfOpen))
                    if let outcome = outcomes[kind] { circuit.note(outcome, of: pass, at: now, by: policy, chance) }
                default: continue
                }
            }
        }
        return switch circuit.state {
        case .closed: "closed"
        case .halfOpen: "half open"
        case .open(nil): "by hand"
        case .open(let end?): "\((end - start) / .seconds(1))"
        }
    }

    @Test(
        arguments: [
            (inARow, [("ff", "closed"), ("fff", "2.5"), ("ffsff", "closed"), ("fnfnf", "2.5"), ("nnn", "closed")]),
            // A break refuses all requests; after it, a probe decides, and one that says nothing gives its place back.
            (inARow, [("fff 2.4 s", "2.5"), ("fff 2.5 s", "closed"), ("fff 2.5 sff", "closed"), ("fff 3 f", "8.0")]),
            (inARow, [("fff 3 n", "half open"), ("fff 3 nf", "8.0"), ("fff 3 ns", "closed")]),
            // Only one probe is under way; it counts as failed after the longest break.
            (inARow, [("fff 3 x 62 s", "half open"), ("fff 3 x 63 s", "68.0")]),
            // A break doubles up to its limit, and is short again after the circuit was closed for long.
            (inARow, [("fff 2.5 f 7.5 f 17.5 f 37.5 f", "67.5"), ("fff 2.5 f 7.5 f 17.5 f 37.5 f 67.5 f", "97.5")]),
            (inARow, [("fff 10 s 69 fff", "74.0"), ("fff 10 s 70 fff", "72.5")]),
            // An outcome from before a change does not count.
            (inARow, [("fff 1 SFFF", "2.5"), ("fff 3 xSFFF", "half open"), ("fff 3 x 63 sS", "68.0")]),
            (inARow, [("fff 3 sFFF", "closed")]),
            (inARow, [("fffo 1000000 s", "by hand"), ("oS", "by hand"), ("fffocff", "closed"), ("fffocfff", "2.5")]),
            (twoProbes, [("fff 3 sf", "8.0"), ("fff 3 s", "half open"), ("fff 3 sns", "closed")]),
            (ratio(0.5, 4), [("ssff", "2.5"), ("sssff", "closed"), ("fffs", "closed"), ("fffnf", "2.5")]),
            (ratio(0.5, 4), [("fff 9.5 f", "12.0"), ("fff 11 f", "closed"), ("fff 1000 f", "closed")]),
            // A clock that jumps back.
            (ratio(0.5, 4), [("5 fff -1000 f", "-997.5")]), (inARow, [("5 ff -1000 f", "-997.5")]),
            (ratio(1, 2), [("sff", "closed")]), (ratio(7, 2), [("ff", "2.5")]),
            (ratio(0, 0), [("s", "closed"), ("f", "2.5")]),
        ] as [(CircuitPolicy, [(String, String)])])
    func `A circuit opens after failures in a row or of a share, and closes after probes`(
        policy: CircuitPolicy, rows: [(String, String)]
    ) {
        for (steps, state) in rows { #expect(run(steps, by: policy) == state, "\(steps)") }
    }

    @Test func `A random part of up to a half of a break is left out`() throws {
        let ends = try [UInt64.min, .max].map { try #require(Double(run("fff", by: Self.inARow, Chance(bits: $0)))) }
        #expect(ends[0] == 2.5 && ends[1] > 4.99 && ends[1] <= 5)
    }

    @Test(arguments: [
        CircuitPolicy(opensAfter: .failures(inARow: -3), firstBreak: .zero - .longest, longestBreak: .zero),
        CircuitPolicy(opensAfter: .failures(inARow: 0), firstBreak: .longest * 4, longestBreak: .longest * 4),
        CircuitPolicy(opensAfter: .ratio(-1, ofAtLeast: .min, within: .seconds(Int64.min)), successesToClose: .min),
        CircuitPolicy(opensAfter: .ratio(.infinity, ofAtLeast: 0, within: .seconds(Int64.max)), firstBreak: .zero),
    ])
    func `Numbers out of range count as the nearest one that makes sense`(policy: CircuitPolicy) {
        let facts = StubConnection().breakingCircuits(policy).layers[0].facts
        #expect(facts.isSuperset(of: [.unsoundSettings, .breaksCircuits, .refuses, .readsStatus]))
        #expect(run("f", by: policy) != "closed")
        #expect(run("f 1e9 " + String(repeating: "f", count: 100) + " 2e10 s", by: policy) == "closed")
    }

    @Test func `5xx, timeouts and lost connections are failures, and what says nothing about the server is neither`() {
        let (policy, strict) = (CircuitPolicy.standard, CircuitPolicy(countsTooManyRequests: true))
        for code in [200, 304, 404, 429, 500, 503] {
            let head = HTTPResponse(status: .init(code: code))
            #expect(policy.outcome(of: head) == (code >= 500 ? .failure : .success))
            #expect(strict.outcome(of: head) == (code >= 429 ? .failure : .success))
        }
        let codes: [TransportError.Code] = [
            .connectionRefused, .connectionLost, .timedOut, .deadlineExceeded, .unreachable, .hostNotFound, .tls,
            .malformedResponse,
        ]
        let outcomes = codes.map { policy.outcome(of: TransportError($0, at: .head)) }
        #expect(outcomes == [.failure, .failure, .failure, .failure, .neither, .neither, .neither, .neither])
        // A transport throws it before it sends anything.
        #expect(policy.outcome(of: TransportError(.deadlineExceeded, at: .connecting)) == .neither)
        let refused = CircuitOpenError(circuit: .all, instant: nil, date: nil, wait: nil)
        let errors: [any Error] = [refused, CancellationError(), StubExhaustedError(method: .get)]
        #expect(errors.allSatisfy { policy.outcome(of: $0) == .neither })
    }
}
