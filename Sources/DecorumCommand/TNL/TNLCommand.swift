#if CommandLine
import ArgumentParser
import Decorum
import Foundation

/// Sends a request that is described by the options of tnlcli, the command of Twitter Network Layer.
struct TNLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tnl", abstract: "Sends one request with the options of tnlcli.",
        usage: "decorum tnl [<options>] <url>",
        discussion: """
            The command is this one too if it is called tnlcli. Options that are unknown are skipped with their values. The \
            layers, their file of settings and the exit status are as for “decorum request”.

            EXAMPLES:
              decorum tnl --response-headers-mode print https://example.com
              ln -s "$(command -v decorum)" ~/bin/tnlcli
            """)

    @Option(parsing: .unconditional, help: help("Read settings from a JSON object."), completion: .file())
    var requestConfigFile: String?
    @Option(parsing: .unconditional, help: help("Send the fields of a JSON object."), completion: .file())
    var requestHeadersFile: String?
    @Option(parsing: .unconditional, help: help("Send the content of a file."), completion: .file())
    var requestBodyFile: String?
    @Option(parsing: .unconditionalSingleValue, help: help("Send a field, instead of the file's.", "field: value"))
    var requestHeader: [String] = []
    @Option(parsing: .unconditionalSingleValue, help: help("Set one, instead of the file's.", "config: value"))
    var requestConfig: [String] = []
    @Option(parsing: .unconditional, help: help("The method; GET without it.", "method")) var requestMethod: String?
    @Option(parsing: .unconditional, help: help("Where content goes: file, print, or both.", "mode"))
    var responseBodyMode: String?
    @Option(parsing: .unconditional, help: help("The file for the content."), completion: .file())
    var responseBodyFile: String?
    @Option(parsing: .unconditional, help: help("Where fields go: file, print, or both.", "mode"))
    var responseHeadersMode: String?
    @Option(parsing: .unconditional, help: help("The file for the fields, as JSON."), completion: .file())
    var responseHeadersFile: String?
    @Option(
        parsing: .unconditional, help: help("Write the server's certificates there, in DER.", "folder"),
        completion: .directory)
    var dumpCertChainDirectory: String?
    @Option(parsing: .unconditionalSingleValue, help: help("Set idleTimeoutMode or its like.", "config: value"))
    var globalConfig: [String] = []
    @Flag(help: "Print statistics, fields and content, and say more.") var verbose = false
    @Flag(help: .hidden) var version = false
    @Argument(parsing: .allUnrecognized, help: help("The URL, which is the last argument.", "url"))
    var words: [String] = []

    func validate() throws {
        guard words.isEmpty ? version : words.last?.hasPrefix("-") == false else {
            throw ValidationError("There is no URL. It is the last argument.")
        }
    }

    func run() async throws {
        let console = Console()
        if version { try console.write(line: DecorumCommand.configuration.version) }
        guard let url = words.last else { return }
        var notes = stride(from: 0, to: words.count - 1, by: 2).map {
            "“\(words[$0].shortened)” is no option of tnlcli. It and its value are skipped."
        }
        // A status is no failure of tnlcli.
        var request = ["--no-check-status", "--method=\(requestMethod?.uppercased() ?? "GET")"]
        request += try (verbose ? ["-v"] : []) + fields(&notes).map { "--header=\($0)" }
        if let requestBodyFile { request.append("--body=@\(requestBodyFile)") }
        if let dumpCertChainDirectory { request.append("--certificates=\(dumpCertChainDirectory)") }
        var configuration = TNLConfiguration()
        if let requestConfigFile { try configuration.add(file: try InputFile.data(requestConfigFile)) }
        for setting in requestConfig { configuration.add(setting) }
        for setting in globalConfig { configuration.add(setting, isGlobal: true) }
        let options = try configuration.options()
        notes += options.notes
        let headers = place(responseHeadersMode, responseHeadersFile)
        let body =
            configuration.discardsContent ? (file: nil, isPrinted: false) : place(responseBodyMode, responseBodyFile)
        for note in notes { console.say("WARNING: \(note)", .yellow) }
        try headers.file?.check()

        request += options.words + [body.file.map { "--output=\($0.path)" } ?? "--discard", url]
        var (status, result) = try await RequestCommand.parse(request).perform(keepingContent: body.isPrinted)
        // What fails from here on does not keep the rest from being written.
        func write(_ title: String, _ text: () throws -> String?) {
            do {
                if let text = try text() { try console.write(line: (verbose ? "** \(title) **\n" : "") + text) }
            } catch { status = console.status(telling: error, after: status) }
        }
        if verbose, let report = result?.record.report {
            write("STATS") { try JSONEncoder.text(of: report, .prettyPrinted) }
        }
        if let fields = result?.record.tnlFields {
            write("RESPONSE HEADERS") {
                let json = try JSONEncoder.text(of: fields, .prettyPrinted)
                try headers.file?.write(Data(json.utf8))
                return headers.isPrinted ? json : nil
            }
        }
        if let content = result?.content {
            write("RESPONSE BODY") {
                let binary = verbose ? "[\(content.count) bytes that are no text]" : nil
                guard let text = String(data: content, encoding: .utf8) ?? binary else {
                    throw CommandFailure(.cannotReadOrWrite, "The content is no UTF-8, and is not printed.")
                }
                return console.output.isTerminal ? text.harmless : text
            }
        }
        guard status == .done else { throw CommandFailure(status, nil) }
    }

    /// The fields of the file and of the options as lines; a field of an option replaces one of the file.
    private func fields(_ notes: inout [String]) throws(CommandFailure) -> [String] {
        var lines: [String] = []
        if let requestHeadersFile { lines = try FieldFile.fields(try InputFile.data(requestHeadersFile)) }
        for header in requestHeader {
            guard let (name, value) = TNLConfiguration.pair(header) else {
                // The text may be a secret.
                notes.append("A header without a colon is skipped. Write Name: value.")
                continue
            }
            lines.removeAll { $0.prefix { $0 != ":" && $0 != ";" }.lowercased() == name.lowercased() }
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        return lines
    }

    /// Where a part of the response goes.
    private func place(_ mode: String?, _ file: String?) -> (file: OutputFile?, isPrinted: Bool) {
        let modes = (mode ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        let written = modes.contains("file") ? file.map { OutputFile($0, replacing: false) } : nil
        return (written, verbose || modes.contains("print"))
    }
}

private func help(_ text: String, _ value: String = "file") -> ArgumentHelp { ArgumentHelp(text, valueName: value) }

extension ExchangeRecord {
    /// The fields of the response as tnlcli writes them, with the status and the URL, but without secrets.
    var tnlFields: [String: String]? {
        guard let status, let fields else { return nil }
        var object = ["_tnlcli_StatusCode": "\(status)", "_tnlcli_URL": report.finalURL ?? url]
        for field in fields {
            let name = object.keys.first { $0.lowercased() == field.name.lowercased() } ?? field.name
            object[name] = object[name].map { "\($0), \(field.value)" } ?? field.value
        }
        return object
    }
}
#endif
