import Decorum
import DecorumEndpoints
import DecorumTransfers
import Foundation

/// Measures downloads to files in memory, with one range and with several, beside a response that is saved.
///
/// What the server gives is the rate at which that response arrives in a file.
enum TransferBenchmark {
    private static let rounds = 5

    static func measure(_ arguments: Arguments) async throws -> [Reading] {
        guard arguments.includes("transfers/download") || arguments.includes("transfers/parallel") else { return [] }
        var arguments = arguments
        arguments.mebibytes = min(arguments.mebibytes, 256)
        let server = try MeasuredServer(arguments)
        defer { try? server.stop() }
        let length = Int64(arguments.mebibytes) << 20
        let connection = SystemConnection()
        let request = try Request.get(server.url + "/large")
        let folder = SparseFile.folder.appending(path: "benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "large")

        func download(_ policy: DownloadPolicy) async throws {
            let result = try await connection.download(request, to: file, policy: policy)
            guard result.length == length, result.restarts.isEmpty else {
                throw BenchmarkFailure("A download is wrong.")
            }
        }
        let usages = try await usages([
            { try await connection.send(request).save(to: file, upTo: length) },
            { try await download(.standard) },
            { try await download(DownloadPolicy(parallel: 4)) },
        ])
        return [
            Reading("transfers/save", usages[0], over: nil), Reading("transfers/download", usages[1], over: usages[0]),
            Reading("transfers/parallel", usages[2], over: usages[0]),
        ]
    }

    /// The times of operations that take turns, in nanoseconds; the first round, which fills caches, is left out.
    private static func usages(_ operations: [() async throws -> Void]) async throws -> [[Usage]] {
        var usages = Array(repeating: [Usage](), count: operations.count)
        for round in 0...rounds {
            for (number, operation) in operations.enumerated() {
                let (processor, start) = (ProcessUsage.processorTime, ProcessUsage.time)
                try await operation()
                let usage = Usage(time: ProcessUsage.time - start, processor: ProcessUsage.processorTime - processor)
                if round > 0 { usages[number].append(usage) }
            }
        }
        return usages
    }
}

/// The times of one transfer, in nanoseconds.
private struct Usage {
    let time: Double
    let processor: Double
}

extension Reading {
    /// The medians of all rounds, and the shares of the baseline's.
    fileprivate init(_ name: String, _ usages: [Usage], over baseline: [Usage]?) {
        self.init(
            name,
            [
                .transferTime: usages.map(\.time).median / 1e9,
                .transferProcessorTime: usages.map(\.processor).median / 1e9,
            ])
        guard let baseline, let least = baseline.map(\.processor).min() else { return }
        // Both in one round, in which the machine was as fast.
        self[.rateRatio] = zip(usages, baseline).map { $1.time / $0.time }.median
        // The least of each, since other programs on the machine only ever add to it.
        self[.processor] = (usages.map(\.processor).min() ?? 0) / least
    }
}
