#if os(macOS) || os(Linux)
package import Foundation

/// A shell script in a folder of its own, both of which end with the value, and the script also with this process.
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

    /// Where the script runs.
    package let folder: URL
    private let process = Process()
    private let input = Pipe()

    /// Starts a script, whose last command shall be the `exec` of what goes on.
    ///
    /// - Parameters:
    ///   - script: The text of the script, which finds the files in its folder.
    ///   - files: The names of files and their content.
    /// - Throws: The system's error where there can be no folder or process.
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

    /// Finds a program of the machine; a variable of the environment names another one than that of the path.
    package static func program(_ name: String, variable: String) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/sbin"]
        let candidates = [environment[variable]].compactMap(\.self) + folders.map { "\($0)/\(name)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Waits for some words in what the script writes, and returns all that it has written.
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
            // What a client sends may be anything.
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
            guard !hasEnded else {
                throw ConformanceFailure("A server ended before it said “\(what)”: \(try output)")
            }
            // Nothing tells of a change of a file.
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
#endif
