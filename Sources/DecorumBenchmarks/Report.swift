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

/// The measurements of one row.
struct Reading: Sendable, Codable {
    let name: String
    let baseline: String?
    let layers: Int
    /// The processor time of one operation, in nanoseconds.
    var median: Double?
    var minimum: Double?
    /// The median over all rounds of the processor time as a share of the baseline's in the same round.
    var ratio: Double?
    var allocations: Double?
    var instructions: Double?
    var instructionRatio: Double?
    var instructionsPerLayer: Double?
    var allocationsPerLayer: Double?
    var failures: [String] = []
    /// The bounds that are exceeded by less than a tenth, as another machine or a small change may do.
    var warnings: [String] = []
    /// The bounds that allow much more than was counted, and should be lowered.
    var looseBounds: [String] = []

    init(_ row: Row) {
        name = row.name
        baseline = row.baseline
        layers = row.layers
    }

    /// Computes the differences from the baseline.
    mutating func compare(with base: Reading?) {
        if let instructions, let other = base?.instructions {
            instructionRatio = instructions / other
            instructionsPerLayer = (instructions - other) / Double(layers)
        }
        if let allocations, let other = base?.allocations {
            allocationsPerLayer = (allocations - other) / Double(layers)
        }
    }

    /// The largest bound, as a share of the value, that would show a regression.
    private static let tightness = 1.15

    /// Checks the reading against the bounds; quantities that were not counted are skipped.
    mutating func judge(by bounds: [Bound]) {
        for bound in bounds {
            let value =
                switch bound.quantity {
                case .instructions: instructions
                case .instructionsPerLayer: instructionsPerLayer
                case .allocations: allocations
                case .allocationsPerLayer: allocationsPerLayer
                }
            guard let value else { continue }
            let remark = "\(bound.quantity.rawValue) is \(value.text) and may be \(bound.limit.text)"
            // Below a hundred instructions, and below ten allocations, one more is a large share.
            let isCountable = value > (bound.quantity.isOfInstructions ? 100 : 10)
            if isCountable, bound.limit > value * Self.tightness { looseBounds.append(remark) }
            if value > bound.limit * 1.1 + 0.05 {
                failures.append(remark)
            } else if value > bound.limit + 0.05 {
                warnings.append(remark)
            }
        }
    }
}

extension Reading: Judged {
    var row: String { name }

    func value(of quantity: Target.Quantity) -> Double? {
        switch quantity {
        case .instructions: instructionsPerLayer
        case .instructionRatio: instructionRatio
        case .rate, .processor, .added, .time, .futexCalls: nil
        }
    }
}

/// Rows of text in columns, as Markdown.
struct Table {
    let header: [String]
    var rows: [[String]] = []

    var text: String {
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        let lines = ([header, widths.map { String(repeating: "-", count: $0) }] + rows).map { row in
            "| "
                + row.enumerated().map { column, cell in
                    let blanks = String(repeating: " ", count: widths[column] - cell.count)
                    return column == 0 ? cell + blanks : blanks + cell
                }.joined(separator: " | ") + " |"
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Table {
    /// A table of operations in memory, ratios first.
    init(_ readings: [Reading]) {
        header = [
            "row", "time ÷ baseline", "instr ÷ baseline", "instr/layer", "allocs/layer", "instr", "allocs", "ns",
            "ns min",
        ]
        rows = readings.map { reading in
            [
                reading.name, reading.ratio.text, reading.instructionRatio.text, reading.instructionsPerLayer.text,
                reading.allocationsPerLayer.text, reading.instructions.text, reading.allocations.text,
                reading.median.text, reading.minimum.text,
            ]
        }
    }
}

extension Double {
    /// The number, rounded to a useful number of digits.
    var text: String {
        guard isFinite else { return "-" }
        if magnitude >= 100 { return "\(Int(rounded()))" }
        let digits = (magnitude * 100).rounded() / 100
        return digits == digits.rounded() ? "\(Int(digits))" : "\(self < 0 ? "-" : "")\(digits.magnitude)"
    }
}

extension Double? {
    var text: String { self?.text ?? "" }
}

/// The tables of ratios, of which README shows some rows.
struct ReadmeTables {
    let report: Report

    var text: String {
        [stacks, wire, transports, missed].filter { !$0.rows.isEmpty }.map(\.text).joined(separator: "\n")
    }

    /// The costs of layers in instructions and allocations, which are repeatable.
    private var stacks: Table {
        let shown: [(title: String, row: String, isPerLayer: Bool)] = [
            ("a layer that does nothing, its type known", "layers/empty, static, 20", true),
            ("one behind `any Connection`", "layers/empty, any, 20", true),
            ("one appended to an `any Connection`", "layers/empty, appended to any, 20", true),
            ("the same with `send` inlined", "layers/empty, inlined, appended to any, 20", true),
            ("a layer that sets one field", "layers/field, static, 5", true),
            ("the work of six layers, by hand", "stacks/six by hand", false),
            ("six working layers", "stacks/six working layers", false),
            ("a cache that has the answer", "decorators/caching, hit", true),
            ("the whole stack", "stacks/canonical", false),
            ("the whole stack, answered by its cache", "stacks/canonical, hit", false),
            ("the whole stack, with a body that streams", "stacks/canonical, streamed", false),
        ]
        var table = Table(header: ["over an answer from memory", "instructions", "allocations", "÷ by hand"])
        let hand = reading("stacks/six by hand")?.instructions
        table.rows = shown.compactMap { title, row, isPerLayer in
            guard let reading = reading(row) else { return nil }
            let instructions = isPerLayer ? reading.instructionsPerLayer : reading.instructions
            let allocations = isPerLayer ? reading.allocationsPerLayer : reading.allocations
            let isCompared = row == "stacks/six working layers"
            let ratio = isCompared ? instructions.flatMap { value in hand.map { value / $0 } } : nil
            return [title, instructions.map { max(0, $0) }.text, allocations.text, ratio.text]
        }
        return table
    }

    /// Each transport as a share of its baseline: the rate of requests, and the processor time of one.
    private var transports: Table {
        var table = Table(header: [
            "transport", "over", "1 at a time", "CPU", "64 at a time", "CPU", "1 GiB down", "1 GiB up", "peak MiB",
        ])
        table.rows = Subject.all.compactMap { subject in
            let readings = [Exchanging.Workload.sequential, .concurrent, .down, .up].map { workload in
                report.transports.first { $0.name == "transports/\(workload.rawValue)/\(subject.name)" }
            }
            guard readings.contains(where: { $0 != nil }) else { return nil }
            let ratios = readings.enumerated().flatMap { index, reading -> [String] in
                let ratios = [reading?.rateRatio, index < 2 ? reading?.processorRatio : nil].map(\.text)
                return index < 2 ? ratios : [ratios[0]]
            }
            let peak = readings.compactMap { $0?.peakMemory }.max() ?? 0
            return [subject.name, subject.baseline ?? ""] + ratios + ["\(peak >> 20)"]
        }
        return table
    }

    /// The counts of requests on the wire.
    private var wire: Table { Table(report.wire) }

    /// The goals that are missed.
    private var missed: Table {
        var table = Table(header: ["missed goal", "quantity", "measured", "goal"])
        table.rows = report.verdicts.filter { $0.isMet == false }.map { verdict in
            [verdict.row, verdict.quantity.text, verdict.value.text, verdict.goal.text]
        }
        return table
    }

    private func reading(_ name: String) -> Reading? {
        report.readings.first { $0.name == name }
    }
}
