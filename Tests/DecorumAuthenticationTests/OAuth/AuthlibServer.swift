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
    static let python: String? = {
        let python = environment.appending(path: "bin/python").path
        if works(python) { return python }
        let interpreters = ["/usr/bin/python3", "/usr/local/bin/python3"]
        guard let system = interpreters.first(where: FileManager.default.isExecutableFile) else { return nil }
        let install = ["-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "20", "authlib==\(version)"]
        guard run(system, ["-m", "venv", environment.path]), run(python, install), works(python) else { return nil }
        return python
    }()

    private static func works(_ python: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: python) && run(python, ["-c", "import authlib.oauth2.rfc6749"])
    }

    private static func run(_ program: String, _ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
#endif
