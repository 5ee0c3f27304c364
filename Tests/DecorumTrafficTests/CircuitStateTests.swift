import Decorum
import DecorumTesting
import HTTPTypes
import Testing

@testable import DecorumTraffic

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
        CircuitPolicy(
            opensAfter: .failures(inARow: 0), firstBreak: .seconds(Int64.max), longestBreak: .seconds(Int64.max)),
        CircuitPolicy(
            opensAfter: .ratio(-1, ofAtLeast: .min, within: .seconds(Int64.min)), firstBreak: .zero,
            successesToClose: .min),
        CircuitPolicy(opensAfter: .ratio(.infinity, ofAtLeast: 0, within: .seconds(Int64.max))),
    ])
    func `Numbers out of range count as the nearest one that makes sense`(policy: CircuitPolicy) {
        let facts = StubConnection().breakingCircuits(policy).layers[0].facts
        #expect(facts.isSuperset(of: [.unsoundSettings, .breaksCircuits, .refuses, .readsStatus]))
        #expect(run("f", by: policy) != "closed")
        #expect(run("f 1e9 " + String(repeating: "f", count: 100) + " 2e10 s", by: policy) == "closed")
    }

    private struct Refusal: TemporaryError {
        var mayPass: Bool { true }
        let meansNotProcessed: Bool
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
        let errors: [any Error] = [
            Refusal(meansNotProcessed: false), Refusal(meansNotProcessed: true), CancellationError(),
            StubExhaustedError(method: .get),
        ]
        #expect(errors.map { policy.outcome(of: $0) } == [.failure, .neither, .neither, .neither])
    }
}
