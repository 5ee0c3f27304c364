import Foundation

#if os(macOS) || os(Linux)
/// A child process, of another program or of this one.
struct ChildProcess {
    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private let name: String

    /// The path of this program.
    static var thisProgram: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }

    init(_ name: String, _ arguments: [String]) {
        self.name = name
        // `env` finds a program by its name.
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardOutput = output
        process.standardInput = input
    }

    /// Runs the program and waits until it ends.
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

    /// Starts the program and waits for its first output.
    func start() throws -> String {
        try process.run()
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Closes the program's input, which ends a program that reads it, and waits until it ends.
    func finish() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
#else
/// Stands for a child process on systems where a process cannot start another one.
struct ChildProcess {
    static let thisProgram = ""
    private let failure = BenchmarkFailure("An app cannot start other programs on this system.")

    init(_ name: String, _ arguments: [String]) {}

    @discardableResult func run() throws -> Data { throw failure }

    func start() throws -> String { throw failure }

    func finish() throws {}
}
#endif

/// An error that is thrown when a measurement fails.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
