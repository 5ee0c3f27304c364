public import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// A network in memory, with a server for each host, which behaves as a ``Scenario`` says, in the time of a simulation.
///
/// ```swift
/// let clock = SimulatedClock()
/// let network = SimulatedNetwork(.brownOut, clock: clock, generator: SeededGenerator(seed: 1))
/// let stack = SimulatedTransport(network).retrying(clock: clock)
/// let response = try clock.run { try await stack.send(.get("https://api.example.com/")) }
/// ```
///
/// ``simulate(against:clients:seed:sending:through:)`` does all this for many clients. Nothing is sent: no thread, socket or task
/// stands behind the servers.
public final class SimulatedNetwork: Sendable {
    private struct State {
        var servers: [String: ServerQueue<SimulatedExchange>] = [:]
        var requestsBySecond: [Int] = []
        var requestsByRoute: [String: Int] = [:]
    }

    let scenario: Scenario
    package let clock: SimulatedClock
    private let generator: any RandomGenerator
    private let start: Int64
    private let state = Mutex(State())

    /// Creates a network, whose scenario starts now.
    ///
    /// - Parameters:
    ///   - scenario: What the servers do.
    ///   - clock: The clock of the simulation.
    ///   - generator: The source of all that happens by chance.
    public init(_ scenario: Scenario, clock: SimulatedClock, generator: any RandomGenerator) {
        self.scenario = scenario
        self.clock = clock
        self.generator = generator
        start = clock.nanoseconds
        for phase in scenario.phases where phase.server.answer == .stopped {
            clock.perform(at: start + phase.start.nanoseconds) { [weak self] in self?.loseAll() }
        }
    }

    /// The number of requests that have been sent in each second.
    public var requestsBySecond: [Int] { state.withLock { $0.requestsBySecond } }

    /// The number of requests with each `routeName`; of requests without one, at the empty name.
    public var requestsByRoute: [String: Int] { state.withLock { $0.requestsByRoute } }

    /// The nanoseconds since the scenario has started.
    var time: Int64 { clock.nanoseconds - start }

    /// The server of a host, as it is now.
    func server(of host: String) -> SimulatedServer { scenario.server(of: host, at: time) }

    /// Sends a request on its way to its server.
    func send(_ exchange: SimulatedExchange) {
        let second = Int(time / 1_000_000_000)
        state.withLock { state in
            while state.requestsBySecond.count <= second { state.requestsBySecond.append(0) }
            state.requestsBySecond[second] += 1
            state.requestsByRoute[exchange.routeName ?? "", default: 0] += 1
        }
        let trip = server(of: exchange.host).trip.draw(using: generator)
        exchange.tripBack.store(trip - trip / 2, ordering: .relaxed)
        clock.perform(at: clock.nanoseconds + trip / 2) { self.arrive(exchange) }
    }

    private func arrive(_ exchange: SimulatedExchange) {
        let server = server(of: exchange.host)
        if server.losses > 0, generator.uniform() < server.losses { return }
        switch server.answer {
        case .stopped: answer(exchange, .failure(TransportError(.connectionRefused, at: .connecting)))
        case .refuses(let status, let pause): answer(exchange, .success(.init(status: status, retryAfter: pause)))
        case .works:
            switch change(exchange.host, { $0.arrive(exchange, at: server) }) {
            case .starts(let number): work(on: exchange, number, at: server)
            case .waits: break
            case .isRefused: answer(exchange, .success(.init(status: 503)))
            }
        }
    }

    private func work(on exchange: SimulatedExchange, _ number: Int, at server: SimulatedServer) {
        let delay = exchange.routeName.flatMap { server.workOfRoute[$0] } ?? server.work
        clock.perform(at: clock.nanoseconds + delay.draw(using: generator)) { self.finish(exchange, number) }
    }

    private func finish(_ exchange: SimulatedExchange, _ number: Int) {
        let server = server(of: exchange.host)
        let (done, next) = change(exchange.host) { queue in
            (queue.end(number), queue.startNext(at: server) { $0.isWanted })
        }
        if let next { work(on: next.1, next.0, at: server) }
        guard done === exchange else { return }
        if server.resets > 0, generator.uniform() < server.resets {
            answer(exchange, .failure(TransportError(.connectionLost, at: .head)))
        } else {
            let fails = server.failures > 0 && generator.uniform() < server.failures
            answer(exchange, .success(.init(status: fails ? 500 : 200)))
        }
    }

    private func loseAll() {
        let lost = state.withLock { state in
            let hosts = state.servers.keys.filter { !scenario.soundHosts.contains($0) }.sorted()
            return hosts.flatMap { state.servers[$0]?.loseAll() ?? [] }
        }
        for exchange in lost { answer(exchange, .failure(TransportError(.connectionLost, at: .head))) }
    }

    private func answer(_ exchange: SimulatedExchange, _ answer: Result<SimulatedExchange.Answer, TransportError>) {
        let back = exchange.tripBack.load(ordering: .relaxed)
        clock.perform(at: clock.nanoseconds + back) { exchange.end(with: answer.mapError { $0 }) }
    }

    private func change<Value>(
        _ host: String, _ body: (inout ServerQueue<SimulatedExchange>) -> Value
    ) -> Value where Value: Sendable {
        state.withLock { body(&$0.servers[host, default: ServerQueue()]) }
    }
}

/// A transport over a ``SimulatedNetwork``.
///
/// It ends an exchange at the `RequestOptions.deadline` of its request, or when the idle timeout has passed, which is 60 seconds
/// for a request without one.
public struct SimulatedTransport: Connection {
    private let network: SimulatedNetwork

    /// Creates a transport.
    public init(_ network: SimulatedNetwork) {
        self.network = network
    }

    /// One layer, which invents its answers.
    public var layers: [Layer] {
        [
            Layer(
                name: "SimulatedTransport", role: .transport, facts: [.inventsAnswers], sending: .init(0...0),
                memory: .init(bytes: .unbounded))
        ]
    }

    /// Sends a request to the server of its host.
    public func send(_ request: consuming Request) async throws -> Response {
        let request = request
        let clock = network.clock
        try Task.checkCancellation()
        let start = clock.now
        do {
            guard let host = request.head.authority else { throw TransportError(.other, at: .connecting) }
            let idle = request.options.idleTimeout ?? .seconds(60)
            let end = min(request.options.deadline ?? .farAway(start), start + idle.bounded)
            let isDeadline = end == request.options.deadline
            let failure =
                isDeadline ? TransportError(.deadlineExceeded, at: .head) : TransportError(idleFor: idle, at: .head)
            guard end > start else { throw failure }
            request.reportSending()
            let exchange = SimulatedExchange(host: host, routeName: request.options.routeName)
            clock.perform(at: clock.nanoseconds + start.duration(to: end).nanoseconds) { [weak exchange] in
                exchange?.end(with: .failure(failure))
            }
            network.send(exchange)
            return response(to: request, try await exchange.answer())
        } catch {
            throw TransportError.locate(error, in: request, after: clock.now - start)
        }
    }

    private func response(to request: Request, _ answer: SimulatedExchange.Answer) -> Response {
        let clock = network.clock
        let server = network.server(of: request.head.authority ?? "")
        var fields = HTTPFields()
        if server.skew != .zero { fields[.date] = "\(HTTPDate(clock.date + TimeInterval(server.skew / .seconds(1))))" }
        if let pause = answer.retryAfter { fields[.retryAfter] = String(Int((pause / .seconds(1)).rounded(.up))) }
        var body = Body.empty
        if server.contentTime > .zero {
            let (part, deadline) = (server.contentTime / 4, request.options.bodyDeadline)
            let size = (server.contentLength + 3) / 4
            body = Body(replay: .once) { _ in
                SimulatedContent(clock: clock, size: max(1, size), time: part, deadline: deadline)
            }
        } else if server.contentLength > 0 {
            body = Body(Data(count: server.contentLength))
        }
        return Response(
            head: HTTPResponse(status: .init(code: answer.status), headerFields: fields), body: body,
            metadata: ResponseMetadata(answering: request, from: .stub))
    }
}

extension ContinuousClock.Instant {
    fileprivate static func farAway(_ start: Self) -> Self { start + .longest }
}

/// The content of an answer, which arrives in four parts.
private struct SimulatedContent: BodyReader {
    let clock: SimulatedClock
    let size: Int
    let time: Duration
    let deadline: ContinuousClock.Instant?
    var parts = 4

    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        guard parts > 0 else { return nil }
        let arrival = clock.now + time
        try await clock.sleep(until: deadline.map { min($0, arrival) } ?? arrival, tolerance: nil)
        if let deadline, deadline < arrival { throw TransportError(.deadlineExceeded, at: .body) }
        parts -= 1
        return Data(count: size)
    }
}

/// A request on its way, and the task that waits for its answer.
final class SimulatedExchange: Sendable {
    struct Answer: Sendable {
        var status: Int
        var retryAfter: Duration?
    }

    private enum State {
        case begun
        case awaited(CheckedContinuation<Answer, any Error>)
        case ended(Result<Answer, any Error>?)
    }

    let host: String
    let routeName: String?
    /// The time of the answer on its way, in nanoseconds.
    let tripBack = Atomic<Int64>(0)
    private let state = Mutex(State.begun)

    init(host: String, routeName: String?) {
        self.host = host
        self.routeName = routeName
    }

    /// Whether a client still waits for the answer.
    var isWanted: Bool {
        state.withLock { state in
            if case .ended = state { false } else { true }
        }
    }

    /// Ends the exchange, unless it has ended.
    func end(with outcome: Result<Answer, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<Answer, any Error>? in
            switch state {
            case .begun: state = .ended(outcome)
            case .awaited(let waiter):
                state = .ended(nil)
                return waiter
            case .ended: break
            }
            return nil
        }
        waiter?.resume(with: outcome)
    }

    /// Waits for the answer; throws the failure, or `CancellationError`.
    func answer() async throws -> Answer {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let outcome = state.withLock { state -> Result<Answer, any Error>? in
                    if case .ended(let outcome) = state { return outcome }
                    state = .awaited(waiter)
                    return nil
                }
                if let outcome { waiter.resume(with: outcome) }
            }
        } onCancel: {
            end(with: .failure(CancellationError()))
        }
    }
}
