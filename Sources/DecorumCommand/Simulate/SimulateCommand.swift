#if CommandLine
import ArgumentParser
import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Simulates many clients with a stack against a server in trouble.",
        discussion: """
            Beside the stack stands a client that only retries, three times and without a budget. Nothing is sent, and \
            simulated time takes no real time. A seed gives the same result each time.

            EXAMPLES:
              decorum simulate server --scenario brown-out,overload --clients 1000
              decorum simulate settings.json --seeds 100 --expect-good 0.95
            """)

    @OptionGroup var settings: SettingsArgument
    @Option(
        help: ArgumentHelp("The trouble: \(names.joined(separator: ", ")); otherwise brown-out.", valueName: "name,…"),
        transform: { list in
            try list.split(separator: ",").map { name in
                guard let index = names.firstIndex(of: String(name)) else {
                    throw ValidationError("“\(name)” is no scenario. See --help for their names.")
                }
                return scenarios[index]
            }
        })
    var scenario = [Scenario.brownOut]
    @Option(help: ArgumentHelp("The layers of DecorumTraffic.", valueName: "program")) var traffic: TrafficArgument?
    @Option(help: "The number of clients.") var clients = 1000
    @Option(help: "The first seed.") var seed: UInt64 = 1
    @Option(help: "The number of seeds, one after the other.") var seeds = 1
    @Option(
        help: ArgumentHelp("End with status 1 at a lower share of good calls after the trouble.", valueName: "share"))
    var expectGood: Double?
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    static let scenarios: [Scenario] = [.steady, .stop, .brownOut, .overload, .lonelyFailures, .pauseAsked]
    private static let names = scenarios.map { $0.name.replacing(" ", with: "-") }

    enum TrafficArgument: String, ExpressibleByArgument, CaseIterable { case app, server }

    func validate() throws {
        guard clients > 0, seeds > 0, !scenario.isEmpty else {
            throw ValidationError("Name a scenario, and numbers of clients and of seeds above 0.")
        }
        guard (0...1).contains(expectGood ?? 0) else { throw ValidationError("A share is between 0 and 1.") }
    }

    func run() throws {
        let stack = try StandardStack(named: settings.name)
        for (scenario, number) in scenario.lazy.flatMap({ item in (0..<UInt64(seeds)).lazy.map { (item, $0) } }) {
            try Task.checkCancellation()
            let seed = seed &+ number
            let ours = try simulate(against: scenario, clients: clients, seed: seed) { transport, clock, generator in
                let program: TrafficPreset? = traffic.map { $0 == .app ? .app : .server }
                let layers = program.map { [StandardStack.Addition].traffic($0, clock: clock, generator: generator) }
                let user = Principal("client")
                return try stack.composed(
                    over: transport, principal: user, adding: layers ?? [], clock: clock, generator: generator)
            }
            let naive = try simulate(against: scenario, clients: clients, seed: seed) { transport, clock, generator in
                transport.limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                    .retrying(RetryPolicy(budget: .unlimited), clock: clock, generator: generator)
            }
            let object: JSONObject = [
                "scenario": scenario.name, "clients": clients, "seed": seed, "stack": Self.numbers(of: ours),
                "retriesAlone": Self.numbers(of: naive),
            ]
            let title = "\(scenario.name), \(clients.counting("client")), seed \(seed)"
            let table = SimulationReport.table(["retries alone": naive, "the stack": ours])
            try output.write(object, orLines: [title, table])
            let share = (scenario.trouble == nil ? ours.all : ours.afterwards).goodShare
            if let expectGood, share < expectGood {
                throw CommandFailure(.failedAssertion, "Seed \(seed) has a share of \(share) good calls.")
            }
        }
    }

    /// The numbers of the calls in trouble, or of all calls without any.
    private static func numbers(of report: SimulationReport) -> JSONObject {
        let summary = report.inTrouble.calls > 0 ? report.inTrouble : report.all
        return [
            "requestsPerCall": summary.requestsPerCall, "good": summary.goodShare,
            "goodAfterwards": report.afterwards.goodShare, "medianSeconds": summary.median / .seconds(1),
            "percentile99Seconds": summary.percentile99 / .seconds(1), "peakRequestsPerSecond": report.peakRate,
            "recoverySeconds": report.recovery.map { $0 / .seconds(1) },
        ]
    }
}
#endif
