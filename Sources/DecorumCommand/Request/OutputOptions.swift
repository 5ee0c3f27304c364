#if CommandLine
import ArgumentParser
import Decorum
import Foundation

/// The options for what the command writes.
struct OutputOptions: ParsableArguments {
    @Option(help: "Print H and B of the request, h and b of the response, m for its story, t for its times.")
    var print: String?
    @Option(name: .shortAndLong, help: "Write the content to a file; - for the standard output.", completion: .file())
    var output: String?
    @Flag(help: "Download to a new file with the name that the server suggests.") var download = false
    @Option(help: "Download to this folder.", completion: .directory) var outputDir: String?
    @Flag(name: .customLong("continue"), help: "Go on with a download that was broken off.") var continues = false
    @Flag(help: "Leave files that exist as they are, and count that as done.") var skipExisting = false
    @Flag(help: "Read the content and throw it away.") var discard = false
    @Flag(help: "Print content as it comes, also in a terminal.") var stream = false
    @Option(help: "Whether to put JSON into lines in a terminal.") var pretty = PrettyChoice.auto
    @Flag(help: "Write one object of JSON for each exchange.") var jsonOutput = false
    @Option(help: "Write the head of the only response to a file, in the form of --json-output.", completion: .file())
    var headersOutput: String?
    @Option(help: "Write the times of the last 10000 exchanges to an HTTP archive.", completion: .file())
    var har: String?
    @Flag(help: "Tell in words how the call went.") var explain = false
    @Flag(help: "Show where the time of the call went.") var waterfall = false
    @Flag(help: "Print the fields and the content as a command of curl, and send nothing.") var curl = false
    @Flag(help: "Print secrets too, in a terminal.") var showSecrets = false
    @Flag(inversion: .prefixedNo, help: "Exit with 3, 4 or 5 for a status of that class.") var checkStatus = true

    /// The place for the content of a response.
    enum Destination: Sendable, Hashable {
        /// The standard output, or nowhere.
        case output
        case file(OutputFile)
        /// A download to a file or, with a name of the server's, to a folder.
        case download(URL, isNamed: Bool)
    }

    var isDownload: Bool { download || outputDir != nil }
    var file: String? { output == "-" ? nil : output }

    func destination(isReplacing: Bool) throws(CommandFailure) -> Destination {
        for path in [headersOutput, har].compactMap(\.self) { try OutputFile(path, replacing: isReplacing).check() }
        if isDownload {
            let folder = URL(filePath: (outputDir ?? ".").expandingHome, directoryHint: .isDirectory)
            do { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) } catch {
                throw CommandFailure(.cannotCreate, "The folder “\(folder.path)” cannot be created.")
            }
            return .download(folder, isNamed: true)
        }
        guard let file = file.map({ OutputFile($0, replacing: isReplacing) }) else { return .output }
        if !skipExisting { try file.check() }
        return continues ? .download(file.url, isNamed: false) : .file(file)
    }

    /// The parts to print: without a wish, the content that goes nowhere else, in a terminal with the head.
    func parts(console: Console, isOneExchange: Bool) -> Set<Character> {
        if let print { return Set(print) }
        if jsonOutput || discard || isDownload || file != nil { return [] }
        return console.output.isTerminal && isOneExchange && output == nil ? ["h", "b"] : ["b"]
    }
}
#endif
