import Foundation

/// Counts what a request over a socket costs a client: the instructions of all its threads, and its system calls.
///
/// Both are nearly repeatable, regardless of the machine's load, which times are not.
struct WireBenchmark {
    private static let workloads: [Exchanging.Workload] = [.sequential, .concurrent]
    private static let count = 640
    /// The system calls that are shown by name.
    private static let shown: [Quantity] = [.futexCalls, .pollCalls, .receiveCalls, .sendCalls, .randomCalls]

    let arguments: Arguments

    func measure() async throws -> [Reading] {
        // URLSession is not counted, since its rows take minutes under valgrind.
        let chosen = Self.workloads.flatMap { workload in
            Subject.all.filter { subject in
                arguments.includes("wire/\(workload.rawValue)/\(subject.name)") && !subject.name.contains("URLSession")
                    && subject.name != "data(for:)"
            }.map { (workload, $0) }
        }
        guard !chosen.isEmpty else { return [] }
        let server = try MeasuredServer(arguments)
        defer { try? server.stop() }
        return try await TemporaryFolder.with { folder in
            chosen.map { workload, subject in
                func exchange(_ count: Int) -> [String] {
                    [
                        "--exchange", workload.rawValue, "--filter", subject.name, "--origin", server.url, "--requests",
                        "\(count)",
                    ]
                }
                var reading = Reading("wire/\(workload.rawValue)/\(subject.name)")
                reading[.instructions] = try? InstructionCounting.count(exchange(Self.count), in: folder)[subject.name]
                    .map { $0 / Double(Self.count) }
                guard let few = try? calls(exchange(64), in: folder),
                    let many = try? calls(exchange(64 + Self.count), in: folder)
                else { return reading }
                // What the start of the program calls is in both.
                let calls = many.map { ($0, ($1 - (few[$0] ?? 0)) / Double(Self.count)) }
                for quantity in Self.shown { reading[quantity] = calls.first { $0.0 == quantity.rawValue }?.1 ?? 0 }
                reading[.allCalls] = calls.map(\.1).reduce(0, +)
                return reading
            }
        }
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
