#if CommandLine
import ArgumentParser
import Decorum
import DecorumTesting
import Foundation

struct CassetteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cassette", abstract: "Shows, compares, converts and checks recordings.",
        discussion: """
            EXAMPLES:
              decorum cassette inspect Tests/Cassettes/feed.json
              decorum cassette convert session.har Tests/Cassettes/feed.json
              decorum cassette verify Tests/Cassettes/feed.json --against https://staging.example.com
              decorum cassette redact session.har --query session_id --output shared.har
            """,
        subcommands: [
            CassetteInspectCommand.self, CassetteDiffCommand.self, CassetteConvertCommand.self,
            CassetteVerifyCommand.self, CassetteRedactCommand.self, CassetteStatusCommand.self,
            CassetteMergeCommand.self,
        ])
}

struct CassetteInspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Lists the interactions of a recording, without secrets and content.")

    @OptionGroup var recording: RecordingArgument
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() throws {
        let file = try RecordingFile(at: recording.path, rules: .reading(), telling: Console(output.options))
        let items = zip(file.interactions.indices, file.requests).map { index, request -> (JSONObject, text: String) in
            let (interaction, response) = (file.interactions[index], file.interactions[index].response)
            let (day, bytes) = (interaction.recordedAt?.day, response?.body.bytes.count ?? 0)
            let failure = interaction.failure.map { "\($0.kind) at \($0.stage.rawValue)" }
            let mediaType = response?.fields[.contentType].map { String($0.prefix { $0 != ";" }) }
            let object: JSONObject = [
                "number": index + 1, "request": request, "status": response?.status, "failure": failure,
                "mediaType": mediaType, "bytes": bytes, "line": file.lines[index], "recordedAt": interaction.recordedAt,
                "tests": interaction.tests,
            ]
            let outcome = [response.map { "\($0.status)" }, failure, mediaType, bytes.counting("byte"), day]
            return (object, "\(index + 1)  \(request)  \(outcome.compactMap(\.self).joined(separator: ", "))")
        }
        let title = "\(file.format), \(items.count.counting("interaction"))"
        let object: JSONObject = ["format": file.format, "interactions": items.map(\.0)]
        try output.write(object, orLines: [title] + items.map(\.text.onOneLine))
    }
}

extension String {
    /// The text on one line, as texts of files could look like further lines.
    var onOneLine: String { split(whereSeparator: \.isNewline).joined(separator: "\\n") }
}

extension Int {
    func counting(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

extension Date {
    var day: String { formatted(.iso8601.year().month().day()) }
}

struct CassetteConvertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert", abstract: "Writes a recording as a cassette, or as an HTTP archive for a name in .har.",
        discussion: """
            Secrets are replaced, and a file that would still hold one is not written. What only archives have, such as \
            pages and timings, is left out.
            """)

    @OptionGroup var recording: RecordingArgument
    @Argument(help: "The new file.", completion: .file(extensions: ["json", "har"])) var output: String
    @OptionGroup(title: "OUTPUT") var options: ConsoleOptions

    func run() throws {
        let file = try RecordingFile(at: recording.path, rules: .reading(), telling: Console(options))
        try file.write(file.interactions, to: output, by: options)
    }
}

struct CassetteRedactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redact",
        abstract: "Writes a recording as `convert` does, and replaces what the options name too.",
        discussion: "Without --output, the recording is replaced, which needs --force.")

    @OptionGroup var recording: RecordingArgument
    @Option(
        help: ArgumentHelp("A header field to replace; may be repeated.", valueName: "name"),
        transform: { name in
            if let name = HTTPField.Name(name) { return name }
            throw ValidationError("“\(name)” is no name of a field.")
        })
    var field: [HTTPField.Name] = []
    @Option(help: ArgumentHelp("A query item to replace; may be repeated.", valueName: "name")) var query: [String] = []
    @Option(help: ArgumentHelp("A place in JSON to replace, as in user.pin; may be repeated.", valueName: "path"))
    var json: [String] = []
    @Option(name: .shortAndLong, help: "The new file.", completion: .file()) var output: String?
    @OptionGroup(title: "OUTPUT") var options: ConsoleOptions

    var redaction: Redaction {
        var redaction = Redaction.standard
        redaction.fields.formUnion(field)
        for name in query { redaction.queryItems.insert(name) }
        redaction.jsonPaths.formUnion(json.map { JSONPattern($0) })
        return redaction
    }

    func run() throws {
        let file = try RecordingFile(at: recording.path, rules: .reading(redaction), telling: Console(options))
        try file.write(file.interactions, to: output ?? recording.path, by: options)
    }
}

struct CassetteMergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge", abstract: "Writes the interactions of several recordings as one.",
        discussion: "Each interaction is there as often as the recording that has it most often has it.")

    @Argument(help: "The recordings.", completion: .file()) var files: [String]
    @Option(name: .shortAndLong, help: "The new file.", completion: .file()) var output: String
    @OptionGroup(title: "MATCHING") var matching: MatchingOptions
    @OptionGroup(title: "OUTPUT") var options: ConsoleOptions

    func run() throws {
        let (rules, console) = (matching.rules(), Console(options))
        let recordings = try files.map { try RecordingFile(at: $0, rules: rules, telling: console) }
        try recordings[0].write(recordings[0].union(with: Array(recordings[1...])), to: output, by: options)
    }
}
#endif
