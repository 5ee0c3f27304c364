import DecorumProbe
import Foundation

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
