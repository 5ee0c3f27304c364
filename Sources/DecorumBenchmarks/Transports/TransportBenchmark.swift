import Decorum
import Foundation

/// Runs each workload with each subject in turn, against one server.
struct TransportBenchmark {
    let arguments: Arguments

    /// Measures each workload, and passes its results as soon as it is done.
    func measure(_ add: (Columns, [Reading]) -> Void) throws {
        let workloads = Exchanging.Workload.allCases.filter { !subjects(of: $0).isEmpty }
        guard !workloads.isEmpty else { return }
        let server = try MeasuredServer(arguments)
        defer { try? server.stop() }
        for workload in workloads {
            add(workload.isTransfer ? .transfers : .requests, try measure(workload, at: server.url))
        }
    }

    private func name(_ subject: Subject, _ workload: Exchanging.Workload) -> String {
        "transports/\(workload.rawValue)/\(subject.name)"
    }

    private func measure(_ workload: Exchanging.Workload, at origin: String) throws -> [Reading] {
        let chosen = subjects(of: workload)
        // Many requests under way are compared with 64, of the same client.
        let baselines = workload.isCrowd ? [] : Set(chosen.compactMap(\.baseline))
        let measured =
            chosen
            + Subject.all.filter { subject in
                baselines.contains(subject.name) && !chosen.contains { $0.name == subject.name }
            }
        // One for all, so that no client has to fill a cache of the system for the next one.
        let file = workload == .up ? try SparseFile(mebibytes: arguments.mebibytes) : nil
        defer { try? file?.remove() }

        var (outcomes, few): ([String: [Outcome]], [String: [Outcome]]) = ([:], [:])
        for _ in 0..<(workload.isTransfer ? 3 : ProcessUsage.rounds) {
            for subject in measured {
                if workload.isCrowd {
                    few[subject.name, default: []].append(try exchange(subject, .concurrent, at: origin))
                }
                outcomes[subject.name, default: []].append(try exchange(subject, workload, at: origin, file))
            }
        }
        return measured.map { subject in
            let base = workload.isCrowd ? few[subject.name] : subject.baseline.flatMap { outcomes[$0] }
            return Reading(
                name(subject, workload), outcomes[subject.name] ?? [], over: base ?? [],
                isTransfer: workload.isTransfer)
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

extension Reading {
    /// The medians of all rounds, and the shares of the baseline's in the same round.
    fileprivate init(_ name: String, _ outcomes: [Outcome], over baseline: [Outcome], isTransfer: Bool) {
        let (rate, processor) = (outcomes.map(\.rate).median, outcomes.map(\.processorTime).median)
        self.init(name, [.peakMemory: outcomes.map { Double($0.peakMemory >> 20) }.max()])
        self[isTransfer ? .transferTime : .rate] = isTransfer ? 1 / rate : rate
        self[isTransfer ? .transferProcessorTime : .time] = processor / (isTransfer ? 1e9 : 1e3)
        guard let least = baseline.map(\.processorTime).min() else { return }
        let pairs = zip(outcomes, baseline)
        self[.rateRatio] = pairs.map { $0.rate / $1.rate }.median
        // The least of each, since other programs on the machine only ever add to it.
        self[.processor] = (outcomes.map(\.processorTime).min() ?? 0) / least
        let ratios = pairs.map { $0.processorTime / $1.processorTime }
        self[.spread] = ((ratios.max() ?? 0) - (ratios.min() ?? 0)) / ratios.median
        self[.added] = pairs.map { ($0.processorTime - $1.processorTime) / 1e3 }.median
    }
}
