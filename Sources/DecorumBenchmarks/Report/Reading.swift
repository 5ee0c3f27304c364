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
