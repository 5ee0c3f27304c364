#if CommandLine
import Decorum
import Foundation
import Testing

@testable import DecorumCommand

struct StackCommandTests {
    /// A stack that the check of stacks warns of.
    static let unlimited = #"{ "preset": "server", "retries": { "budget": "unlimited" } }"#

    @Test(arguments: [
        (#"{ "retries": { "often": true } }"#, "retries.often"), (#"{ "time": { "call": "soon" } }"#, "time.call"),
        (#"{ "preset": "server", "#, "“a.json” is no JSON object with settings."),
        ("[]", "“a.json” is no JSON object with settings."),
    ])
    func `A mistaken setting is bad input, with its path`(settings: String, words: String) async throws {
        let run = try await CommandRun(["stack", "lint", "a.json"], files: ["a.json": settings])
        #expect(run.status == 65 && run.output.isEmpty)
        #expect(run.talk.hasPrefix("decorum: ") && run.talk.contains(words), "\(run.talk)")
    }

    @Test func `A stack is shown as lines and as a flowchart`() async throws {
        let layer = "1 validatingStatus(accepted: 2xx, 304)"
        #expect(try await CommandRun(["stack", "show", "tool"]).output.hasPrefix("             \(layer)\n"))
        let chart = try await CommandRun(["stack", "show", "tool", "--mermaid"]).output
        #expect(chart.hasPrefix("flowchart TD\n    n1[\"\(layer)\"]\n"))
        #expect(try await CommandRun(["stack", "show", "missing.json"]).status == 66)
    }

    @Test func `A finding that is refused has the status 1, and one that is accepted has not`() async throws {
        func lint(_ options: String...) async throws -> CommandRun {
            try await CommandRun(["stack", "lint", "a.json"] + options, files: ["a.json": Self.unlimited])
        }
        let refused = try await lint("--refuse", "warning")
        #expect(refused.status == 1 && refused.output.hasPrefix("warning, retriesWithoutBudget, layer 6: "))
        let accepted = try await lint("--refuse", "warning", "--accept", "retriesWithoutBudget")
        #expect(accepted.status == 0 && accepted.output == "No findings.\n")
    }
}
#endif
