import Decorum
import Foundation

/// Shows what Decorum does, on real HTTP over real sockets on this machine; exits with 1 when a step fails.
@main
struct Tour {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.allSatisfy({ name in Chapter.all.contains { $0.name == name } }) else {
            print("usage: tour [chapter…], of \(Chapter.all.map(\.name).joined(separator: ", "))")
            exit(arguments.contains("--help") ? 0 : 2)
        }
        let terminal = Terminal()
        var number = 0
        terminal.title("Decorum, the tour")
        for chapter in Chapter.all where arguments.isEmpty || arguments.contains(chapter.name) {
            let stage = try Stage(terminal: terminal)
            defer { stage.close() }
            if number == 0 {
                terminal.text("One stack, outermost layer first:")
                for layer in stage.connection.layers { terminal.text("  \(layer)") }
            }
            terminal.title("\(chapter.title) (swift run tour \(chapter.name))")
            for step in chapter.steps {
                number += 1
                terminal.heading(number, step.title)
                terminal.code(step.code)
                terminal.text("Look: \(step.look)")
                do {
                    try await step.run(stage)
                } catch {
                    terminal.failure("\(error)")
                    exit(1)
                }
            }
        }
        terminal.title("All \(number) steps passed.")
        terminal.text("The stack is in Sources/DecorumTour/Stage.swift, the steps are beside it. Read on in README.md.")
    }
}

/// A demonstration that checks its own results.
struct Step: Sendable {
    let title: String
    /// The part of the output to look at.
    let look: String
    /// The Swift code that the step demonstrates.
    let code: String
    /// Runs the step, and throws if a check fails.
    let run: @Sendable (Stage) async throws -> Void

    init(_ title: String, look: String, code: String, run: @escaping @Sendable (Stage) async throws -> Void) {
        (self.title, self.look, self.code, self.run) = (title, look, code, run)
    }
}

/// Steps that belong together, and can be run alone by the name of their chapter.
struct Chapter: Sendable {
    let name: String
    let title: String
    let steps: [Step]

    static let all = [
        Chapter(
            name: "requests", title: "Requests and answers",
            steps: [
                .plainAnswer, .redirection, .retry, .compressedAnswer, .cancelledTransfer, .endedTransfers, .largeBody,
                .analytics,
            ]),
        Chapter(
            name: "caching", title: "Stored responses",
            steps: [.revalidation, .keptResponses, .unsafeRequest, .twoUsers]),
        Chapter(
            name: "credentials", title: "Credentials", steps: [.signedRequest, .foreignRedirection, .signedInUser]),
        Chapter(name: "trouble", title: "Servers in trouble", steps: [.citizen, .slowServer]),
        Chapter(name: "stacks", title: "Stacks that are checked", steps: [.wrongOrder, .worstCase]),
        Chapter(
            name: "calls", title: "Typed calls", steps: [.typedCall, .uploadedForm, .brokenStream, .pagedList]),
        Chapter(name: "recording", title: "Tests without a server", steps: [.recordedSession]),
    ]
}
