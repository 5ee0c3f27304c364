import Foundation

/// An operation at several sizes, whose cost must not grow faster than n log n in all.
struct Series: Sendable {
    let name: String
    /// The sizes, smallest first.
    let sizes: [Int]
    /// The sizes of the full run, which takes minutes.
    let furtherSizes: [Int]
    /// Prepares a size, and returns an operation with the number of units among which its cost is divided.
    let prepare: @Sendable (_ size: Int) async throws -> Prepared

    struct Prepared: Sendable {
        /// The units of work: the things of the size where the operation does something for each, or else its repetitions.
        let units: Int
        let perform: @Sendable () async throws -> Void
    }
}

/// The cost of a series at each of its sizes.
struct SeriesReading: Encodable {
    let name: String
    let sizes: [Int]
    /// The least processor time of one unit at each size, in nanoseconds.
    let costs: [Double]

    // Timed, so a unit may take this much more than the law allows: caches of the processor are smaller than the largest
    // sizes, where a lookup takes up to twice as long.
    private static let slack = 2.5

    /// The cost of a unit at the largest size, over that at the smallest.
    var growth: Double { (costs.last ?? 0) / max(costs.first ?? 1, 1) }

    /// The largest growth of the cost of one unit with which all n of them take n log n.
    var limit: Double {
        guard let first = sizes.first, let last = sizes.last else { return 1 }
        return Self.slack * log(Double(last) + 1) / log(Double(first) + 1)
    }

    var failures: [String] {
        guard growth > limit else { return [] }
        return [
            "\(name): a unit costs \(growth.text) times as much at \(sizes.last ?? 0) as at \(sizes.first ?? 0), and may "
                + limit.text
        ]
    }
}

extension SeriesReading: Judged {
    var row: String { name }

    /// Nothing: the growth has a bound of its own.
    func value(of quantity: Target.Quantity) -> Double? { nil }
}

extension Table {
    init(_ readings: [SeriesReading]) {
        header = ["scaling", "sizes", "µs of one", "growth", "may be"]
        rows = readings.map { reading in
            [
                reading.name, reading.sizes.map { "\($0)" }.joined(separator: " "),
                reading.costs.map { ($0 / 1e3).text }.joined(separator: " "), reading.growth.text, reading.limit.text,
            ]
        }
    }
}
