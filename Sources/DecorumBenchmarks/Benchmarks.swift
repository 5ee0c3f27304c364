import Foundation

/// Measures what Decorum costs; exits with 1 when something fails or exceeds its bound.
@main
struct Benchmarks {
    // Not async: an asynchronous main suspends the main thread in a way that ends valgrind.
    static func main() {
        removeVariables()
        Task.detached {
            do {
                try await run(Arguments(Array(CommandLine.arguments.dropFirst())))
                exit(0)
            } catch {
                try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
                exit(1)
            }
        }
        // Runs the jobs of the main actor.
        while true { RunLoop.main.run(until: .distantFuture) }
    }

    /// Leaves only the variables of the environment that a benchmark or its child processes need.
    ///
    /// A cassette looks through all variables for secrets, so the costs of opening one would depend on the machine.
    private static func removeVariables() {
        let kept = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DECORUM_SOAK"]
        for name in ProcessInfo.processInfo.environment.keys where !kept.contains(name) {
            // No other thread runs yet that could read the environment at the same time.
            unsafe unsetenv(name)
        }
    }

    private static func run(_ arguments: Arguments) async throws {
        switch arguments.mode {
        case .measure: try await MeasuringRun(arguments: arguments).run()
        case .count: try await InstructionCounting.perform(rows(arguments))
        case .serve: try MeasuredServer.serve(mebibytes: arguments.mebibytes)
        case .exchange: try await Exchanging(arguments).run()
        case .help: print(Arguments.usage, terminator: "")
        }
    }

    /// The rows of operations in memory, with their baselines.
    static func rows(_ arguments: Arguments) throws -> [Row] {
        let rows =
            try LayerRows.rows() + DecoratorRows.rows() + CodingRows.rows() + UnderWayRows.rows() + StackRows.rows()
            + CassetteRows.rows() + CallRows.rows() + EventStreamRows.rows() + TelemetryRows.rows() + signingRows()
        let chosen = rows.filter { arguments.includes($0.name) }
        let baselines = Set(chosen.compactMap(\.baseline))
        return rows.filter { arguments.includes($0.name) || baselines.contains($0.name) }
    }

    private static func signingRows() throws -> [Row] {
        #if Signing
        try SigningRows.rows()
        #else
        []
        #endif
    }
}

/// The arguments of the command line.
struct Arguments: Sendable {
    enum Mode: Sendable { case measure, serve, count, exchange, help }

    var mode = Mode.measure
    /// A text that the names of the measured rows contain.
    var filter: String?
    /// Whether the program fails if a bound is exceeded.
    var isCheck = false
    /// Whether only allocations and instructions are counted, and no times are measured.
    var isCountingOnly = false
    /// Whether only times are measured, and nothing in memory is counted.
    var isTimingOnly = false
    /// The size of the large bodies, in MiB.
    var mebibytes = 1024
    /// The server to send to; nil to start one.
    var origin: String?
    /// The number of small requests of a process that exchanges; nil for as many as fit into a time.
    var requests: Int?
    /// The file that a process sends which exchanges.
    var file: String?
    /// The workload of a process that exchanges.
    var workload: String?

    static let usage = """
        benchmarks [--filter text] [--count-only] [--time-only] [--check] [--origin url] [--size MiB]

          --filter      measures the rows whose names contain the text, such as layers/, decorators/, caching/, stacks/,
                        caller/, cassettes/, stores/, scaling/, telemetry/, transports/, transfers/, wire/
          --count-only  counts allocations and instructions, which are repeatable, and measures no times
          --time-only   measures the times that have targets, and counts nothing in memory
          --check       fails when a count, a ratio or a time is worse than its bound
          --origin      sends to this server, which has to answer GET /small, GET /large and PUT /sink
          --size        the size of the large bodies, 1024 unless given
          --help        prints this

        Counting instructions needs valgrind, its headers, and strip, and counting system calls needs strace; without them
        it is omitted. Where nginx is installed, transports are measured against it. With DECORUM_SOAK=1 in the environment,
        the rows of scaling/ go up to their largest sizes.

        """

    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h": mode = .help
            case "--serve": mode = .serve
            case "--count": mode = .count
            case "--exchange":
                mode = .exchange
                workload = rest.popFirst()
            case "--check": isCheck = true
            case "--count-only": isCountingOnly = true
            case "--time-only": isTimingOnly = true
            case "--filter": filter = rest.popFirst()
            case "--origin": origin = rest.popFirst()
            case "--file": file = rest.popFirst()
            case "--requests": requests = max(1, try Self.number(rest.popFirst()))
            case "--size": mebibytes = max(1, try Self.number(rest.popFirst()))
            default: throw BenchmarkFailure("Unknown argument: \(word)\n\(Self.usage)")
            }
        }
    }

    private static func number(_ word: String?) throws -> Int {
        guard let word, let number = Int(word) else { throw BenchmarkFailure("A number is missing.\n\(usage)") }
        return number
    }

    func includes(_ name: String) -> Bool { filter.map(name.contains) ?? true }
}

/// Performs the requested measurements and reports them.
struct MeasuringRun {
    let arguments: Arguments

    func run() async throws {
        var report = try await measure()
        if arguments.isCheck { try await measureFailedRowsAgain(&report) }
        let verdicts = report.verdicts
        let goals = verdicts.filter { $0.goal != nil }
        if !goals.isEmpty { write(Table(goals).text) }
        let failures = verdicts.compactMap(\.failure)
        for failure in failures { write("BOUND EXCEEDED:  \(failure)\n") }
        guard failures.isEmpty || !arguments.isCheck else {
            throw BenchmarkFailure("\(failures.count) bounds are exceeded.")
        }
    }

    /// Measures each row that has failed twice more at most: other work on the machine makes a row worse, but rarely each
    /// time, and a cost of the row itself shows each time.
    private func measureFailedRowsAgain(_ report: inout Report) async throws {
        for _ in 0..<2 {
            for row in Set(report.verdicts.filter { !$0.isKept }.map(\.row)).sorted() {
                var arguments = arguments
                arguments.filter = row
                report.replace(row, by: try await MeasuringRun(arguments: arguments).measure())
            }
        }
    }

    private func measure() async throws -> Report {
        var report = Report()
        func add(_ columns: Columns, _ readings: [Reading]) {
            guard !readings.isEmpty else { return }
            report.readings += readings
            write(Table(columns, readings).text)
        }
        if !arguments.isTimingOnly { add(.counts, try await countedReadings()) }
        guard !arguments.isCountingOnly else { return report }
        // Growth is timed, and counting on sockets takes ten minutes.
        add(.scaling, try await ScalingBenchmark.measure(arguments))
        add(.wire, try await WireBenchmark(arguments: arguments).measure())
        add(.caller, try await CallerBenchmark.measure(arguments))
        add(.cassettes, try await CassetteBenchmark.measure(arguments))
        add(.stores, try await StoreBenchmark.measure(arguments))
        add(.transfers, try await TransferBenchmark.measure(arguments))
        try TransportBenchmark(arguments: arguments).measure(add)
        return report
    }

    /// The counts of operations in memory.
    private func countedReadings() async throws -> [Reading] {
        let rows = try Benchmarks.rows(arguments)
        guard !rows.isEmpty else { return [] }
        var allocations: [String: Double] = [:]
        for row in rows { allocations[row.name] = try await AllocationCounting.allocations(of: row) }
        let instructions = await countedInstructions()
        return rows.map { row in
            var reading = Reading(row.name, limits: row.bounds)
            let (count, base) = (instructions[row.name], row.baseline.flatMap { instructions[$0] })
            reading[.instructions] = count
            if let count, let base {
                reading[.instructionRatio] = count / base
                reading[.instructionsPerLayer] = (count - base) / Double(row.layers)
            }
            reading[.allocations] = allocations[row.name]
            if let count = allocations[row.name], let base = row.baseline.flatMap({ allocations[$0] }) {
                reading[.allocationsPerLayer] = (count - base) / Double(row.layers)
            }
            return reading
        }
    }

    private func countedInstructions() async -> [String: Double] {
        do {
            return try await InstructionCounting.instructions(of: arguments.filter)
        } catch {
            write("Instructions are not counted: \(error)\n")
            return [:]
        }
    }

    private func write(_ text: String) {
        // A reader that has closed the pipe is not an error.
        try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    }
}
