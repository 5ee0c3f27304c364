import Decorum
import DecorumTesting
import Testing

/// Limits, circuits, second requests, fallbacks and faults at the wrong place, as the facts of their layers tell;
/// `DecorumTraffic` shows the harm.
@Suite(.timeLimit(.minutes(3))) struct TrafficHazardTests {
    private final class Shared: Sendable {}
    private typealias Modifier = (_ base: any Connection) throws -> any Connection

    private let clock = ImpatientClock()
    private let base: any Connection = StubConnection()
    private let state = Shared()
    private let other = Shared()

    private func limiting(_ base: any Connection, in state: Shared? = nil) -> any Connection {
        base.declaring(
            "limiting", [.limitsRequests, .refuses], sharing: state.map { .init($0) },
            time: .init(waiting: .atMost(.seconds(9))))
    }

    private func breaking(
        _ base: any Connection, in state: Shared? = nil, _ further: Set<Layer.Fact> = [], window: Duration? = nil
    ) -> any Connection {
        base.declaring(
            "breakingCircuits", further.union([.breaksCircuits, .refuses, .readsStatus]),
            sharing: state.map { .init($0) }, time: .init(window: window))
    }

    private func hedging(_ base: any Connection, _ budget: RetryBudget? = nil) -> any Connection {
        base.declaring(
            "hedging", [.hedges, .readsStatus, budget == nil ? .readsStatus : .readsClock],
            sharing: budget?.sharedState(on: SystemClock()), sending: .init(1...2))
    }

    private func fallingBack(_ base: any Connection, sending times: ClosedRange<Int> = 1...2) -> any Connection {
        base.declaring(
            "fallingBack", [.fallsBack, .changesSignedParts], role: Layer.Role("fallback"), sending: .init(times))
    }

    private func injecting(_ base: any Connection) -> any Connection {
        base.declaring("injectingFaults", [.injectsFaults], role: Layer.Role("faults"))
    }

    /// Expects a finding if one layer is outside of another one, and none if it is inside.
    private func check(of hazard: Hazard, _ outer: Modifier, _ inner: Modifier, moving isInner: Bool = false) throws {
        let (wrong, mended) = try (outer(inner(base)), inner(outer(base)))
        let names = wrong.layers.prefix(2).map(\.name)
        expectFinding(of: hazard, in: wrong, naming: isInner ? names.reversed() : names, notIn: mended)
    }

    @Test func `Two layers in the wrong order are found, and not in the other order`() throws {
        let limiting: Modifier = { self.limiting($0) }
        let breaking: Modifier = { self.breaking($0) }
        let hedging: Modifier = { self.hedging($0) }
        let retrying: Modifier = { $0.retrying(clock: clock) }
        let caching: Modifier = { $0.caching(in: MemoryResponseStore()) }
        let fallingBack: Modifier = { self.fallingBack($0) }
        let resolving: Modifier = { try $0.resolving(against: "https://a.example/") }
        let signing: Modifier = { $0.authenticating(with: .signer(VisibleSigner()), for: site) }
        for inner in [retrying, hedging] {
            try check(of: "limitOutsideOfRetries", limiting, inner)
            try check(of: "circuitOutsideOfRetries", breaking, inner)
        }
        try check(of: "circuitOutsideOfCache", breaking, caching)
        for inner in [retrying, { $0.pacing(clock: clock) }, caching, { $0.coalescing() }, fallingBack] {
            try check(of: "hedgeOutsideOfWaits", hedging, inner)
        }
        try check(of: "signatureOutsideOfRetries", signing, hedging)
        try check(of: "keyForEachAttempt", hedging, { $0.addingIdempotencyKey() }, moving: true)
        for inner in [retrying, breaking, caching, fallingBack] {
            try check(of: "faultsOutsideOfReactions", injecting, inner)
        }
        try check(of: "retriesOutsideOfAnswers", retrying, fallingBack)
        for outer in [breaking, fallingBack] {
            try check(of: "originSetTooLate", outer, resolving, moving: true)
        }
    }

    @Test func `A circuit is for one server, and stands around a transport`() {
        expectFinding(
            of: "circuitOfAllServers", in: breaking(base, [.spansOrigins]), naming: ["breakingCircuits"],
            notIn: breaking(base))
        expectFinding(
            of: "circuitWithoutTransport", in: breaking(Answering(layer: Layer(name: "answering"))),
            naming: ["breakingCircuits"], notIn: breaking(base))
    }

    @Test(
        arguments: [
            (.seconds(20), .seconds(10), false), (.seconds(19), .seconds(10), true), (.zero, .seconds(1), true),
            (.seconds(1), nil, false), (nil, .seconds(10), false), (.seconds(Int64.max), .seconds(Int64.max), false),
            (.seconds(Int64.min), .seconds(10), true),
        ] as [(Duration?, Duration?, Bool)])
    func `A circuit counts for at least twice the time of an attempt`(
        window: Duration?, attempt: Duration?, isFound: Bool
    ) {
        let times = AttemptTimePolicy(attempt)
        for stack in [
            breaking(base.limitingTime(times, as: .attempt, clock: clock), window: window),
            breaking(base, window: window).limitingTime(times, as: .attempt, clock: clock),
        ] {
            #expect(stack.findings.contains { $0.hazard == "circuitWindowTooShort" } == isFound, "\(stack)")
        }
        expectFinding(
            of: "circuitWindowTooShort", in: breaking(base.limitingTime(as: .attempt), window: .seconds(10)),
            naming: ["breakingCircuits", "limitingTime"],
            notIn: breaking(base.limitingTime(), window: .seconds(10)))
    }

    @Test func `Retries multiply with second requests of another budget, and with the retries of a transport`() throws {
        let sdk = Answering(layer: Layer(name: "SDK", role: .transport, sending: .init(1...4)))
        let plain = Answering(layer: Layer(name: "wire", role: .transport, sending: .init(1...3)))
        let wrong = hedging(plain, RetryBudget()).retrying()
        expectFinding(
            of: "retriesMultiply", in: wrong, naming: ["retrying", "hedging"],
            notIn: hedging(plain, .shared).retrying())
        let finding = try #require(wrong.findings.first { $0.hazard == "retriesMultiply" })
        #expect(finding.severity == .warning && finding.change.contains("one budget"))
        #expect(finding.consequence == "`retrying` and `hedging` multiply: one call may be sent 8 times.")
        // The retries of a transport count, and not what makes up for a lost connection.
        expectFinding(
            of: "retriesMultiply", in: sdk.retrying(), naming: ["retrying", "SDK"], notIn: plain.retrying())
        #expect("\(sdk.retrying().findings)".contains("`retrying` and `SDK` multiply: one call may be sent 16 times."))
        expectFinding(
            of: "layerTwice", in: hedging(hedging(plain)), naming: ["hedging", "hedging"], notIn: hedging(plain))
    }

    @Test func `Limits of zero and below, unsound settings, and faults on purpose are found`() {
        for wrong in [
            base.declaring("limiting", [.letsNothingPass, .refuses]), base.limitingTime(TimePolicy(call: .zero)),
            base.limitingTime(AttemptTimePolicy(.seconds(-1)), as: .attempt),
        ] as [any Connection] {
            expectFinding(
                of: "limitOfNothing", in: wrong, naming: [wrong.layers[0].name], notIn: limiting(base).limitingTime())
            #expect(throws: CompositionError.self) { try wrong.checked() }
        }
        expectFinding(
            of: "unsoundSettings", in: breaking(base, [.unsoundSettings]), naming: ["breakingCircuits"],
            notIn: breaking(base))
        expectFinding(of: "faultsInjected", in: injecting(base), naming: ["injectingFaults"], notIn: base)
    }

    @Test func `One state in two layers, or in a layer and in the refresh of credentials, is found`() {
        expectFinding(
            of: "limitTwice", in: limiting(limiting(base, in: state), in: state), naming: ["limiting", "limiting"],
            notIn: limiting(limiting(base, in: state), in: other))
        expectFinding(
            of: "circuitTwice", in: breaking(breaking(base, in: state), in: state),
            naming: ["breakingCircuits", "breakingCircuits"], notIn: breaking(breaking(base, in: state), in: other))
        let series = limiting(limiting(base, in: state), in: other)
        #expect(series.findings.map(\.hazard) == ["layerTwice"])

        let same = limiting(base, in: state)
        func signingIn(_ base: any Connection) -> any Connection {
            base.declaring(
                "signingIn", [.addsCredentials, .bindsToOrigins], role: .authentication,
                sending: .init(branches: [.init("refresh", same.layers, carriesRequests: false)]))
        }
        expectFinding(
            of: "refreshThroughItself", in: limiting(signingIn(base), in: state), naming: ["signingIn", "limiting"],
            notIn: limiting(signingIn(base), in: other))
        #expect(signingIn(same).findings.isEmpty, "Outside of the limit, a refresh holds no place of it.")
    }

    @Test func `A fallback to another server gets no credential that is for every origin`() throws {
        let credential = base.addingDefaultFields([.authorization: "Bearer secret"])
        expectFinding(
            of: "credentialsForEveryOrigin", in: fallingBack(credential),
            naming: ["addingDefaultFields", "fallingBack"],
            notIn: fallingBack(base.authenticating(with: try .bearer("secret"), for: site)))
        #expect(fallingBack(credential, sending: 1...1).findings.isEmpty, "The others have connections of their own.")
        // Nothing of another origin is stored under the first one.
        #expect(fallingBack(base).caching(in: MemoryResponseStore(), clock: clock).findings.isEmpty)
    }

    @Test func `All of them in their order have no findings, also where a cache answers for what they refuse`() {
        let attempts = breaking(base.limitingTime(as: .attempt, clock: clock), window: .seconds(30))
        let calls = hedging(limiting(attempts)).pacing(clock: clock).retrying(clock: clock)
            .caching(in: MemoryResponseStore(), clock: clock)
        let stack = fallingBack(calls).limitingTime(clock: clock)
        #expect(stack.findings.isEmpty, "\(stack)")
    }
}

/// A connection that answers by itself.
private struct Answering: Connection {
    let layer: Layer
    var layers: [Layer] { [layer] }

    func send(_ request: consuming Request) async throws -> Response { .page }
}

private struct DeclaredConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let layer: Layer

    func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
}

extension Connection {
    /// The connection in a layer that declares facts and does nothing.
    func declaring(
        _ name: String, _ facts: Set<Layer.Fact>, role: Layer.Role = .resilience,
        sharing state: Layer.StateIdentity? = nil, sending: Layer.Sending = .init(), time: Layer.Time = .init()
    ) -> any Connection {
        DeclaredConnection(
            base: self,
            layer: Layer(
                name: name, role: role, facts: facts, sending: sending, time: time,
                memory: .init(state: state.map { [$0] } ?? [])))
    }
}
