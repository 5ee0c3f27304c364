package import Foundation

#if os(macOS) || os(Linux)
/// A shell script that runs in its own temporary folder.
///
/// The script ends and the folder is deleted when the value is released or this process ends.
package final class RunningScript: Sendable {
    // The end of the pipe that this process holds closes when the process does, however it ends. Signals would not do:
    // a child of Swift's has them blocked, for which reason the shell cannot `wait` for a job either.
    private static let keeper = """
        exec 3<&0
        { cat <&3 >/dev/null; kill -9 $(cat pid); } &
        sh -ec "echo \\$\\$ >pid
        $0" <&3
        : >ended
        cat <&3 >/dev/null
        rm -rf "$PWD"
        """

    /// The folder in which the script runs.
    package let folder: URL
    private let process = Process()
    private let input = Pipe()

    /// Starts a script, whose last command should be the `exec` of the program that keeps running.
    ///
    /// - Parameters:
    ///   - script: The text of the script, which finds the files in its folder.
    ///   - files: The content of each file by its name.
    /// - Throws: The system's error where the folder or the process cannot be created.
    package init(_ script: String, files: [String: String] = [:]) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("decorum-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, content) in files {
            try Data(content.utf8).write(to: folder.appendingPathComponent(name))
        }
        let output = folder.appendingPathComponent("output")
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        defer { try? handle.close() }

        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.keeper, script]
        process.currentDirectoryURL = folder
        process.standardInput = input
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
    }

    /// Finds a program of the machine: the one that an environment variable names, or else the first in the search path.
    package static func program(_ name: String, variable: String) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/sbin"]
        let candidates = [environment[variable]].compactMap(\.self) + folders.map { "\($0)/\(name)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Waits until the script has written some words, and returns everything that it has written so far.
    package func waitForOutput(of words: String) async throws -> String {
        try await wait(for: words) {
            let output = try self.output
            return output.contains(words) ? output : nil
        }
    }

    /// Waits for the end of the script, and returns all that it has written.
    package func waitForEnd() async throws -> String {
        try await waitForFile("ended")
        return try output
    }

    private var output: String {
        get throws {
            // A server also writes the bytes that a client sent, which need not be UTF-8.
            String(decoding: try Data(contentsOf: folder.appendingPathComponent("output")), as: UTF8.self)
        }
    }

    /// Waits for a file in the folder.
    package func waitForFile(_ name: String) async throws {
        let path = folder.appendingPathComponent(name).path
        _ = try await wait(for: name) { FileManager.default.fileExists(atPath: path) ? true : nil }
    }

    private func wait<Value>(for what: String, _ look: () throws -> Value?) async throws -> Value {
        while true {
            let hasEnded = FileManager.default.fileExists(atPath: folder.appendingPathComponent("ended").path)
            if let value = try look() { return value }
            guard !hasEnded else { throw ScriptEndedError(awaited: what, output: try output) }
            // Foundation has no notification for a new file.
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
#else
/// Stands for a script on systems where a process cannot start another one.
package final class RunningScript: Sendable {
    /// A folder that is never created.
    package let folder: URL

    /// Always throws.
    package init(_ script: String, files: [String: String] = [:]) throws {
        folder = FileManager.default.temporaryDirectory
        throw MissingProgramError(reason: "An app cannot start other programs on this system.")
    }

    /// Returns nil.
    package static func program(_ name: String, variable: String) -> String? { nil }

    /// Returns an empty text.
    package func waitForOutput(of words: String) async throws -> String { "" }

    /// Returns an empty text.
    package func waitForEnd() async throws -> String { "" }

    /// Does nothing.
    package func waitForFile(_ name: String) async throws {}
}
#endif

/// The machine lacks a program that a server consists of, so the test that needs it cannot run here.
struct MissingProgramError: Error {
    let reason: String
}

/// A script ended before it wrote the words or the file that a test waits for.
struct ScriptEndedError: Error, CustomStringConvertible {
    let awaited: String
    /// Everything that the script has written.
    let output: String

    var description: String { "A server ended before it said “\(awaited)”: \(output)" }
}
