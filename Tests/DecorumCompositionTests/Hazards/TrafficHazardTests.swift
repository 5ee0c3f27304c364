import Decorum
import DecorumTesting
import Testing

/// Limits and circuits at the wrong place, as the facts of their layers tell; `DecorumTraffic` shows the harm.
@Suite(.timeLimit(.minutes(3))) struct TrafficHazardTests {
    private final class Shared: Sendable {}

    private let clock = ImpatientClock()
    private let base = StubConnection()

    private func limiting(_ base: some Connection, in state: Shared = Shared()) -> some Connection {
        base.declaring("limiting", [.limitsRequests, .waits], sharing: state)
    }

    private func breaking(
        _ base: some Connection, in state: Shared = Shared(), _ further: Set<Layer.Fact> = []
    ) -> some Connection {
        base.declaring("breakingCircuits", further.union([.breaksCircuits, .refuses]), sharing: state)
    }

    @Test func `A limit belongs inside of retries`() {
        expectFinding(
            of: "limitOutsideOfRetries", in: limiting(base.retrying(clock: clock)), naming: ["limiting", "retrying"],
            notIn: limiting(base).retrying(clock: clock))
    }

    @Test func `A circuit belongs inside of retries and of the cache, around a transport, and to one server`() {
        expectFinding(
            of: "circuitOutsideOfRetries", in: breaking(base.retrying(clock: clock)),
            naming: ["breakingCircuits", "retrying"], notIn: breaking(base).retrying(clock: clock))
        let store = MemoryResponseStore()
        expectFinding(
            of: "circuitOutsideOfCache", in: breaking(base.caching(in: store)),
            naming: ["breakingCircuits", "caching"],
            notIn: breaking(base).caching(in: store))
        expectFinding(
            of: "circuitOfAllServers", in: breaking(base, [.spansOrigins]), naming: ["breakingCircuits"],
            notIn: breaking(base))
        expectFinding(
            of: "circuitWithoutTransport", in: breaking(Answering()), naming: ["breakingCircuits"],
            notIn: breaking(base))
    }

    @Test func `Limits of nothing and faults on purpose are found`() {
        expectFinding(
            of: "limitOfNothing", in: base.declaring("limiting", [.letsNothingPass, .refuses], sharing: Shared()),
            naming: ["limiting"], notIn: limiting(base))
        expectFinding(
            of: "unsoundSettings", in: breaking(base, [.unsoundSettings]), naming: ["breakingCircuits"],
            notIn: breaking(base))
        expectFinding(
            of: "faultsInjected", in: base.declaring("injectingFaults", [.injectsFaults], sharing: Shared()),
            naming: ["injectingFaults"], notIn: base)
    }

    @Test func `One state in two layers is found`() {
        let (state, other) = (Shared(), Shared())
        expectFinding(
            of: "limitTwice", in: limiting(limiting(base, in: state), in: state), naming: ["limiting", "limiting"],
            notIn: limiting(limiting(base, in: state), in: other))
        expectFinding(
            of: "circuitTwice", in: breaking(breaking(base, in: state), in: state),
            naming: ["breakingCircuits", "breakingCircuits"], notIn: breaking(breaking(base, in: state), in: other))
        withExtendedLifetime(other) {}
    }
}

/// A connection that answers by itself, and is no transport.
private struct Answering: Connection {
    var layers: [Layer] { [Layer(name: "answering")] }

    func send(_ request: consuming Request) async throws -> Response { .page }
}

private struct DeclaredConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let layer: Layer

    func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
}

extension Connection {
    fileprivate func declaring(
        _ name: String, _ facts: Set<Layer.Fact>, sharing state: any AnyObject & Sendable
    ) -> some Connection {
        DeclaredConnection(
            base: self,
            layer: Layer(name: name, role: .resilience, facts: facts, memory: .init(state: [.init(state)])))
    }
}
