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

    /// The rows with a failure, in the order of their names.
    var failedRows: [String] {
        let rows: [[String]] = [
            readings.filter { !$0.failures.isEmpty }.map(\.row), caller.filter { !$0.failures.isEmpty }.map(\.row),
            scaling.filter { !$0.failures.isEmpty }.map(\.row), verdicts.filter { !$0.isKept }.map(\.row),
        ]
        return Set(rows.joined()).sorted()
    }

    /// Takes a row from another report, and judges anew.
    mutating func replace(_ row: String, by other: Report) {
        readings.replace(row, from: other.readings)
        caller.replace(row, from: other.caller)
        cassettes.replace(row, from: other.cassettes)
        stores.replace(row, from: other.stores)
        scaling.replace(row, from: other.scaling)
        wire.replace(row, from: other.wire)
        transports.replace(row, from: other.transports)
        judge(by: Target.all)
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

extension Array where Element: Judged {
    fileprivate mutating func replace(_ row: String, from others: [Element]) {
        guard let index = firstIndex(where: { $0.row == row }), let other = others.first(where: { $0.row == row })
        else { return }
        self[index] = other
    }
}
