#if CommandLine
import ArgumentParser
import Decorum
import DecorumTesting
import Foundation

extension FindingOptions {
    /// Writes differences; throws with the status of an assertion that has failed if there are any.
    fileprivate func write(_ drifts: [CassetteDriftError.Drift], skipped: [String] = []) throws {
        let lines = drifts.flatMap { drift in
            ["\(drift.request)\(drift.line.map { "  (line \($0))" } ?? "")"] + drift.changes.map { "  \($0)" }
        }
        let object: JSONObject = ["differences": drifts, "skipped": skipped]
        try write(object, orLines: lines.isEmpty ? ["No differences."] : lines.map(\.onOneLine))
        if !drifts.isEmpty { throw CommandFailure(.failedAssertion, nil) }
    }
}

struct CassetteDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Compares the requests of two recordings, and the answers to them.",
        discussion: "By status, media type, Location and the shape of JSON. A difference ends with the status 1.")

    @Argument(help: "The earlier recording.", completion: .file()) var earlier: String
    @Argument(help: "The later recording.", completion: .file()) var later: String
    @OptionGroup(title: "MATCHING") var matching: MatchingOptions
    @Flag(help: "Ignore the origins of URLs.") var anyOrigin = false
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() throws {
        let (rules, console) = (matching.rules(atAnyOrigin: anyOrigin), Console(output.options))
        let files = try [earlier, later].map { try RecordingFile(at: $0, rules: rules, telling: console) }
        try output.write(files[0].drifts(to: files[1]))
    }
}

struct CassetteVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Sends the recorded requests anew, and compares the answers as `diff` does.",
        discussion: """
            Requests with a method that is not safe are sent only with --unsafe. Recorded credentials are left out, and \
            requests with other secrets are not sent.
            """)

    @OptionGroup var recording: RecordingArgument
    @Option(help: ArgumentHelp("Send to this origin, not to the recorded ones.", valueName: "url")) var against: String?
    @Option(help: "Send a bearer token: @FILE, env:NAME or prompt.") var bearer: SecretSource?
    @Flag(help: "Also send requests that may change something, such as POST.") var unsafe = false
    @OptionGroup(title: "TRANSPORT") var transport: TransportOptions
    @OptionGroup(title: "MATCHING") var matching: MatchingOptions
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() async throws {
        let (console, origin) = (Console(output.options), try against.map { try Origin($0) })
        var rules = matching.rules(atAnyOrigin: origin != nil)
        rules.refusesUnsafeMethods = !unsafe
        let file = try RecordingFile(at: recording.path, rules: rules, telling: console)
        let requests = try file.requests(to: origin).map { unsafe || $0?.head.method.isSafe == true ? $0 : nil }
        let skipped = zip(file.requests, requests).filter { $1 == nil }.map(\.0)
        for name in skipped { console.say("Not sent: \(name)", .yellow) }

        let transport = try transport.makeTransport(connections: 1, clock: SystemClock(), console: console)
        var connection: any Connection = transport.limitingTime(TimePolicy(call: .seconds(30), body: .seconds(60)))
        if let token = try bearer?.secret(for: "token", console: console) {
            let origins = Set(requests.compactMap { $0.flatMap { try? Origin($0.head) } })
            connection = connection.authenticating(with: try .bearer(token), for: origins)
        }
        let cassette = try file.cassette(.verify)
        connection = connection.recording(on: cassette)
        for (interaction, request) in zip(file.interactions, requests) {
            guard let request else { continue }
            do { _ = try await connection.send(request).data(upTo: rules.bodyLimit) } catch {
                try Task.checkCancellation()
                // What another failure means is told by the comparison.
                let isTold = [.notConnected, .tls, .refused].contains(CommandStatus(of: error))
                if isTold, interaction.failure == nil { throw error }
            }
        }
        var drifts: [CassetteDriftError.Drift] = []
        do { try await cassette.finish() } catch let error as CassetteDriftError { drifts = error.drifts }
        try output.write(drifts, skipped: skipped)
    }
}

struct CassetteStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Looks for recordings that are old, unused, unreadable, or hold a secret.",
        discussion: """
            A report tells which recordings the tests have used: CASSETTE_REPORT=FILE swift test. The exit status is 1 if a \
            recording is unreadable or holds a secret.
            """)

    @Argument(help: "Files, and folders, in which only folders Cassettes count if there are any.", completion: .file())
    var paths: [String]
    @Option(help: ArgumentHelp("The age from which a recording is old.", valueName: "days")) var olderThan: UInt?
    @Option(help: ArgumentHelp("The report of a test run.", valueName: "file"), completion: .file(extensions: ["json"]))
    var report: String?
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() throws {
        let report = try report.map { file in
            let report = try? JSONDecoder().decode(CassetteReport.self, from: InputFile.data(file))
            guard let report else { throw CommandFailure(.badInput, "“\(file)” is no report of a test run.") }
            return report
        }
        let limit = olderThan.map { Date() - Double($0) * 86_400 } ?? .distantPast
        let files = try paths.flatMap(Self.recordings).map { RecordingStatus(of: $0, olderThan: limit, usedBy: report) }
        let lines = files.flatMap { file in file.findings.map { "\(file.file): \($0.words)" } }
        try output.write(["files": files], orLines: lines.isEmpty ? ["No findings."] : lines)
        if files.contains(where: \.hasFailed) { throw CommandFailure(.failedAssertion, nil) }
    }

    /// A file itself, or the recordings in a folder, of which its folders `Cassettes` count alone if it has any.
    static func recordings(at path: String) throws(CommandFailure) -> [String] {
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure(.noInput, "There is no file or folder “\(path)”.")
        }
        guard FileManager.default.fileExists(atPath: path + "/.") else { return [path] }
        let files = RecordingFile.paths(in: path)
        // Other files of tests have the same endings.
        let cassettes = files.filter { $0.dropFirst(path.count).contains("/Cassettes/") }
        return cassettes.isEmpty ? files : cassettes
    }
}

struct RecordingStatus: Encodable {
    struct Finding: Encodable { let kind, words: String }

    let file: String
    private(set) var findings: [Finding] = []

    var hasFailed: Bool { findings.contains { ["unreadable", "secret"].contains($0.kind) } }

    init(of path: String, olderThan limit: Date, usedBy report: CassetteReport?) {
        file = path
        do {
            let recording = try RecordingFile(at: path, rules: .reading())
            for secret in recording.secrets { add("secret", "holds what looks like a secret: \(secret)") }
            let oldest = recording.interactions.compactMap(\.recordedAt).min()
            if let oldest, oldest < limit { add("old", "recorded on \(oldest.day)") }
        } catch { add("unreadable", CommandFailure.text(of: error) ?? "cannot be read") }
        let this = URL(filePath: path).standardizedFileURL
        // The paths in a report start at the folder of the package.
        let course = report?.cassettes.first { URL(filePath: $0.file).standardizedFileURL == this }
        if report != nil, course == nil { add("orphan", "no test has opened it") }
        for unused in course?.unused ?? [] { add("unused", "no test has sent \(unused.request)") }
    }

    private mutating func add(_ kind: String, _ words: String) { findings.append(Finding(kind: kind, words: words)) }
}
#endif
