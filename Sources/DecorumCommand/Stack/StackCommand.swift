#if CommandLine
import ArgumentParser
import Decorum
import DecorumTelemetry
import Foundation

struct StackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stack", abstract: "Shows and checks the stack that a file of settings makes.",
        discussion: """
            EXAMPLES:
              decorum stack show server
              decorum stack show settings.json --mermaid
              decorum stack lint settings.json --refuse warning
              decorum stack bounds app
            """,
        subcommands: [StackShowCommand.self, StackLintCommand.self, StackBoundsCommand.self])
}

struct SettingsArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("A file of settings, or one of app, server and tool.", valueName: "settings"),
        completion: .file(extensions: ["json"]))
    var name: String

    func connection() throws -> any Connection { try StandardStack(named: name).composed() }
}

struct StackShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Shows the layers, outermost first.")

    @OptionGroup var settings: SettingsArgument
    @Flag(help: "Write a diagram for Mermaid instead.") var mermaid = false
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() throws {
        let connection = try settings.connection()
        let chart = mermaid ? connection.flowchart() : nil
        let object: JSONObject = ["layers": connection.layers.map(Self.object), "flowchart": chart]
        try output.write(object, orLines: [chart ?? connection.composition.markedLayers])
    }

    private static func object(of layer: Layer) -> JSONObject {
        [
            "name": layer.name, "settings": Dictionary(layer.settings.map { ($0.name, $0.value) }) { $1 },
            "branches": Dictionary(layer.branches.map { ($0.name, $0.layers.map(object)) }) { $1 },
        ]
    }
}

struct StackLintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint", abstract: "Looks for mistakes in the order and the settings of a stack.",
        discussion: "The exit status is 1 if a finding is refused.")

    @OptionGroup var settings: SettingsArgument
    @Option(
        help: ArgumentHelp("The lowest severity to refuse: error, warning or information.", valueName: "severity"),
        transform: { name in
            if let severity = Finding.Severity.allCases.first(where: { $0.description == name }) { return severity }
            throw ValidationError("“\(name)” is no severity.")
        })
    var refuse = Finding.Severity.error
    @Option(help: ArgumentHelp("The name of a finding that is intended; may be repeated.", valueName: "finding"))
    var accept: [String] = []
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() throws {
        let findings = try settings.connection().findings.filter { !accept.contains($0.hazard.description) }
        let objects: [JSONObject] = findings.map {
            [
                "finding": $0.hazard.description, "severity": $0.severity.description, "consequence": $0.consequence,
                "change": $0.change, "layers": $0.places.map(\.number),
            ]
        }
        try output.write(
            ["findings": objects], orLines: findings.isEmpty ? ["No findings."] : findings.map(\.description))
        if findings.contains(where: { $0.severity >= refuse }) { throw CommandFailure(.failedAssertion, nil) }
    }
}

struct StackBoundsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bounds", abstract: "Computes the worst case of one call: its requests, its time and its memory.")

    @OptionGroup var settings: SettingsArgument
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() throws {
        let bounds = try settings.connection().bounds
        // A bound that is missing does not exist.
        let object: JSONObject = [
            "requests": bounds.requests.value, "seconds": bounds.duration.value.map { $0 / .seconds(1) },
            "bytes": bounds.bytes.value,
        ]
        try output.write(object, orLines: [bounds.description])
    }
}
#endif
