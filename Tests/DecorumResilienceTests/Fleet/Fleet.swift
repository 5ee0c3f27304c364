import Decorum
import Foundation
import Synchronization

/// Many clients, each with a stack of its own, that call one server.
struct Fleet: Sendable {
    var clients: Int
    /// The calls of all clients in a second.
    var callsPerSecond = 80.0
    /// The requests that the server serves in a second.
    var capacity = 100.0
    var trouble = QueueingServer.Trouble.slow
    var policy = RetryPolicy.standard
    var seed: UInt64 = 7
    /// The time before the trouble; the trouble takes 20 seconds.
    var calm = 30
    /// The time after the trouble.
    var aftermath = 30

    /// Lets the clients call, and counts.
    func run() async -> FleetReport {
        let span = Duration.seconds(calm) ..< .seconds(calm + 20)
        let end = Duration.seconds(calm + 20 + aftermath)
        let simulation = Simulation()
        return await simulation.run { clock in
            let server = QueueingServer(serving: capacity, trouble, in: span, clock: clock)
            let calls = CallCount()
            let chance = SeededGenerator(seed: seed)
            var stacks: [Int: any Connection] = [:]
            await withDiscardingTaskGroup { group in
                while true {
                    let pause = -log(1 - chance.uniform()) / callsPerSecond
                    try? await clock.sleep(for: .seconds(pause))
                    let born = clock.elapsed
                    guard born < end else { break }
                    let client = Int(chance.next() % UInt64(clients))
                    let stack = stacks[client] ?? server.retrying(policy, clock: clock, generator: chance)
                    stacks[client] = stack
                    group.addTask {
                        guard let request = try? Request.get("https://fleet.example/") else { return }
                        let response = try? await stack.send(request)
                        calls.add(bornAt: born, isGood: response?.status == .ok)
                    }
                }
            }
            return FleetReport(
                offered: calls.offered, good: calls.good, sent: server.sent, trouble: calm..<(calm + 20),
                end: calm + 20 + aftermath)
        }
    }
}

/// The calls of a fleet, by the second in which they began.
private final class CallCount: Sendable {
    private let counts = Mutex<(offered: [Int: Int], good: [Int: Int])>(([:], [:]))

    var offered: [Int: Int] { counts.withLock { $0.offered } }
    var good: [Int: Int] { counts.withLock { $0.good } }

    func add(bornAt born: Duration, isGood: Bool) {
        let second = Int(born.components.seconds)
        counts.withLock {
            $0.offered[second, default: 0] += 1
            if isGood { $0.good[second, default: 0] += 1 }
        }
    }
}

/// The numbers of a fleet.
struct FleetReport: Sendable {
    let offered: [Int: Int]
    let good: [Int: Int]
    let sent: [Int: Int]
    let trouble: Range<Int>
    let end: Int

    /// The requests for each call while the server is in trouble.
    var requestsPerCall: Double { Double(sum(sent, in: trouble)) / Double(sum(offered, in: trouble)) }

    /// The part of the calls after the trouble that end well.
    var goodAfterwards: Double {
        let time = trouble.upperBound..<end
        return Double(sum(good, in: time)) / Double(sum(offered, in: time))
    }

    /// The seconds after the trouble until 95 % of the calls end well, for four seconds on end; nil for never.
    var recovery: Int? {
        (trouble.upperBound..<(end - 4)).first { second in
            (second..<(second + 4)).allSatisfy {
                Double(good[$0] ?? 0) >= 0.95 * Double(offered[$0] ?? 0)
            }
        }
        .map { $0 - trouble.upperBound }
    }

    /// The largest number of requests in a second.
    var peak: Int { sent.values.max() ?? 0 }

    private func sum(_ counts: [Int: Int], in time: Range<Int>) -> Int {
        time.reduce(0) { $0 + (counts[$1] ?? 0) }
    }
}

extension FleetReport: CustomStringConvertible {
    var description: String {
        let requests = (requestsPerCall * 100).rounded() / 100
        let good = (goodAfterwards * 1000).rounded() / 10
        let recovery = recovery.map { "after \($0) s" } ?? "never"
        return
            "\(requests) requests a call in trouble, \(good) % good afterwards, back to 95 % \(recovery), peak \(peak)/s"
    }
}
