/// A ratio or a time with a bound and a goal.
///
/// Ratios and times vary with the machine and its load. So the bound is the last measurement plus a margin. A run fails
/// when a bound is exceeded; a missed goal is only shown.
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

    /// The worst accepted value.
    var limit: Double { isUpper ? last * (1 + quantity.margin) : last / (1 + quantity.margin) }

    func verdict(on value: Double) -> Verdict {
        Verdict(
            row: row, quantity: quantity, value: value, goal: goal, limit: limit,
            isMet: goal.map { isUpper ? value <= $0 : value >= $0 }, isKept: isUpper ? value <= limit : value >= limit)
    }
}

extension Target.Quantity {
    /// How much worse than the last measurement a value may be, as a share: little for counts, which do not depend on the
    /// machine, and as much as the spread between runs on a machine with other work for times.
    var margin: Double {
        switch self {
        case .instructions, .instructionRatio: 0.1
        // Which of two threads sleeps first is chance.
        case .futexCalls: 0.15
        // Ratios within one run, of which the least processor times differ by up to a fifth between runs, and the rates by
        // up to a third.
        case .processor: 0.2
        case .rate: 0.3
        // Times of this machine, which differ by up to a half between runs.
        case .added, .time: 0.5
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
    let limit: Double
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
