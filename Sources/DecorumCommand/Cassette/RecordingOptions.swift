#if CommandLine
import ArgumentParser
import Decorum
import DecorumCassetteImport
import DecorumTesting
import Foundation

struct RecordingArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("A cassette, an HTTP archive, or a recording of another tool.", valueName: "file"),
        completion: .file())
    var path: String
}

struct MatchingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A query item that matching ignores; may be repeated.", valueName: "name"))
    var ignoreQuery: [String] = []
    @Option(help: .init("A place in JSON that matching ignores, as in **.id; may be repeated.", valueName: "path"))
    var ignoreJSON: [String] = []

    func rules(atAnyOrigin isMoved: Bool = false) -> CassetteRules {
        var rules = CassetteRules.reading()
        let content = MatchingRule.body(ignoring: ignoreJSON.map { JSONPattern($0) })
        rules.matching = [.method, .url(ignoring: ignoreQuery, atAnyOrigin: isMoved), content]
        return rules
    }
}

extension CassetteRules {
    static func reading(_ redaction: Redaction = .standard) -> CassetteRules {
        var rules = CassetteRules(redaction: redaction, unused: .allow)
        rules.formats = .known
        return rules
    }
}

extension RecordingFile {
    /// Opens a file, and says what its format has lost.
    init(at path: String, rules: CassetteRules, telling console: Console) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure(.noInput, "There is no file “\(path)”.")
        }
        try self.init(at: path, rules: rules)
        for warning in warnings { console.say("\(path): \(warning)", .yellow) }
    }

    /// Writes interactions to a file, and its content that is not text beside it.
    func write(_ interactions: [Interaction], to path: String, by options: ConsoleOptions) throws {
        let (output, console) = (OutputFile(path, replacing: options.force), Console(options))
        let written: Written
        do { written = try self.written(interactions, as: output.path) } catch let error as SecretFoundError {
            // Its own advice is for the code of a test.
            let reason = ["“\(output.path)” would hold what looks like a secret:"] + error.findings.map { "  \($0)" }
            let advice = "\nName it by --json, --field or --query of “decorum cassette redact”."
            throw CommandFailure(.refused, reason.joined(separator: "\n") + advice)
        }
        // Before anything is written: the files beside it belong to the new file.
        try output.check()
        let folder = output.url.deletingLastPathComponent()
        for (path, content) in written.files.sorted(by: { $0.key < $1.key }) {
            let (file, files) = (folder.appending(path: path), FileManager.default)
            try files.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            // Its name is the checksum of its content, so a file of that name has that content.
            try OutputFile(file.path, replacing: true).write(content)
        }
        try output.write(written.document)
        for path in written.obsolete { try? FileManager.default.removeItem(at: folder.appending(path: path)) }
        for secret in written.replacements { console.say("\(secret.place): \(secret.placeholder)") }
        console.say("Wrote \(interactions.count.counting("interaction")) to \(output.path).")
    }
}
#endif
