import Decorum
import Foundation

/// Runs each workload with each subject in turn, against one server.
struct TransportBenchmark {
    let arguments: Arguments

    /// Measures each workload, and shows its results as soon as it is done.
    func measure(_ show: (Table) -> Void) throws -> [TransportReading] {
        let workloads = Exchanging.Workload.allCases.filter { !subjects(of: $0).isEmpty }
        guard !workloads.isEmpty else { return [] }
        let server = try MeasuredServer(arguments)
        defer { try? server.stop() }
        let origin = server.url
        return try workloads.flatMap { workload in
            let readings = try measure(workload, at: origin)
            show(Table(readings, isTransfer: workload == .down || workload == .up))
            return readings
        }
    }

    private func name(_ subject: Subject, _ workload: Exchanging.Workload) -> String {
        "transports/\(workload.rawValue)/\(subject.name)"
    }

    private func measure(_ workload: Exchanging.Workload, at origin: String) throws -> [TransportReading] {
        if workload.isCrowd { return try measureCrowd(workload, at: origin) }
        let chosen = subjects(of: workload)
        let baselines = Set(chosen.compactMap(\.baseline))
        let subjects = Subject.all.filter { arguments.includes(name($0, workload)) || baselines.contains($0.name) }
        let isTransfer = workload == .down || workload == .up
        // One for all, so that no client has to fill a cache of the system for the next one.
        let file = workload == .up ? try SparseFile(mebibytes: arguments.mebibytes) : nil
        defer { try? file?.remove() }

        var outcomes: [String: [Outcome]] = [:]
        for _ in 0..<(isTransfer ? min(arguments.rounds, 3) : arguments.rounds) {
            for subject in subjects {
                outcomes[subject.name, default: []].append(try exchange(subject, workload, at: origin, file))
            }
        }
        return subjects.map { subject in
            TransportReading(
                name: name(subject, workload), outcomes: outcomes[subject.name] ?? [],
                baseline: subject.baseline.flatMap { outcomes[$0] } ?? [])
        }
    }

    /// Compares many requests under way with 64, of the same client.
    private func measureCrowd(_ workload: Exchanging.Workload, at origin: String) throws -> [TransportReading] {
        try subjects(of: workload).map { subject in
            var (crowd, few): ([Outcome], [Outcome]) = ([], [])
            for _ in 0..<arguments.rounds {
                few.append(try exchange(subject, .concurrent, at: origin))
                crowd.append(try exchange(subject, workload, at: origin))
            }
            return TransportReading(name: name(subject, workload), outcomes: crowd, baseline: few)
        }
    }

    /// The chosen clients; of many requests under way, only our own transports are asked.
    private func subjects(of workload: Exchanging.Workload) -> [Subject] {
        Subject.all.filter { subject in
            arguments.includes(name(subject, workload)) && (!workload.isCrowd || subject.name == "CurlConnection")
        }
    }

    private func exchange(
        _ subject: Subject, _ workload: Exchanging.Workload, at origin: String, _ file: SparseFile? = nil
    ) throws -> Outcome {
        let data = try ChildProcess(
            ChildProcess.thisProgram,
            [
                "--exchange", workload.rawValue, "--filter", subject.name, "--origin", origin,
                "--size", "\(arguments.mebibytes)",
            ] + (file.map { ["--file", $0.url.path] } ?? [])
        ).run()
        return try JSONDecoder().decode(Outcome.self, from: data)
    }
}

/// The measurements of one subject and workload: the medians of all rounds.
struct TransportReading: Sendable, Encodable {
    let name: String
    /// The rate, as a share of the baseline's in the same round.
    let rateRatio: Double?
    /// The processor time, as a share of the baseline's in the same round.
    let processorRatio: Double?
    /// The range of the ratios of all rounds, as a share of their median.
    let processorSpread: Double?
    /// Exchanges per second.
    let rate: Double
    /// The processor time of the client for one exchange, in nanoseconds.
    let processorTime: Double
    /// The processor time beyond the baseline's in the same round, in nanoseconds.
    let addedProcessorTime: Double?
    /// In bytes.
    let peakMemory: Int

    init(name: String, outcomes: [Outcome], baseline: [Outcome]) {
        self.name = name
        rate = outcomes.map(\.rate).median
        processorTime = outcomes.map(\.processorTimePerExchange).median
        peakMemory = outcomes.map(\.peakMemory).max() ?? 0
        let pairs = zip(outcomes, baseline)
        rateRatio = baseline.isEmpty ? nil : pairs.map { $0.rate / $1.rate }.median
        // The least of each, since other programs on the machine only ever add to it.
        processorRatio = baseline.leastProcessorTime.map { (outcomes.leastProcessorTime ?? 0) / $0 }
        let ratios = pairs.map { $0.processorTimePerExchange / $1.processorTimePerExchange }
        processorSpread = ratios.isEmpty ? nil : ((ratios.max() ?? 0) - (ratios.min() ?? 0)) / ratios.median
        addedProcessorTime =
            baseline.isEmpty ? nil : pairs.map { $0.processorTimePerExchange - $1.processorTimePerExchange }.median
    }
}

extension TransportReading: Judged {
    var row: String { name }

    func value(of quantity: Target.Quantity) -> Double? {
        switch quantity {
        case .rate: rateRatio
        case .processor: processorRatio
        case .added: addedProcessorTime.map { $0 / 1e3 }
        case .time, .instructions, .instructionRatio, .futexCalls: nil
        }
    }
}

extension Outcome {
    fileprivate var rate: Double { Double(count) / time * 1e9 }
    fileprivate var processorTimePerExchange: Double { processorTime / Double(count) }
}

extension [Outcome] {
    fileprivate var leastProcessorTime: Double? { map(\.processorTimePerExchange).min() }
}

extension Table {
    init(_ readings: [TransportReading], isTransfer: Bool) {
        let units = isTransfer ? ["s", "CPU s"] : ["requests/s", "CPU µs"]
        header = ["row", "rate ÷ baseline", "CPU ÷ baseline", "spread", "CPU µs added"] + units + ["peak MiB"]
        rows = readings.map { reading in
            [
                reading.name, reading.rateRatio.text, reading.processorRatio.text,
                reading.processorSpread.text, reading.addedProcessorTime.map { $0 / 1000 }.text,
                (isTransfer ? 1 / reading.rate : reading.rate).text,
                (reading.processorTime / (isTransfer ? 1e9 : 1e3)).text, "\(reading.peakMemory >> 20)",
            ]
        }
    }
}
