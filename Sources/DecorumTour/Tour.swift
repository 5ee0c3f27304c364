import Decorum
import Foundation

/// Shows what Decorum does, on real HTTP over real sockets on this machine; exits with 1 when a step fails.
@main
struct Tour {
    static let steps: [any Step] = [
        PlainAnswer(), Revalidation(), KeptResponses(), UnsafeRequest(), TwoUsers(), Redirection(), Retry(), Citizen(),
        CompressedAnswer(), SignedRequest(), ForeignRedirection(), CancelledTransfer(), LargeBody(), Analytics(),
        SlowServer(), WrongOrder(), WorstCase(), TypedCall(), UploadedForm(), BrokenStream(), PagedList(),
        RecordedSession(), SignedInUser(),
    ]

    private static let usage = """
        tour [--help]

        Shows in \(steps.count) steps what Decorum does, each with the code that it runs and a check of its result. The servers
        are on this machine, and no file stays. The exit status is 1 when a check fails.
        """

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.isEmpty else {
            print(usage)
            exit(["--help", "-h"].contains(arguments.first) ? 0 : 2)
        }
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
        terminal.title("All \(steps.count) steps passed.")
        terminal.text(
            "The stack is in Sources/DecorumTour/Stage.swift, each step in Steps. Read on in README.md.")
    }
}

/// A demonstration that checks its own results.
protocol Step: Sendable {
    /// A sentence about what the step shows.
    var title: String { get }

    /// The Swift code that the step demonstrates.
    var code: String { get }

    /// Runs the step, and throws if a check fails.
    func run(on stage: Stage) async throws
}

/// An error that a step throws when a check fails.
struct CheckFailure: Error, CustomStringConvertible {
    let description: String
}
