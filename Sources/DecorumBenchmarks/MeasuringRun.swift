import Foundation

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
