package import Foundation

/// A shell script that runs in its own temporary folder; only macOS and Linux have scripts.
///
/// The script ends and the folder is deleted when the value is released or this process ends.
package final class RunningScript: Sendable {
    // The end of the pipe that this process holds closes when the process does, however it ends. Signals would not do:
    // a child of Swift's has them blocked, for which reason the shell cannot `wait` for a job either.
    private static let keeper = """
        cd "$1"
        exec 3<&0 >output 2>&1
        {
            { cat <&3 >/dev/null; kill -9 $(cat pid); } &
            sh -ec "echo \\$\\$ >pid
            $0" <&3
            echo $? >status
            : >ended
            cat <&3 >/dev/null
            rm -rf "$PWD"
        } &
        """

    /// The folder in which the script runs.
    package let folder: URL
    /// Ends the script when it is closed.
    private let input: FileHandle

    /// Starts a script, whose last command should be the `exec` of the program that keeps running.
    ///
    /// - Parameters:
    ///   - script: The text of the script, which finds the files in its folder.
    ///   - files: The content of each file by its name.
    /// - Throws: `MissingProgramError` on another system, or the error of the system if the folder or the process cannot be
    ///   created.
    package init(_ script: String, files: [String: Data] = [:]) throws {
        #if os(macOS) || os(Linux)
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("decorum-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, content) in files {
            try content.write(to: folder.appendingPathComponent(name))
        }
        var ends: [Int32] = [-1, -1]
        // The system writes two descriptors into the array of two.
        guard unsafe pipe(&ends) == 0 else { throw SocketError(call: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        input = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        try Self.spawn(["/bin/sh", "-c", Self.keeper, script, folder.path], input: ends[0])
        #else
        throw MissingProgramError(reason: "An app cannot start other programs on this system.")
        #endif
    }

    #if os(macOS) || os(Linux)
    /// Starts a program without any descriptor but its input and the streams for output, and waits for its end.
    ///
    /// `Process` of Foundation crashes in a process that has many descriptors (swift-corelibs-foundation 6.3).
    private static func spawn(_ arguments: [String], input: Int32) throws {
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        // Each text is freed at the end, after the calls that read it; the formatter cannot write a loop over pointers.
        let lists = unsafe [arguments, environment].map { unsafe $0.map { unsafe strdup($0) } + [nil] }
        defer { _ = unsafe lists.joined().map { unsafe free($0) } }
        var actions = unsafe emptyFileActions
        var (process, status) = (pid_t(), Int32())
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        unsafe closeOtherDescriptors(&actions)
        let code = unsafe posix_spawn(&process, arguments[0], &actions, nil, lists[0], lists[1])
        guard code == 0 else { throw POSIXError(POSIXError.Code(rawValue: code) ?? .EIO) }
        // The shell goes on in the background, and its first process ends at once.
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    }
    #endif

    /// Runs a script to its end, and returns what it has written.
    ///
    /// - Throws: ``ScriptEndedError`` where a command of the script fails.
    package static func output(of script: String, files: [String: Data] = [:]) async throws -> Data {
        let script = try RunningScript(script, files: files)
        try await script.waitForFile("ended")
        let status = try String(contentsOf: script.folder.appendingPathComponent("status"), encoding: .utf8)
        guard status == "0\n" else { throw ScriptEndedError(awaited: "success", output: try script.output) }
        return try Data(contentsOf: script.folder.appendingPathComponent("output"))
    }

    /// Finds a program of the machine: the one that an environment variable names, or else the first in the search path.
    package static func program(_ name: String, variable: String) -> String? {
        #if os(macOS) || os(Linux)
        let environment = ProcessInfo.processInfo.environment
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/sbin"]
        let candidates = [environment[variable]].compactMap(\.self) + folders.map { "\($0)/\(name)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
        #else
        return nil
        #endif
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

#if os(macOS)
private var emptyFileActions: posix_spawn_file_actions_t? { nil }

// macOS has no such call; all descriptors of this package are closed in a new program.
private func closeOtherDescriptors(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>) {}
#elseif os(Linux)
private var emptyFileActions: posix_spawn_file_actions_t { unsafe posix_spawn_file_actions_t() }

/// Closes the sockets of libraries too, since a peer waits for the end of a connection as long as any process has it open.
private func closeOtherDescriptors(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>) {
    typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt
    // Not declared for Swift, and absent before glibc 2.34.
    guard let symbol = unsafe dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
    _ = unsafe unsafeBitCast(symbol, to: CloseFrom.self)(actions, 3)
}
#endif

extension RunningScript {
    /// A path as a word of a script.
    package static func quoted(_ path: String) -> String {
        "'" + path.replacing("'", with: #"'\''"#) + "'"
    }
}

/// The machine lacks a program that a server consists of, so the test that needs it cannot run here.
package struct MissingProgramError: Error {
    package let reason: String
}

/// A script ended before it wrote the words or the file that a test waits for.
struct ScriptEndedError: Error, CustomStringConvertible {
    let awaited: String
    /// Everything that the script has written.
    let output: String

    var description: String { "A server ended before it said “\(awaited)”: \(output)" }
}
