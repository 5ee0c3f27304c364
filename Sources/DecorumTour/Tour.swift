import Decorum
import Foundation

/// Shows what Decorum does, on real HTTP over real sockets on this machine; exits with 1 when a step fails.
@main
struct Tour {
    static let steps: [any Step] = [
        PlainAnswer(), Revalidation(), KeptResponses(), TwoUsers(), Redirection(), Retry(), SignedRequest(),
        ForeignRedirection(), CancelledTransfer(), LargeBody(), Analytics(), RecordedSession(),
    ]

    static func main() async throws {
        let terminal = Terminal()
        let stage = try Stage(terminal: terminal)
        defer { stage.close() }

        terminal.title("Decorum, the tour")
        terminal.text("One stack, outermost layer first:")
        for layer in stage.connection.layers { terminal.text("  \(layer)") }

        for (number, step) in steps.enumerated() {
            terminal.heading("\(number + 1)", step.title)
            terminal.code(step.code)
            do {
                try await step.run(on: stage)
            } catch {
                terminal.failure("\(error)")
                exit(1)
            }
        }
        terminal.title("All \(steps.count) steps held.")
        terminal.text(
            "The stack is in Sources/DecorumTour/Stage.swift, each step in Steps; README.md goes on from here.")
    }
}

/// One thing to show, which checks itself.
protocol Step: Sendable {
    /// What the step shows, in a sentence.
    var title: String { get }

    /// The line of Swift that it is about.
    var code: String { get }

    /// Shows it, and throws when something is not as it should be.
    func run(on stage: Stage) async throws
}

/// A step saw something else than it should have.
struct CheckFailure: Error, CustomStringConvertible {
    let description: String
}
