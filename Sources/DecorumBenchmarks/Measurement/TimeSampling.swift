/// Takes samples of rows in turn, so that what changes on the machine meanwhile changes all of them.
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

    /// Finds how many operations take as long as a sample should.
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
    /// The value in the middle; 0 where there are none.
    var median: Double {
        let sorted = sorted()
        guard let last = indices.last else { return 0 }
        return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2
    }
}
