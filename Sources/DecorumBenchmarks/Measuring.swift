import DecorumProbe
import Foundation

/// A counted operation, its baseline and its bounds.
struct Row: Sendable {
    let name: String
    /// The row of the same work without the addition of this row; the difference is the cost.
    var baseline: String?
    /// The number of layers among which the cost is divided.
    var layers = 1
    /// The bounds, which a value may exceed by a tenth.
    var bounds: [Quantity: Double] = [:]
    /// Performs the operation a number of times.
    let perform: @Sendable (_ count: Int) async throws -> Void

    init(
        _ name: String, over baseline: String? = nil, layers: Int = 1, bounds: [Quantity: Double] = [:],
        perform: @escaping @Sendable (_ count: Int) async throws -> Void
    ) {
        self.name = name
        self.baseline = baseline
        self.layers = layers
        self.bounds = bounds
        self.perform = perform
    }
}

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
enum InstructionCounting {
    private static let count = 100
    // Occasional work of the runtime, such as starting a thread, affects only one batch.
    private static let batches = 3

    /// Performs rows between marks; called when the program runs under valgrind.
    static func perform(_ rows: [Row]) async throws {
        guard decorum_counts_instructions() else {
            throw BenchmarkFailure(
                "The program does not run under valgrind, or was built without its headers.")
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

    /// Returns the number of instructions of one operation in the best of all batches, by the name of the row; the program
    /// runs again under valgrind for the rows whose names contain a text.
    static func instructions(of filter: String?) async throws -> [String: Double] {
        try await TemporaryFolder.with { folder in
            try count(["--count"] + (filter.map { ["--filter", $0] } ?? []), in: folder).mapValues {
                $0 / Double(count)
            }
        }
    }

    /// The least count between two marks of this program with other arguments, by the text of the second mark.
    static func count(_ arguments: [String], in folder: URL) throws -> [String: Double] {
        // Stripped: valgrind 3.19 cannot read Swift's debug information, and exits.
        let program = folder.appending(path: "benchmarks").path
        try ChildProcess("strip", ["-g", "-o", program, ChildProcess.thisProgram]).run()
        let output = folder.appending(path: "counts-\(UUID())")
        try ChildProcess(
            "valgrind", ["--tool=callgrind", "--callgrind-out-file=\(output.path)", program] + arguments
        ).run()
        var counts: [String: Double] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name.hasPrefix(output.lastPathComponent + ".") {
            let text = String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
            let lines = text.split(separator: "\n")
            let trigger = "desc: Trigger: Client Request: "
            guard let mark = lines.first(where: { $0.hasPrefix(trigger) })?.dropFirst(trigger.count),
                let total = lines.first(where: { $0.hasPrefix("totals: ") })?.split(separator: " ").last,
                let count = Double(total)
            else { continue }
            counts[String(mark)] = min(count, counts[String(mark)] ?? count)
        }
        return counts
    }
}

/// A folder for the files of a benchmark.
enum TemporaryFolder {
    /// Creates a folder, and removes it after the closure.
    static func with<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
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
    /// How often each operation is measured.
    static let rounds = 9

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

    /// The processor times of operations in each round, in nanoseconds; the first round, which fills caches, is left out.
    ///
    /// The operations take turns, so that a machine that becomes slower for a while slows all of them down.
    static func times(_ operations: [() async throws -> Void]) async throws -> [[Double]] {
        var times = Array(repeating: [Double](), count: operations.count)
        for round in 0...rounds {
            for (number, operation) in operations.enumerated() {
                let start = processorTime
                try await operation()
                if round > 0 { times[number].append(processorTime - start) }
            }
        }
        return times
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
