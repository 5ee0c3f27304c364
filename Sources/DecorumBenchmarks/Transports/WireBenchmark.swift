import Foundation

/// Counts what a request over a socket costs a client: the instructions of all its threads, and its system calls.
///
/// Both are nearly repeatable, regardless of the machine's load, which times are not.
struct WireBenchmark {
    private static let workloads: [Exchanging.Workload] = [.sequential, .concurrent]
    private static let count = 640

    let arguments: Arguments

    func measure() throws -> [WireReading] {
        let chosen = Self.workloads.flatMap { workload in subjects(of: workload).map { (workload, $0) } }
        guard !chosen.isEmpty else { return [] }
        let server = try MeasuredServer(arguments)
        defer { try? server.stop() }
        let folder = FileManager.default.temporaryDirectory.appending(path: "benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        let program = folder.appending(path: "benchmarks").path
        // Stripped: valgrind 3.19 cannot read Swift's debug information, and exits.
        try ChildProcess("strip", ["-g", "-o", program, ChildProcess.thisProgram]).run()
        return chosen.map { workload, subject in
            var reading = WireReading(name: Self.name(subject, workload))
            reading.instructions = try? instructions(program, exchange(subject, workload, at: server.url), in: folder)
            guard let few = try? calls(exchange(subject, workload, at: server.url, count: 64), in: folder),
                let many = try? calls(
                    exchange(subject, workload, at: server.url, count: 64 + Self.count), in: folder)
            else { return reading }
            // What the start of the program calls is in both.
            for (name, number) in many { reading.calls[name] = (number - (few[name] ?? 0)) / Double(Self.count) }
            return reading
        }
    }

    private static func name(_ subject: Subject, _ workload: Exchanging.Workload) -> String {
        "wire/\(workload.rawValue)/\(subject.name)"
    }

    /// The chosen clients; URLSession is not counted, since its rows take minutes under valgrind.
    private func subjects(of workload: Exchanging.Workload) -> [Subject] {
        Subject.all.filter { subject in
            arguments.includes(Self.name(subject, workload)) && !subject.name.contains("URLSession")
                && subject.name != "data(for:)"
        }
    }

    private func exchange(
        _ subject: Subject, _ workload: Exchanging.Workload, at origin: String, count: Int = Self.count
    ) -> [String] {
        [
            "--exchange", workload.rawValue, "--filter", subject.name, "--origin", origin, "--requests", "\(count)",
        ]
    }

    /// The instructions of one request.
    private func instructions(_ program: String, _ exchange: [String], in folder: URL) throws -> Double {
        let file = folder.appending(path: "instructions-\(UUID())")
        try ChildProcess(
            "valgrind", ["--tool=callgrind", "--callgrind-out-file=\(file.path)", program] + exchange
        ).run()
        let text = String(decoding: try Data(contentsOf: file.appendingPathExtension("1")), as: UTF8.self)
        guard let total = text.split(separator: "\n").first(where: { $0.hasPrefix("totals: ") }),
            let number = total.split(separator: " ").last.flatMap({ Double($0) })
        else { throw BenchmarkFailure("valgrind has counted nothing.") }
        return number / Double(Self.count)
    }

    /// The number of calls of each system call of a whole process.
    private func calls(_ exchange: [String], in folder: URL) throws -> [String: Double] {
        let file = folder.appending(path: "calls-\(UUID())")
        try ChildProcess("strace", ["-c", "-f", "-o", file.path, ChildProcess.thisProgram] + exchange).run()
        var calls: [String: Double] = [:]
        for line in String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n") {
            // The share, the seconds, the microseconds of one, the calls, perhaps the errors, and the name.
            let words = line.split(separator: " ")
            guard words.count >= 5, let name = words.last, let number = Double(words[3]) else { continue }
            calls[String(name)] = number
        }
        calls["total"] = nil
        return calls
    }
}

/// The counts of one client and workload, for each request.
struct WireReading: Encodable {
    let name: String
    var instructions: Double?
    /// The calls of each system call.
    var calls: [String: Double] = [:]

    init(name: String) {
        self.name = name
    }

    fileprivate var allCalls: Double? { calls.isEmpty ? nil : calls.values.reduce(0, +) }
}

extension WireReading: Judged {
    var row: String { name }

    func value(of quantity: Target.Quantity) -> Double? {
        switch quantity {
        case .instructions: instructions
        case .futexCalls: calls["futex"]
        case .rate, .processor, .added, .time, .instructionRatio: nil
        }
    }
}

extension Table {
    init(_ readings: [WireReading]) {
        let shown = ["futex", "poll", "recvfrom", "sendto", "getrandom"]
        header = ["counted for a request", "instructions"] + shown + ["all calls"]
        rows = readings.map { reading in
            [reading.name, reading.instructions.text] + shown.map { (reading.calls[$0] ?? 0).text }
                + [reading.allCalls.text]
        }
    }
}
