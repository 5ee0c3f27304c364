import Foundation

/// All measurements.
struct Report: Encodable {
    var system = ProcessInfo.processInfo.operatingSystemVersionString
    var processors = ProcessInfo.processInfo.activeProcessorCount
    var readings: [Reading] = []
    var caller: [CallerReading] = []
    var cassettes: [CassetteReading] = []
    var stores: [StoreReading] = []
    var scaling: [SeriesReading] = []
    var wire: [WireReading] = []
    var transports: [TransportReading] = []
    var verdicts: [Verdict] = []

    var failures: [String] {
        readings.flatMap { reading in reading.failures.map { "\(reading.name): \($0)" } }
            + caller.flatMap { reading in reading.failures.map { "\(reading.name): \($0)" } }
            + scaling.flatMap(\.failures)
            + verdicts.compactMap(\.failure)
    }

    /// Checks the measurements against the targets; a target whose row was not measured is skipped.
    mutating func judge(by targets: [Target]) {
        let judged: [[any Judged]] = [readings, caller, cassettes, stores, wire, transports]
        let byRow = Dictionary(judged.joined().map { ($0.row, $0) }) { first, _ in first }
        verdicts = targets.compactMap { target in
            byRow[target.row]?.value(of: target.quantity).map(target.verdict)
        }
    }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(self)
        }
    }
}
