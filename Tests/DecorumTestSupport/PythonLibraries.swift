#if os(macOS) || os(Linux)
import DecorumTesting
public import Foundation

/// Libraries of PyPI for Python, in a virtual environment that is made once for a machine, among the temporary files.
public enum PythonLibraries: Sendable {
    /// The interpreter with libraries; nil if they cannot be installed.
    ///
    /// - Parameters:
    ///   - packages: The packages with their versions.
    ///   - modules: The modules whose import shows that the libraries are there.
    /// - Returns: The path of the interpreter.
    public static func interpreter(with packages: String..., importing modules: String) async -> String? {
        let environment = FileManager.default.temporaryDirectory
            .appending(path: "decorum-\(packages.joined(separator: "-").filter { $0 != "=" })-\(getuid())")
        let python = environment.appending(path: "bin/python").path
        let works = "\(RunningScript.quoted(python)) -c 'import \(modules)'"
        let install = """
            python3 -m venv \(RunningScript.quoted(environment.path))
            \(RunningScript.quoted(python)) -m pip install --quiet --no-compile --retries 1 --timeout 20 \
            \(packages.map(RunningScript.quoted).joined(separator: " "))
            """
        let output = try? await RunningScript.output(of: "\(works) || { \(install)\n\(works); }")
        return output == nil ? nil : python
    }
}

/// A server in Python, which ends with the value.
public struct PythonServer: Sendable {
    /// What the server has written: its URL, and perhaps the keys of a user.
    public let words: [String]
    private let script: RunningScript
    /// The URL.
    public var url: String { words[0] }
    /// The folder in which the server runs.
    public var folder: URL { script.folder }

    /// Starts a program of the fixtures, which writes a list of words in JSON when it serves.
    public init(_ program: String, _ arguments: String..., with python: String? = "python3") async throws {
        let command = [python ?? "python3", "-u", Fixtures.url("\(program).py").path] + arguments
        script = try RunningScript("exec \(command.map(RunningScript.quoted).joined(separator: " ")) 2>/dev/null")
        let line = try await script.waitForOutput(of: "]\n")
        let start = line.lastIndex(of: "[") ?? line.startIndex
        words = try JSONDecoder().decode([String].self, from: Data(line[start...].utf8))
    }
}
#endif
