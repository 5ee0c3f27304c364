/// A ratio or a time that is held to a bound, beside what it is meant to be.
///
/// Both drift with the machine and with what else it does. So the bound is what was measured last, and a margin; the
/// goal is shown beside it, and is not what a run fails by.
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
    }

    let row: String
    let quantity: Quantity
    /// What the bound is counted from: what was measured last, or the goal where nothing was.
    let last: Double
    /// What the issues ask for; nil where they leave it open.
    let goal: Double?
    /// Whether less is better.
    let isUpper: Bool

    static func atMost(_ goal: Double?, _ quantity: Quantity, _ row: String, last: Double) -> Target {
        Target(row: row, quantity: quantity, last: last, goal: goal, isUpper: true)
    }

    static func atLeast(_ goal: Double?, _ quantity: Quantity, _ row: String, last: Double) -> Target {
        Target(row: row, quantity: quantity, last: last, goal: goal, isUpper: false)
    }

    /// The worst that is accepted.
    var limit: Double { isUpper ? last * (1 + quantity.margin) : last / (1 + quantity.margin) }

    func verdict(on value: Double) -> Verdict {
        Verdict(
            row: row, quantity: quantity, value: value, goal: goal, limit: limit,
            isMet: goal.map { isUpper ? value <= $0 : value >= $0 }, isKept: isUpper ? value <= limit : value >= limit)
    }
}

extension Target.Quantity {
    /// How much worse than last a value may be, as a share: times are those of one machine, ratios of any.
    var margin: Double {
        switch self {
        case .rate, .processor: 0.3
        case .added, .time: 0.5
        }
    }

    var text: String {
        switch self {
        case .rate: "rate ÷ baseline"
        case .processor: "CPU ÷ baseline"
        case .added: "µs added"
        case .time: "µs"
        }
    }
}

/// What became of a target.
struct Verdict: Sendable, Encodable {
    let row: String
    let quantity: Target.Quantity
    let value: Double
    let goal: Double?
    let limit: Double
    /// Whether the goal is met; nil where there is none.
    let isMet: Bool?
    /// Whether the bound is.
    let isKept: Bool

    var failure: String? {
        isKept ? nil : "\(row): \(quantity.text) is \(value.text) and may be \(limit.text)"
    }
}

/// Something that was measured and can be held to targets.
protocol Judged {
    /// The name that targets know it by.
    var row: String { get }
    /// The value of a quantity; nil where it was not measured.
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
