public import Decorum
import Foundation
import HTTPTypes

/// Simulates the calls of many clients, each with a stack of its own, against a server in trouble.
///
/// ```swift
/// let report = try simulate(against: .brownOut, clients: 1000, seed: 1) { transport, clock, generator in
///     transport
///         .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
///         .retrying(clock: clock, generator: generator)
/// }
/// print(report)
/// ```
///
/// Calls begin at random moments, at the rate of the scenario, each of a client by chance. Simulated time takes no real time,
/// nothing is sent, and a seed gives the same report each time. Everything runs on the calling thread. A stack waits on the
/// clock that it is given, and on no other; see ``SimulatedClock/run(within:_:)``.
///
/// - Parameters:
///   - scenario: What happens.
///   - clients: The number of clients. A client without a call costs nothing.
///   - seed: The number from which all chance follows.
///   - request: Makes the request of a call, given the number of the call from 0 and the number of its client; by default, a
///     `GET` of `https://api.example.com/items`.
///   - stack: Makes the stack of a client.
/// - Returns: The outcomes of the calls.
/// - Throws: A ``SimulationError``, or the error of a closure.
public func simulate(
    against scenario: Scenario, clients: Int = 100, seed: UInt64 = 1,
    sending request: @escaping @Sendable (_ call: Int, _ client: Int) throws -> Request = { _, _ in
        try .get("https://api.example.com/items")
    },
    through stack:
        @escaping @Sendable (
            _ transport: SimulatedTransport, _ clock: SimulatedClock, _ generator: SeededGenerator
        ) throws -> any Connection
) throws -> SimulationReport {
    let clock = SimulatedClock()
    let generator = SeededGenerator(seed: seed)
    let network = SimulatedNetwork(scenario, clock: clock, generator: SeededGenerator(seed: generator.next()))
    let calls = SimulatedCalls()
    // The end of the last call may be later than the last beginning, as long as a call waits.
    try clock.run(within: scenario.length + .seconds(86_400)) {
        var stacks: [Int: any Connection] = [:]
        var (beginning, number) = (Int64(0), 0)
        while true {
            let rate = scenario.phase(at: beginning).rate
            beginning += Int64(-log(1 - generator.uniform()) / max(rate, 1e-9) * 1e9)
            guard beginning < scenario.length.nanoseconds else { break }
            try await clock.sleep(for: .nanoseconds(beginning - network.time))
            let client = Int(generator.uniform() * Double(max(clients, 1)))
            let made =
                try stacks[client]
                ?? stack(
                    SimulatedTransport(network), clock, SeededGenerator(seed: generator.next()))
            stacks[client] = made
            let request = try request(number, client)
            number += 1
            // A task group takes time in proportion to its tasks for the end of each of them.
            Task { await calls.make(request, through: made, at: network) }
        }
        try await calls.finished(number)
    }
    return SimulationReport(
        scenario: scenario, clients: clients, seed: seed, calls: calls.all,
        requestsBySecond: network.requestsBySecond, requestsByRoute: network.requestsByRoute)
}

/// The calls that have ended.
final class SimulatedCalls: Sendable {
    struct Call: Sendable, Hashable {
        let beginning: Int64
        let end: Int64
        let isGood: Bool
        let routeName: String?
    }

    private let calls = Monitor<[Call]>([])

    var all: [Call] { calls.state }

    /// Waits until a number of calls have ended.
    func finished(_ number: Int) async throws { try await calls.wait { $0.count >= number } }

    /// Sends a request, reads the answer, and notes how it went; a status from 400 on is no good answer.
    func make(_ request: Request, through stack: any Connection, at network: SimulatedNetwork) async {
        let (beginning, routeName) = (network.time, request.options.routeName)
        var isGood = false
        do {
            let response = try await stack.send(request)
            if response.body.bytes == nil { _ = try await response.data(upTo: 1 << 30) }
            isGood = response.status.code < 400
        } catch {}
        let call = Call(beginning: beginning, end: network.time, isGood: isGood, routeName: routeName)
        calls.update { $0.append(call) }
    }
}
