import Foundation

/// Another program, or this one again.
struct ChildProcess {
    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private let name: String

    /// The path of this program.
    static var thisProgram: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }

    init(_ name: String, _ arguments: [String]) {
        self.name = name
        // The system's own tool finds a program by its name.
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardOutput = output
        process.standardInput = input
    }

    /// Runs the program to its end.
    @discardableResult func run() throws -> Data {
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkFailure("\(name) ended with \(process.terminationStatus).")
        }
        return data
    }

    /// Starts the program and waits for the first that it writes.
    func start() throws -> String {
        try process.run()
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Closes the program's input, which ends one that reads it, and waits for the end.
    func finish() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

/// Something could not be measured.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
