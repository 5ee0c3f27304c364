import Foundation

/// Measures how costs grow with the number of layers, fields, stored responses, interactions and unread responses.
struct ScalingBenchmark {
    private let arguments: Arguments
    /// Whether the largest sizes are measured too.
    private let isFull = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1"
    private static let rounds = 5

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func measure() async throws -> [SeriesReading] {
        var readings: [SeriesReading] = []
        for series in ScalingSeries.all where arguments.includes(series.name) {
            readings.append(try await measure(series))
        }
        return readings
    }

    private func measure(_ series: Series) async throws -> SeriesReading {
        let sizes = series.sizes + (isFull ? series.furtherSizes : [])
        var costs: [Double] = []
        for size in sizes {
            let prepared = try await series.prepare(size)
            var least = Double.infinity
            // The first round, which fills caches, is rarely the least.
            for _ in 0..<Self.rounds {
                let start = ProcessUsage.processorTime
                try await prepared.perform()
                least = min(least, (ProcessUsage.processorTime - start) / Double(prepared.units))
            }
            costs.append(least)
        }
        return SeriesReading(name: series.name, sizes: sizes, costs: costs)
    }
}
