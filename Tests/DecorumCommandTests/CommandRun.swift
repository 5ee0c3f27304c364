#if CommandLine
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// A run of the built command in a folder of its own.
struct CommandRun: Sendable {
    let status: Int32
    let output: String
    let talk: String
    let folder: URL
    private let script: RunningScript
    private static let turn = Turn()

    /// Runs the command to its end, with each of the arguments in turn; the results are of the last run.
    ///
    /// The environment has these variables and `PATH`, and the folder these files. The line is of the shell, in which `run` is the
    /// program `$program` with its arguments.
    init(
        _ arguments: [String]..., environment: [String: String] = [:], files: [String: String] = [:],
        by line: String = "run <input >data",
        during act: (_ process: () throws -> pid_t) async throws -> Void = { _ in }
    ) async throws {
        let variables = ["HOME=$PWD", "PATH=$PATH"] + environment.map { "\($0)=\(RunningScript.quoted($1))" }
        let start = "env -i \(variables.joined(separator: " ")) sh -c 'echo $$ >process; exec \"$@\"' sh \"$program\""
        let commands = arguments.map { words in
            "run() { \(start) \(words.map(RunningScript.quoted).joined(separator: " ")) 2>talk; echo $? >code; }\n\(line)"
        }
        let contents = files.merging(["input": "", "data": ""]) { own, _ in own }.mapValues { Data($0.utf8) }
        let program = "set +e; program=\(RunningScript.quoted(Self.program.path))"
        await Self.turn.begin()
        defer { Task { await Self.turn.end() } }
        script = try RunningScript(([program] + commands).joined(separator: "\n"), files: contents)
        folder = script.folder
        try await act { [folder] in try pid_t(Self.text("process", in: folder).trimmingCharacters(in: .newlines)) ?? 0 }
        _ = try await script.waitForEnd()
        output = try Self.text("data", in: folder)
        talk = try Self.text("talk", in: folder)
        status = Int32(try Self.text("code", in: folder).trimmingCharacters(in: .newlines)) ?? -1
    }

    func file(_ name: String) throws -> String { try Self.text(name, in: folder) }

    private static func text(_ name: String, in folder: URL) throws -> String {
        String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
    }

    /// The built program, in the folder of the tests.
    static let program = URL(filePath: CommandLine.arguments[0]).standardizedFileURL.deletingLastPathComponent()
        .appending(path: "decorum")
}

/// Lets one command run at a time, since the tests beside it watch real time.
private actor Turn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func begin() async {
        if isTaken { await withCheckedContinuation { waiting.append($0) } }
        isTaken = true
    }

    func end() { if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() } }
}

/// Calls a closure with a folder that exists until it returns.
func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

/// Compares a text with that of a golden file.
///
/// With `DECORUM_RENEW=command` in the environment, the file is written instead; read the difference before you keep it.
func expectGolden(_ text: String, _ name: String) throws {
    let file = Fixtures.url("command/\(name)")
    if ProcessInfo.processInfo.environment["DECORUM_RENEW"] == "command" { try Data(text.utf8).write(to: file) }
    #expect(try String(contentsOf: file, encoding: .utf8) == text, "\(name)")
}
#endif
