#if CommandLine
import ArgumentParser
import DecorumTesting
import Testing

@testable import DecorumCommand

struct SimulateCommandTests {
    @Test func `Each scenario has a name, and another name is refused`() throws {
        let names = "steady,stop,brown-out,overload,lonely-failures,pause-asked"
        #expect(try SimulateCommand.parse(["app", "--scenario", names]).scenario == SimulateCommand.scenarios)
        let refused = ["scenario=flood", "scenario=", "clients=0", "seeds=0", "expect-good=1.5", "traffic=tool"]
        for option in refused {
            #expect(throws: (any Error).self, "\(option)") { try SimulateCommand.parse(["app", "--\(option)"]) }
        }
    }

    @Test func `A seed that fails is told, and ends the command with the status 1`() async throws {
        let run = try await CommandRun(
            ["simulate", "tool", "--clients", "10", "--seed", "7", "--seeds", "3", "--expect-good", "1"])
        #expect(run.status == 1 && run.talk.hasPrefix("decorum: Seed 7 has a share of 0.99"))
        #expect(run.output.hasPrefix("brown-out, 10 clients, seed 7\n") && run.output.contains("\nretries alone "))
    }
}
#endif
