import Decorum
import DecorumTesting
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct CircuitStateTests {
    typealias Outcome = CircuitState.Outcome

    private static let endless = Duration.seconds(Int64.max)

    private let start = Duration.zero
    private let policy = CircuitPolicy(opensAfter: .failures(inARow: 3))

    /// The breaks of this generator are not shortened by chance: they are halves, or almost whole.
    struct Chance: RandomGenerator {
        var bits = UInt64.min
        func next() -> UInt64 { bits }
    }

    /// Sends one request at a time, each with its outcome, until the circuit refuses one; returns the number that was sent.
    private func send(
        _ outcomes: [Outcome], through circuit: inout CircuitState, at seconds: Double = 0, by policy: CircuitPolicy
    ) -> Int {
        for (sent, outcome) in outcomes.enumerated() {
            guard case .go(let pass) = circuit.admit(at: at(seconds), by: policy, Chance()) else { return sent }
            circuit.note(outcome, of: pass, at: at(seconds), by: policy, Chance())
        }
        return outcomes.count
    }

    private func at(_ seconds: Double) -> Duration { .seconds(seconds) }

    /// A circuit that has opened at the start.
    private func opened(by policy: CircuitPolicy) -> CircuitState {
        var circuit = CircuitState()
        #expect(send([.failure, .failure, .failure], through: &circuit, by: policy) == 3)
        return circuit
    }

    private func probe(_ circuit: inout CircuitState, at seconds: Double) throws -> CircuitState.Pass {
        guard case .go(let pass) = circuit.admit(at: at(seconds), by: policy, Chance()) else {
            throw CancellationError()
        }
        #expect(pass.isProbe)
        return pass
    }

    @Test(
        arguments: [
            ([.failure, .failure], .closed), ([.failure, .failure, .failure], .open),
            ([.failure, .failure, .success, .failure, .failure], .closed),
            ([.failure, .neither, .failure, .neither, .failure], .open), ([.neither, .neither, .neither], .closed),
        ] as [([Outcome], CircuitState.Kind)])
    func `A circuit opens after failures in a row`(outcomes: [Outcome], kind: CircuitState.Kind) {
        var circuit = CircuitState()
        #expect(send(outcomes, through: &circuit, by: policy) == outcomes.count)
        #expect(circuit.kind == kind)
    }

    @Test(
        arguments: [
            (0.5, 4, [.success, .success, .failure, .failure], .open),
            (0.5, 4, [.success, .success, .success, .failure, .failure], .closed),
            (0.5, 4, [.failure, .failure, .failure], .closed),
            (0.5, 4, [.failure, .failure, .failure, .success], .closed),
            (0.5, 4, [.failure, .failure, .failure, .neither, .failure], .open),
            (1, 2, [.success, .failure, .failure], .closed), (7, 2, [.failure, .failure], .open),
            (0, 0, [.success], .closed), (0, 0, [.failure], .open),
        ] as [(Double, Int, [Outcome], CircuitState.Kind)])
    func `A circuit opens when a share of enough requests has failed`(
        ratio: Double, minimum: Int, outcomes: [Outcome], kind: CircuitState.Kind
    ) {
        let policy = CircuitPolicy(opensAfter: .ratio(ratio, ofAtLeast: minimum, within: .seconds(10)))
        var circuit = CircuitState()
        _ = send(outcomes, through: &circuit, by: policy)
        #expect(circuit.kind == kind)
    }

    @Test(arguments: [(9.5, CircuitState.Kind.open), (11, .closed), (1000, .closed)])
    func `A share counts the requests of its time`(seconds: Double, kind: CircuitState.Kind) {
        let policy = CircuitPolicy(opensAfter: .ratio(0.5, ofAtLeast: 4, within: .seconds(10)))
        var circuit = CircuitState()
        _ = send([.failure, .failure, .failure], through: &circuit, by: policy)
        _ = send([.failure], through: &circuit, at: seconds, by: policy)
        #expect(circuit.kind == kind)
    }

    @Test func `An open circuit refuses until its break ends, and lets one probe at a time through`() throws {
        var circuit = opened(by: policy)
        #expect(circuit.admit(at: at(2.4), by: policy, Chance()) == .refuse(until: at(2.5)))

        let pass = try probe(&circuit, at: 2.5)
        #expect(circuit.kind == .halfOpen)
        #expect(circuit.admit(at: at(3), by: policy, Chance()) == .refuse(until: at(8)))

        circuit.note(.success, of: pass, at: at(4), by: policy, Chance())
        #expect(circuit.kind == .closed)
        #expect(send([.failure, .failure], through: &circuit, at: 4, by: policy) == 2)
        #expect(circuit.kind == .closed)
    }

    @Test func `A cancelled probe gives its place to the next one`() throws {
        var circuit = opened(by: policy)
        let cancelled = try probe(&circuit, at: 3)
        circuit.note(.neither, of: cancelled, at: at(3), by: policy, Chance())
        #expect(circuit.kind == .halfOpen)

        let next = try probe(&circuit, at: 3)
        circuit.note(.failure, of: next, at: at(3), by: policy, Chance())
        #expect(circuit.phase == .open(until: at(3 + 5)))
    }

    @Test func `Several probes have to succeed, one after another`() throws {
        var policy = policy
        policy.successesToClose = 2
        var circuit = opened(by: policy)
        #expect(send([.success, .failure], through: &circuit, at: 3, by: policy) == 2)
        #expect(circuit.kind == .open)
        #expect(send([.success], through: &circuit, at: 10, by: policy) == 1)
        #expect(circuit.kind == .halfOpen)
        #expect(send([.success], through: &circuit, at: 10, by: policy) == 1)
        #expect(circuit.kind == .closed)
    }

    @Test func `A probe without an end counts as failed after the longest break`() throws {
        var circuit = opened(by: policy)
        let hanging = try probe(&circuit, at: 3)
        #expect(circuit.admit(at: at(62), by: policy, Chance()) == .refuse(until: at(67)))
        #expect(circuit.admit(at: at(63), by: policy, Chance()) == .refuse(until: at(68)))
        circuit.note(.success, of: hanging, at: at(64), by: policy, Chance())
        #expect(circuit.phase == .open(until: at(68)))
    }

    @Test func `The outcome of a request from before a change does not count`() throws {
        var circuit = CircuitState()
        let passes = (0..<3).compactMap { _ -> CircuitState.Pass? in
            guard case .go(let pass) = circuit.admit(at: start, by: policy, Chance()) else { return nil }
            return pass
        }
        #expect(send([.failure, .failure, .failure], through: &circuit, by: policy) == 3)
        let opening = circuit.phase
        circuit.note(.success, of: passes[0], at: at(1), by: policy, Chance())
        #expect(circuit.phase == opening)

        let pass = try probe(&circuit, at: 3)
        circuit.note(.failure, of: passes[1], at: at(3), by: policy, Chance())
        #expect(circuit.kind == .halfOpen)

        circuit.note(.success, of: pass, at: at(4), by: policy, Chance())
        for _ in 0..<3 { circuit.note(.failure, of: passes[2], at: at(5), by: policy, Chance()) }
        #expect(circuit.kind == .closed)
    }

    @Test(arguments: [(UInt64.min, [2.5, 5, 10, 20, 30, 30]), (.max, [5, 10, 20, 40, 60, 60])])
    func `A break doubles up to its limit, less a random part`(bits: UInt64, lengths: [Double]) throws {
        let chance = Chance(bits: bits)
        var circuit = CircuitState()
        var now = start
        for length in lengths {
            while case .go(let pass) = circuit.admit(at: now, by: policy, chance) {
                circuit.note(.failure, of: pass, at: now, by: policy, chance)
            }
            guard case .open(let end) = circuit.phase else { throw CancellationError() }
            #expect(abs((end - now) / .seconds(1) - length) < 0.001)
            now = end
        }
    }

    @Test(arguments: [(59.0, 5.0), (60, 2.5)])
    func `A break is short again after the circuit was closed for long`(seconds: Double, length: Double) {
        var circuit = opened(by: policy)
        _ = send([.success], through: &circuit, at: 10, by: policy)
        _ = send([.failure, .failure, .failure], through: &circuit, at: 10 + seconds, by: policy)
        #expect(circuit.phase == .open(until: at(10 + seconds + length)))
    }

    @Test func `A circuit that was opened by hand stays open until it is closed by hand`() throws {
        var circuit = CircuitState()
        guard case .go(let pass) = circuit.admit(at: start, by: policy, Chance()) else { return }
        circuit.isolate()
        circuit.note(.success, of: pass, at: start, by: policy, Chance())
        #expect(circuit.admit(at: at(1_000_000), by: policy, Chance()) == .refuse(until: nil))

        circuit.close()
        #expect(send([.failure, .failure, .failure], through: &circuit, by: policy) == 3)
        circuit.close()
        #expect(circuit.kind == .closed)
        #expect(send([.failure, .failure, .failure], through: &circuit, by: policy) == 3)
        #expect(circuit.phase == .open(until: at(2.5)))
    }

    @Test(arguments: [
        CircuitPolicy(opensAfter: .failures(inARow: -3), firstBreak: .zero - .longest, longestBreak: .zero),
        CircuitPolicy(opensAfter: .failures(inARow: 0), firstBreak: endless, longestBreak: endless),
        CircuitPolicy(
            opensAfter: .ratio(-1, ofAtLeast: .min, within: .seconds(Int64.min)), firstBreak: .zero,
            successesToClose: .min),
        CircuitPolicy(opensAfter: .ratio(.infinity, ofAtLeast: 0, within: endless), firstBreak: .seconds(1)),
    ])
    func `Numbers out of range count as the nearest one that makes sense`(policy: CircuitPolicy) {
        let facts = StubConnection().breakingCircuits(policy).layers[0].facts
        #expect(facts.isSuperset(of: [.unsoundSettings, .breaksCircuits, .refuses, .readsStatus]))
        var circuit = CircuitState()
        _ = send([.failure], through: &circuit, by: policy)
        #expect(circuit.kind == .open)
        for _ in 0..<100 { _ = send([.failure], through: &circuit, at: 1e9, by: policy) }
        _ = send([.success], through: &circuit, at: 2e10, by: policy)
        #expect(circuit.kind == .closed)
    }

    @Test(
        arguments: [
            (200, .success, .success), (404, .success, .success), (429, .success, .failure), (500, .failure, .failure),
            (503, .failure, .failure), (304, .success, .success),
        ] as [(Int, Outcome, Outcome)])
    func `A status of the server's is a failure`(code: Int, outcome: Outcome, strict: Outcome) {
        let head = HTTPResponse(status: .init(code: code))
        #expect(policy.outcome(of: head) == outcome)
        #expect(CircuitPolicy(countsTooManyRequests: true).outcome(of: head) == strict)
    }

    @Test(
        arguments: [
            (TransportError(.connectionRefused, at: .connecting), .failure),
            (TransportError(.connectionLost, at: .head), .failure),
            (TransportError(.timedOut, at: .head), .failure),
            (TransportError(.deadlineExceeded, at: .head), .failure),
            (TransportError(.unreachable, at: .connecting), .neither),
            (TransportError(.hostNotFound, at: .connecting), .neither),
            (TransportError(.tls, at: .connecting), .neither),
            (TransportError(.malformedResponse, at: .head), .neither),
            (CancellationError(), .neither),
            (Refusal(meansNotProcessed: true), .neither), (Refusal(meansNotProcessed: false), .failure),
            (StubExhaustedError(method: .get), .neither),
        ] as [(any Error, Outcome)])
    func `A timeout and a lost connection are failures, and what says nothing about the server is neither`(
        error: any Error, outcome: Outcome
    ) {
        #expect(policy.outcome(of: error) == outcome)
    }

    struct Refusal: TemporaryError {
        var mayPass: Bool { true }
        let meansNotProcessed: Bool
    }
}
