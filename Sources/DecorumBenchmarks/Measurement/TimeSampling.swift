/// Takes samples of rows in turn, so that a change of the machine's load affects all of them.
struct TimeSampling: Sendable {
    /// How long a sample takes, in nanoseconds.
    let sampleTime: Double
    let rounds: Int

    /// Returns the processor time of one operation, for each row and round, in nanoseconds.
    func samples(of rows: [Row]) async throws -> [[Double]] {
        var counts: [Int] = []
        for row in rows { counts.append(try await calibrate(row)) }

        var samples = [[Double]](repeating: [], count: rows.count)
        for _ in 0..<rounds {
            for (index, row) in rows.enumerated() {
                samples[index].append(try await sample(row, counts[index]) / Double(counts[index]))
            }
        }
        return samples
    }

    /// Returns the number of operations that take as long as a sample should.
    private func calibrate(_ row: Row) async throws -> Int {
        var count = 16
        var time = try await sample(row, count)
        while time < sampleTime / 4 {
            count *= 2
            time = try await sample(row, count)
        }
        return max(1, Int(Double(count) * sampleTime / time))
    }

    private func sample(_ row: Row, _ count: Int) async throws -> Double {
        let start = ProcessUsage.processorTime
        try await row.perform(count)
        return ProcessUsage.processorTime - start
    }
}

extension [Double] {
    /// The median; 0 when there are no values.
    var median: Double {
        let sorted = sorted()
        guard let last = indices.last else { return 0 }
        return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2
    }
}
