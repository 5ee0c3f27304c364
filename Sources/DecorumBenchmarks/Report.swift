/// A measured quantity, with its unit as a column of a table shows it.
enum Quantity: String, Sendable {
    case instructions = "instr"
    /// Beyond the baseline, divided among the layers.
    case instructionsPerLayer = "instr/layer"
    case instructionRatio = "instr ÷ baseline"
    case allocations = "allocs"
    /// Beyond the baseline, divided among the layers.
    case allocationsPerLayer = "allocs/layer"

    /// The median of all rounds.
    case time = "µs"
    case leastTime = "µs min"
    /// Beyond the baseline.
    case added = "µs added"
    case milliseconds = "ms"
    case eachTime = "µs each"
    /// How often a caller lost the main actor, or the transport ran elsewhere.
    case hops
    case megabytes = "MB"

    /// The processor time of the smallest and the largest size of a series, and their ratio.
    case smallest = "µs, smallest"
    case largest = "µs, largest"
    case growth

    /// The processor time and the rate, as shares of the baseline's.
    case processor = "CPU ÷ baseline"
    case rateRatio = "rate ÷ baseline"
    /// The range of the ratios of all rounds, as a share of their median.
    case spread
    case rate = "requests/s"
    case transferTime = "s"
    case transferProcessorTime = "CPU s"
    case peakMemory = "peak MiB"

    /// The system calls of a request.
    case futexCalls = "futex"
    case pollCalls = "poll"
    case receiveCalls = "recvfrom"
    case sendCalls = "sendto"
    case randomCalls = "getrandom"
    case allCalls = "all calls"

    /// How much worse than the last measurement a value may be, as a share.
    ///
    /// It is nil for a time, which tells one machine from another: each row with a time has a count or a ratio besides.
    var margin: Double? {
        switch self {
        case .added, .time, .leastTime, .milliseconds: nil
        // Chance decides which of two threads sleeps first, and ratios differ between runs.
        case .futexCalls, .processor, .rateRatio: 0.15
        default: 0.1
        }
    }
}

/// The measurements of one row.
struct Reading: Sendable {
    let name: String
    private var values: [Quantity: Double] = [:]
    /// The bounds, which a value may exceed by a tenth, since another machine counts a little more.
    let limits: [Quantity: Double]

    init(_ name: String, _ values: [Quantity: Double?] = [:], limits: [Quantity: Double] = [:]) {
        self.name = name
        self.values = values.compactMapValues(\.self)
        self.limits = limits
    }

    subscript(_ quantity: Quantity) -> Double? {
        get { values[quantity] }
        set { values[quantity] = newValue }
    }
}

/// The title of a table, and its quantities.
struct Columns {
    let title: String
    let quantities: [Quantity]

    static let counts = Columns(
        title: "row",
        quantities: [
            .instructionRatio, .instructionsPerLayer, .allocationsPerLayer, .instructions, .allocations,
        ])
    static let scaling = Columns(title: "scaling", quantities: [.smallest, .largest, .growth])
    static let wire = Columns(
        title: "counted for a request",
        quantities: [
            .instructions, .futexCalls, .pollCalls, .receiveCalls, .sendCalls, .randomCalls, .allCalls,
        ])
    static let caller = Columns(
        title: "answer from memory to the main actor", quantities: [.leastTime, .time, .hops])
    static let cassettes = Columns(
        title: "cassette", quantities: [.megabytes, .processor, .milliseconds, .eachTime, .added])
    static let stores = Columns(title: "store", quantities: [.time, .leastTime, .added, .processor])
    static let requests = Columns(
        title: "row", quantities: [.rateRatio, .processor, .spread, .added, .rate, .time, .peakMemory])
    static let transfers = Columns(
        title: "row",
        quantities: [
            .rateRatio, .processor, .spread, .transferTime, .transferProcessorTime, .peakMemory,
        ])
}

/// All measurements.
struct Report {
    var readings: [Reading] = []

    subscript(_ name: String) -> Reading? { readings.first { $0.name == name } }

    /// Takes a row from another report.
    mutating func replace(_ row: String, by other: Report) {
        guard let index = readings.firstIndex(where: { $0.name == row }), let reading = other[row]
        else { return }
        readings[index] = reading
    }

    /// The measurements beside their bounds and goals; a target whose row was not measured is skipped.
    var verdicts: [Verdict] {
        let bounds = readings.flatMap { reading in
            reading.limits.compactMap { quantity, limit in
                reading[quantity].map {
                    Verdict(
                        row: reading.name, quantity: quantity, value: $0, goal: nil, limit: limit, isMet: true,
                        isKept: $0 <= limit * 1.1 + 0.05)
                }
            }
        }
        let targets = Target.all.compactMap { target in
            self[target.row]?[target.quantity].map(target.verdict)
        }
        return bounds.sorted { ($0.row, $0.quantity.rawValue) < ($1.row, $1.quantity.rawValue) }
            + targets
    }
}

/// Rows of text in columns, as Markdown.
struct Table {
    let header: [String]
    var rows: [[String]] = []

    var text: String {
        let widths = header.indices.map { column in
            ([header] + rows).map { $0[column].count }.max() ?? 0
        }
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
    init(_ columns: Columns, _ readings: [Reading]) {
        header = [columns.title] + columns.quantities.map(\.rawValue)
        rows = readings.map { reading in [reading.name] + columns.quantities.map { reading[$0].text } }
    }

    init(_ verdicts: [Verdict]) {
        header = ["target", "quantity", "measured", "goal", "bound", ""]
        rows = verdicts.map { verdict in
            let remark = verdict.isKept ? (verdict.isMet ? "" : "goal missed") : "WORSE"
            return [
                verdict.row, verdict.quantity.rawValue, verdict.value.text, verdict.goal.text,
                verdict.limit.text,
                remark,
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
        return digits == digits.rounded()
            ? "\(Int(digits))" : "\(self < 0 ? "-" : "")\(digits.magnitude)"
    }
}

extension Double? {
    var text: String { self?.text ?? "" }
}
