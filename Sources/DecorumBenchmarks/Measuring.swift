import DecorumProbe
import Foundation

/// Counts the allocations of an operation; only on Linux, where a program may replace the system's `malloc`.
enum AllocationCounting {
    private static let count = 1000

    /// Returns the number of allocations of one operation; nil when they cannot be counted.
    static func allocations(of row: Row) async throws -> Double? {
        guard decorum_counts_allocations() else { return nil }
        try await row.perform(100)
        decorum_set_counting(true)
        defer { decorum_set_counting(false) }
        let before = decorum_allocation_count()
        try await row.perform(count)
        let allocations = Double(decorum_allocation_count() - before) / Double(count)
        // Allocations that the runtime makes once, or when an array of the store grows, do not count for an operation.
        return (allocations * 100).rounded() / 100
    }
}

/// Counts instructions with `valgrind --tool=callgrind`; the counts are repeatable, regardless of the machine's load.
struct InstructionCounting {
    private static let count = 100
    // Occasional work of the runtime, such as starting a thread, affects only one batch.
    private static let batches = 3
    private let arguments: [String]

    /// Creates a counter that runs this program again under valgrind.
    ///
    /// - Parameter filter: A text that the names of the rows contain.
    init(filter: String?) {
        arguments = ["--count"] + (filter.map { ["--filter", $0] } ?? [])
    }

    /// Performs rows between marks; called when the program runs under valgrind.
    static func perform(_ rows: [Row]) async throws {
        guard decorum_counts_instructions() else {
            throw BenchmarkFailure("The program does not run under valgrind, or was built without its headers.")
        }
        for row in rows {
            try await row.perform(50)
            for _ in 0..<batches {
                decorum_instructions_begin()
                try await row.perform(count)
                unsafe decorum_instructions_end(row.name)
            }
        }
    }

    /// Returns the number of instructions of one operation in the best of all batches, by the name of the row.
    func instructions() throws -> [String: Double] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        // Stripped: valgrind 3.19 cannot read Swift's debug information, and exits.
        let program = folder.appending(path: "benchmarks").path
        try ChildProcess("strip", ["-g", "-o", program, ChildProcess.thisProgram]).run()
        try ChildProcess(
            "valgrind",
            ["--tool=callgrind", "--callgrind-out-file=\(folder.path)/out", program] + arguments
        ).run()
        return try Self.read(folder)
    }

    private static func read(_ folder: URL) throws -> [String: Double] {
        var instructions: [String: Double] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasPrefix("out.") {
            let text = String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
            let lines = text.split(separator: "\n")
            let trigger = "desc: Trigger: Client Request: "
            guard let row = lines.first(where: { $0.hasPrefix(trigger) })?.dropFirst(trigger.count),
                let total = lines.first(where: { $0.hasPrefix("totals: ") })?.split(separator: " ").last,
                let count = Double(total)
            else { continue }
            let average = count / Double(Self.count)
            instructions[String(row)] = min(average, instructions[String(row)] ?? average)
        }
        return instructions
    }
}

/// Takes samples of rows in turn, so that a change of the machine's load affects all of them.
struct TimeSampling: Sendable {
    /// How long a sample takes, in nanoseconds.
    let sampleTime: Double
    let rounds: Int

    /// Returns the processor time of one operation, for each row and round, in nanoseconds.
    func samples(of rows: [Row]) async throws -> [[Double]] {
        var counts: [Int] = []
        for row in rows { counts.append(try await calibrate(row)) }

        var samples = [[Double]](repeating: [], count: rows.count)
        for _ in 0..<rounds {
            for (index, row) in rows.enumerated() {
                samples[index].append(try await sample(row, counts[index]) / Double(counts[index]))
            }
        }
        return samples
    }

    /// Returns the number of operations that take as long as a sample should.
    private func calibrate(_ row: Row) async throws -> Int {
        var count = 16
        var time = try await sample(row, count)
        while time < sampleTime / 4 {
            count *= 2
            time = try await sample(row, count)
        }
        return max(1, Int(Double(count) * sampleTime / time))
    }

    private func sample(_ row: Row, _ count: Int) async throws -> Double {
        let start = ProcessUsage.processorTime
        try await row.perform(count)
        return ProcessUsage.processorTime - start
    }
}

extension [Double] {
    /// The median; 0 when there are no values.
    var median: Double {
        let sorted = sorted()
        guard let last = indices.last else { return 0 }
        return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2
    }
}

/// The resources that this process has used so far.
enum ProcessUsage {
    /// The time that all threads have spent on processors, in nanoseconds.
    static var processorTime: Double { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

    /// The time of a clock that only moves forwards, in nanoseconds.
    static var time: Double { nanoseconds(CLOCK_MONOTONIC) }

    private static func nanoseconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        // Safe: the system fills in the whole structure at this address.
        guard unsafe clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

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
