#if os(macOS) || os(Linux)
import DecorumTestSupport
import DecorumTesting
import Foundation

/// The authorization server of authlib, a library of PyPI for Python, in a process of its own.
///
/// Its virtual environment is made once for a machine, in the directory for temporary files.
enum AuthlibServer {
    private static let version = "1.9.9"
    private static let environment = FileManager.default.temporaryDirectory
        .appending(path: "decorum-authlib-\(version)-\(getuid())")

    /// The interpreter with the library; nil where the library cannot be installed.
    static func python() async -> String? {
        let python = environment.appending(path: "bin/python").path
        let program = RunningScript.quoted(python)
        let works = "\(program) -c 'import authlib.oauth2.rfc6749'"
        let install = """
            python3 -m venv \(RunningScript.quoted(environment.path))
            \(program) -m pip install --quiet --retries 1 --timeout 20 authlib==\(version)
            """
        let output = try? await RunningScript.output(of: "\(works) || { \(install)\n\(works); }")
        return output == nil ? nil : python
    }
}
#endif
