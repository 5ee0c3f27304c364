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
        case .serve: try OriginProcess.serve(mebibytes: arguments.mebibytes)
        case .exchange: try await Exchanging(arguments).run()
        case .help: print(Arguments.usage, terminator: "")
        }
    }

    /// The rows of operations in memory, with their baselines.
    static func rows(_ arguments: Arguments) throws -> [Row] {
        let rows =
            try LayerRows.rows() + DecoratorRows.rows() + CodingRows.rows() + UnderWayRows.rows() + StackRows.rows()
            + CassetteRows.rows() + CallRows.rows() + EventStreamRows.rows()
        let chosen = rows.filter { arguments.includes($0.name) }
        let baselines = Set(chosen.compactMap(\.baseline))
        return rows.filter { arguments.includes($0.name) || baselines.contains($0.name) }
    }
}

/// The arguments of the command line.
struct Arguments: Sendable {
    enum Mode: String, Sendable {
        case measure
        case serve
        case count
        case exchange
        case help
    }

    var mode = Mode.measure
    /// A text that the names of the measured rows contain.
    var filter: String?
    /// The file to which all numbers are written.
    var json: String?
    /// Whether the program fails if a bound is exceeded.
    var isCheck = false
    /// Whether only allocations and instructions are counted, and no times are measured.
    var isCountingOnly = false
    /// Whether only times are measured, and nothing is counted.
    var isTimingOnly = false
    /// Whether only the tables of which README shows some rows are written.
    var isForReadme = false
    var rounds = 9
    /// The size of the large bodies, in MiB.
    var mebibytes = 1024
    /// The server to send to; nil to start one.
    var origin: String?
    /// The number of small requests of a process that exchanges; nil for as many as fit into a time.
    var requests: Int?
    /// Whether the server is that of the tests, also where nginx is installed.
    var usesLoopbackOrigin = false
    /// The file that a process sends which exchanges.
    var file: String?
    /// The workload of a process that exchanges.
    var workload: String?

    static let usage = """
        benchmarks [--filter text] [--json file] [--rounds number] [--count-only] [--time-only]
                   [--check] [--markdown] [--origin url] [--loopback] [--size MiB]

          --filter      measures the rows whose names contain the text, such as layers/, decorators/, caching/, stacks/,
                        caller/, cassettes/, stores/, scaling/, transports/, wire/
          --count-only  counts allocations and instructions, which are repeatable, and measures no times
          --time-only   measures the times that have targets, and counts nothing
          --check       fails when a count, a ratio or a time is worse than its bound
          --markdown    writes only the tables of which README shows some rows
          --origin      sends to this server, which has to answer GET /small, GET /large and PUT /sink
          --loopback    sends to the server of the tests, also where nginx is installed
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
            case "--markdown": isForReadme = true
            case "--filter": filter = rest.popFirst()
            case "--json": json = rest.popFirst()
            case "--origin": origin = rest.popFirst()
            case "--rounds": rounds = max(1, try Self.number(rest.popFirst()))
            case "--file": file = rest.popFirst()
            case "--loopback": usesLoopbackOrigin = true
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

    func includes(_ name: String) -> Bool {
        filter.map(name.contains) ?? true
    }
}

/// Performs the requested measurements and reports them.
struct MeasuringRun {
    let arguments: Arguments

    func run() async throws {
        var report = try await measure()
        if arguments.isCheck { try await measureFailedRowsAgain(&report) }
        if !report.verdicts.isEmpty { show(Table(report.verdicts)) }
        if arguments.isForReadme { write(ReadmeTables(report: report).text) }
        if let file = arguments.json { try report.json.write(to: URL(filePath: file)) }

        for reading in report.readings where !arguments.isForReadme {
            for bound in reading.looseBounds { write("BOUND LOOSE:  \(reading.name): \(bound)\n") }
        }
        for reading in report.readings {
            for bound in reading.warnings { write("BOUND NEAR:  \(reading.name): \(bound)\n") }
        }
        let failures = report.failures
        for failure in failures { write("BOUND EXCEEDED:  \(failure)\n") }
        guard failures.isEmpty || !arguments.isCheck else {
            throw BenchmarkFailure("\(failures.count) bounds are exceeded.")
        }
    }

    /// Measures each row that has failed twice more at most: other work on the machine makes a row worse, but rarely each
    /// time, and a cost of the row itself shows each time.
    private func measureFailedRowsAgain(_ report: inout Report) async throws {
        for _ in 0..<2 {
            for row in report.failedRows {
                var arguments = arguments
                arguments.filter = row
                report.replace(row, by: try await MeasuringRun(arguments: arguments).measure())
            }
        }
    }

    private func measure() async throws -> Report {
        var report = Report()
        if !arguments.isTimingOnly { report.readings = try await readings(Benchmarks.rows(arguments)) }
        if !report.readings.isEmpty { show(Table(report.readings)) }
        if !arguments.isCountingOnly {
            // Growth is timed, and counting on sockets takes ten minutes.
            report.scaling = try await ScalingBenchmark(arguments).measure()
            if !report.scaling.isEmpty { show(Table(report.scaling)) }
            report.wire = try WireBenchmark(arguments: arguments).measure()
            if !report.wire.isEmpty { show(Table(report.wire)) }
            report.caller = try await CallerBenchmark(arguments).measure()
            if !report.caller.isEmpty { show(Table(report.caller)) }
            report.cassettes = try await CassetteBenchmark(arguments).measure()
            if !report.cassettes.isEmpty { show(Table(report.cassettes)) }
            report.stores = try await StoreBenchmark(arguments).measure()
            if !report.stores.isEmpty { show(Table(report.stores)) }
            report.transports = try TransportBenchmark(arguments: arguments).measure(show)
        }
        report.judge(by: Target.all)
        return report
    }

    private func readings(_ rows: [Row]) async throws -> [Reading] {
        guard !rows.isEmpty else { return [] }
        var readings = rows.map(Reading.init)
        for (index, row) in rows.enumerated() {
            readings[index].allocations = try await AllocationCounting.allocations(of: row)
        }
        if !arguments.isCountingOnly { try await addTimes(of: rows, to: &readings) }
        let instructions = countedInstructions()
        for index in readings.indices { readings[index].instructions = instructions[readings[index].name] }

        let byName = Dictionary(readings.map { ($0.name, $0) }) { first, _ in first }
        for (index, row) in rows.enumerated() {
            readings[index].compare(with: row.baseline.flatMap { byName[$0] })
            readings[index].judge(by: row.bounds)
        }
        return readings
    }

    private func addTimes(of rows: [Row], to readings: inout [Reading]) async throws {
        let samples = try await TimeSampling(sampleTime: 1e7, rounds: arguments.rounds).samples(of: rows)
        let names = Dictionary(rows.enumerated().map { ($1.name, $0) }) { first, _ in first }
        for (index, row) in rows.enumerated() {
            readings[index].median = samples[index].median
            readings[index].minimum = samples[index].min()
            guard let baseline = row.baseline.flatMap({ names[$0] }) else { continue }
            readings[index].ratio = zip(samples[index], samples[baseline]).map { $0 / $1 }.median
        }
    }

    private func countedInstructions() -> [String: Double] {
        do {
            return try InstructionCounting(filter: arguments.filter).instructions()
        } catch {
            write("Instructions are not counted: \(error)\n")
            return [:]
        }
    }

    private func show(_ table: Table) {
        if !arguments.isForReadme { write(table.text) }
    }

    private func write(_ text: String) {
        // A reader that has closed the pipe is not an error.
        try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    }
}
