/// A count, a ratio or a time with a goal, and with a bound where it can be compared between machines.
///
/// The bound is the last measurement plus a margin. A run fails when a bound is exceeded; a missed goal is only shown.
struct Target: Sendable {
    enum Quantity: String, Sendable, Codable {
        /// The rate, as a share of the baseline's.
        case rate
        /// The processor time, as a share of the baseline's.
        case processor
        /// The processor time beyond the baseline's, in microseconds.
        case added
        /// The time of one operation, in microseconds.
        case time
        /// The instructions of a layer, beyond the baseline's.
        case instructions
        /// The instructions, as a share of the baseline's.
        case instructionRatio
        /// The calls of futex for one request.
        case futexCalls
    }

    let row: String
    let quantity: Quantity
    /// The base of the bound: the last measurement, or the goal if there is no measurement.
    let last: Double
    /// The goal; nil when none is set.
    let goal: Double?
    /// Whether less is better.
    let isUpper: Bool

    static func atMost(_ goal: Double?, _ quantity: Quantity, _ row: String, last: Double) -> Target {
        Target(row: row, quantity: quantity, last: last, goal: goal, isUpper: true)
    }

    static func atLeast(_ goal: Double?, _ quantity: Quantity, _ row: String, last: Double) -> Target {
        Target(row: row, quantity: quantity, last: last, goal: goal, isUpper: false)
    }

    /// The worst accepted value; nil when any is accepted.
    var limit: Double? {
        quantity.margin.map { isUpper ? last * (1 + $0) : last / (1 + $0) }
    }

    func verdict(on value: Double) -> Verdict {
        let keeps = { (limit: Double) in isUpper ? value <= limit : value >= limit }
        return Verdict(
            row: row, quantity: quantity, value: value, goal: goal, limit: limit, isMet: goal.map(keeps),
            isKept: limit.map(keeps) ?? true)
    }
}

extension Target.Quantity {
    /// How much worse than the last measurement a value may be, as a share.
    ///
    /// It is nil for a time, which tells one machine from another: each row with a time has a count or a ratio besides.
    var margin: Double? {
        switch self {
        case .instructions, .instructionRatio: 0.1
        // Chance decides which of two threads sleeps first, and ratios differ between runs.
        case .futexCalls, .processor, .rate: 0.15
        case .added, .time: nil
        }
    }

    var text: String {
        switch self {
        case .rate: "rate ÷ baseline"
        case .processor: "CPU ÷ baseline"
        case .added: "µs added"
        case .time: "µs"
        case .instructions: "instr/layer"
        case .instructionRatio: "instr ÷ baseline"
        case .futexCalls: "futex calls"
        }
    }
}

/// The result of a target.
struct Verdict: Sendable, Encodable {
    let row: String
    let quantity: Target.Quantity
    let value: Double
    let goal: Double?
    /// The worst accepted value; nil when any is accepted.
    let limit: Double?
    /// Whether the goal is met; nil when there is no goal.
    let isMet: Bool?
    /// Whether the value is within the bound.
    let isKept: Bool

    var failure: String? {
        isKept ? nil : "\(row): \(quantity.text) is \(value.text) and may be \(limit.text)"
    }
}

/// A measurement that targets can apply to.
protocol Judged {
    /// The name that targets refer to.
    var row: String { get }
    /// The value of a quantity; nil when it was not measured.
    func value(of quantity: Target.Quantity) -> Double?
}

extension Table {
    init(_ verdicts: [Verdict]) {
        header = ["target", "quantity", "measured", "goal", "bound", ""]
        rows = verdicts.map { verdict in
            let remark = verdict.isKept ? (verdict.isMet == false ? "goal missed" : "") : "WORSE"
            return [
                verdict.row, verdict.quantity.text, verdict.value.text, verdict.goal.text, verdict.limit.text, remark,
            ]
        }
    }
}
