#if os(macOS) || os(Linux)
import DecorumTesting
import Foundation

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
            \(RunningScript.quoted(python)) -m pip install --quiet --retries 1 --timeout 20 \
            \(packages.map(RunningScript.quoted).joined(separator: " "))
            """
        let output = try? await RunningScript.output(of: "\(works) || { \(install)\n\(works); }")
        return output == nil ? nil : python
    }
}
#endif
