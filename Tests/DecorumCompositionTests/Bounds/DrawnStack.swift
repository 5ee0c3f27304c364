import Decorum
import DecorumTesting
import HTTPTypes

/// A layer with settings that were drawn at random.
indirect enum DrawnLayer {
    /// A retry with the number of retries that its budget allows, and an identifier.
    case retrying(RetryPolicy, allowed: Int, id: Int)
    case redirecting(Int)
    case compressing
    case pacing(PacingPolicy)
    case limiting(TimePolicy)
    case limitingAttempts(AttemptTimePolicy)
    /// A layer that sends to its base, and after a failure through other layers.
    case fallback([DrawnLayer])
    /// A layer that sends once, by its name.
    case other(String, @Sendable (any Connection, ImpatientClock) -> any Connection)

    /// The number of requests that the layer makes of one, without its branches.
    var factor: Int {
        switch self {
        case .retrying(let policy, let allowed, _): min(policy.retries, allowed + 1) + 1
        case .redirecting(let limit): limit + 1
        case .compressing: 2
        case .fallback(let branch): branch.reduce(2) { $0 * $1.factor }
        default: 1
        }
    }

    var isSending: Bool { factor > 1 }

    func add(
        to base: any Connection, over server: WorstServer, clock: ImpatientClock, generator: any RandomGenerator
    ) -> any Connection {
        switch self {
        case .retrying(let policy, _, let id):
            base.intercepting("deadline of \(id)", facts: []) { request, base in
                server.note(request.options.deadline, for: id)
                return try await base.send(request)
            }
            .retrying(policy, clock: clock, generator: generator)
        case .redirecting(let limit): base.followingRedirects(upTo: limit, clock: clock)
        case .compressing: base.compressing(CompressionPolicy(minimumLength: 1), clock: clock)
        case .pacing(let policy): base.pacing(policy, clock: clock, generator: generator)
        case .limiting(let policy): base.limitingTime(policy, clock: clock)
        case .limitingAttempts(let policy): base.limitingTime(policy, as: .attempt, clock: clock)
        case .fallback(let branch):
            FallingBack(
                base: AnyConnection(base),
                other: AnyConnection(branch.connection(over: server, clock: clock, generator: generator)))
        case .other(_, let add): add(base, clock)
        }
    }
}

extension DrawnLayer {
    fileprivate var isAlone: Bool { kind == "redirecting" || kind == "compressing" }

    fileprivate var kind: String {
        switch self {
        case .redirecting: "redirecting"
        case .compressing: "compressing"
        case .other(let name, _): name
        default: ""
        }
    }
}

extension [DrawnLayer] {
    /// Composes the layers, whose first is the outermost.
    func connection(
        over server: WorstServer, clock: ImpatientClock, generator: any RandomGenerator
    ) -> any Connection {
        reversed().reduce(server as any Connection) { base, layer in
            layer.add(to: base, over: server, clock: clock, generator: generator)
        }
    }
}

/// Answers by another connection what its base does not answer well.
private struct FallingBack: ComposedConnection {
    let base: AnyConnection
    let other: AnyConnection

    var layer: Layer { Layer(name: "fallingBack", sending: .init(branches: [.init("other", other.layers)])) }

    func send(_ request: consuming Request) async throws -> Response {
        let again = request
        do {
            let response = try await base.send(request)
            guard response.status.kind == .serverError else { return response }
        } catch is TransportError {}
        return try await other.send(again)
    }
}

/// Draws layers.
struct LayerDraw {
    let chance: SeededGenerator

    func number(below limit: Int) -> Int { Int(chance.next() % UInt64(limit)) }

    func pick<Value>(_ values: [Value]) -> Value { values[number(below: values.count)] }

    /// Up to nine layers that send at most 2,000 requests, half of the time in the canonical order.
    func stack() -> [DrawnLayer] {
        var layers: [DrawnLayer] = []
        var product = 1
        for _ in 0..<(1 + number(below: 9)) {
            let layer = layer(mayBranch: true)
            // Of two layers of these kinds, the outer one has nothing to do.
            if layer.isAlone, layers.contains(where: { $0.kind == layer.kind }) { continue }
            guard product * layer.factor <= 2000 else { continue }
            product *= layer.factor
            layers.append(layer)
        }
        return number(below: 2) == 0 ? layers.sorted { $0.place < $1.place } : layers
    }

    private func layer(mayBranch: Bool) -> DrawnLayer {
        switch number(below: mayBranch ? 16 : 14) {
        case 0...3: retry()
        case 4, 5: .redirecting(number(below: 5))
        case 6: .compressing
        case 7: .pacing(PacingPolicy(longestWait: .seconds(pick([0, 5, 60, 90]))))
        case 8: .limiting(TimePolicy(call: .seconds(pick([1, 30, 100, 900]))))
        case 9: .limitingAttempts(AttemptTimePolicy(.seconds(pick([1, 10, 60]))))
        case 10...13: pick(Self.others)
        default: .fallback((0..<number(below: 3)).map { _ in layer(mayBranch: false) }.filter { $0.factor != 2 })
        }
    }

    private func retry() -> DrawnLayer {
        let retries = number(below: 4)
        let budgets: [(RetryBudget, allowed: Int)] = [
            (.unlimited, retries), (.perCall(retries), retries), (.perCall(1), min(1, retries)),
        ]
        let (budget, allowed) = pick(budgets)
        let policy = RetryPolicy(
            retries: retries, baseDelay: .milliseconds(pick([0, 500, 3000])),
            maximumDelay: .seconds(pick([1, 20, 60])),
            maximumRetryAfter: .seconds(pick([0, 5, 60, 120])),
            budget: budget)
        return .retrying(policy, allowed: allowed, id: number(below: .max))
    }

    private static let others: [DrawnLayer] = [
        .other("caching") { $0.caching(in: MemoryResponseStore(), clock: $1) },
        .other("revalidating") { $0.revalidating(in: MemoryResponseStore(), clock: $1) },
        .other("coalescing") { $0.coalescing(clock: $1) },
        .other("decompressing") { base, _ in base.decompressing() },
        .other("validating") { $0.validatingStatus(.codes(100...599), clock: $1) },
        .other("observing") { $0.observing(clock: $1) { _ in } },
        .other("logging") { $0.logging(to: LogSink { _ in }, clock: $1) },
        .other("identifying") { base, _ in base.addingRequestID().addingIdempotencyKey() },
        .other("accepting") { base, _ in base.addingDefaultFields([.accept: "*/*"]) },
        .other("acting") { base, _ in base.acting(for: Principal("user")) },
    ]
}

extension DrawnLayer {
    /// The place in the canonical order, outermost first.
    fileprivate var place: Int {
        switch self {
        case .limiting: 1
        case .redirecting: 3
        case .other("caching", _), .other("revalidating", _): 5
        case .other("coalescing", _): 6
        case .retrying: 7
        case .pacing: 8
        case .limitingAttempts: 9
        case .compressing: 10
        case .other("logging", _): 12
        case .fallback: 0
        case .other: 2
        }
    }
}
