import DecorumTesting
import Foundation

/// The interpreter of Python, whose own parsers read what this package has written.
enum PythonOracle {
    static let program = RunningScript.program("python3", variable: "DECORUM_PYTHON")

    /// Runs a script, which finds its input in the file of its first argument.
    static func run(_ script: String, on input: Data, argument: String = "") async throws -> Data {
        try await RunningScript.output(
            of: #"exec "$(cat program)" script.py input "$(cat argument)""#,
            files: [
                "program": Data((program ?? "python3").utf8), "script.py": Data(script.utf8), "input": input,
                "argument": Data(argument.utf8),
            ])
    }
}
