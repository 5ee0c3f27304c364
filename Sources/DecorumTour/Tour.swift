import Decorum
import Foundation

/// Shows what Decorum does, on real HTTP over real sockets on this machine; exits with 1 when a step fails.
@main
struct Tour {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if let argument = arguments.first(where: { $0.hasPrefix("-") }) {
            print(usage)
            exit(["--help", "-h"].contains(argument) ? 0 : 2)
        }
        let unknown = arguments.filter { name in !Chapter.all.contains { $0.name == name } }
        guard unknown.isEmpty else {
            print("There is no chapter \(unknown.joined(separator: ", ")).\n\n\(usage)")
            exit(2)
        }
        let chapters = Chapter.all.filter { arguments.isEmpty || arguments.contains($0.name) }
        let terminal = Terminal()
        var number = 0
        terminal.title("Decorum, the tour")
        for chapter in chapters {
            let stage = try Stage(terminal: terminal)
            defer { stage.close() }
            if number == 0 { show(stage) }
            terminal.title("\(chapter.title) (swift run tour \(chapter.name))")
            for step in chapter.steps {
                number += 1
                await run(step, as: number, on: stage)
            }
        }
        terminal.title("All \(number) steps passed.")
        terminal.text(
            "The stack is in Sources/DecorumTour/Stage.swift, each step in Steps. Read on in README.md.")
    }

    private static func show(_ stage: Stage) {
        stage.terminal.text("One stack, outermost layer first:")
        for layer in stage.connection.layers { stage.terminal.text("  \(layer)") }
    }

    private static func run(_ step: any Step, as number: Int, on stage: Stage) async {
        stage.terminal.heading("\(number)", step.title)
        stage.terminal.code(step.code)
        stage.terminal.text("Look: \(step.pointer)")
        do {
            try await step.run(on: stage)
        } catch {
            stage.terminal.failure("\(error)")
            exit(1)
        }
    }

    private static let usage = """
        tour [chapter…] [--help]

        Shows in \(Chapter.all.map(\.steps.count).reduce(0, +)) steps what Decorum does, each with the code that it runs and a \
        check of its result.
        The servers are on this machine, and no file stays. The exit status is 1 when a check fails. Where the environment
        has NO_COLOR, the colours of a terminal are left out. Each chapter runs alone too:

        \(Chapter.all.map { "  \($0.name)  \($0.title)" }.joined(separator: "\n"))
        """
}

/// A demonstration that checks its own results.
protocol Step: Sendable {
    /// A sentence about what the step shows.
    var title: String { get }

    /// A sentence about the part of the output to look at.
    var pointer: String { get }

    /// The Swift code that the step demonstrates.
    var code: String { get }

    /// Runs the step, and throws if a check fails.
    func run(on stage: Stage) async throws
}

/// An error that a step throws when a check fails.
struct CheckFailure: Error, CustomStringConvertible {
    let description: String
}
