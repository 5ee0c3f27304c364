import DecorumTesting
import Foundation

/// The interpreter of Python, whose own parsers read what this package has written.
enum PythonOracle {
    static let program = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Runs a script, which finds its input in the file of its first argument.
    static func run(_ script: String, on input: Data, arguments: [String] = []) throws -> Data {
        let file = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UInt64.random(in: 0 ... .max))")
        try input.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(filePath: program ?? "/usr/bin/python3")
        process.arguments = ["-c", script, file.path] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileReadUnknown) }
        return answer
    }
}
