/// A count, a ratio or a time with a goal, and with a bound where it can be compared between machines.
///
/// The bound is the last measurement plus a margin. A run fails when a bound is exceeded; a missed goal is only shown.
struct Target: Sendable {
    let row: String
    let quantity: Quantity
    /// The last measurement, or the goal without one.
    let last: Double
    let goal: Double?
    /// Whether less is better.
    let isUpper: Bool

    static func atMost(_ goal: Double?, _ quantity: Quantity, _ row: String, last: Double) -> Target {
        Target(row: row, quantity: quantity, last: last, goal: goal, isUpper: true)
    }

    static func atLeast(_ goal: Double?, _ quantity: Quantity, _ row: String, last: Double) -> Target {
        Target(row: row, quantity: quantity, last: last, goal: goal, isUpper: false)
    }

    func verdict(on value: Double) -> Verdict {
        let limit = quantity.margin.map { isUpper ? last * (1 + $0) : last / (1 + $0) }
        let keeps = { (limit: Double) in isUpper ? value <= limit : value >= limit }
        return Verdict(
            row: row, quantity: quantity, value: value, goal: goal, limit: limit, isMet: goal.map(keeps) ?? true,
            isKept: limit.map(keeps) ?? true)
    }
}

/// A measurement beside its bound and its goal.
struct Verdict: Sendable {
    let row: String
    let quantity: Quantity
    let value: Double
    let goal: Double?
    /// The worst accepted value; nil when any is accepted.
    let limit: Double?
    let isMet: Bool
    let isKept: Bool

    var failure: String? {
        isKept ? nil : "\(row): \(quantity.rawValue) is \(value.text) and may be \(limit.text)"
    }
}

extension Target {
    /// The targets of transports, callers, caches, stores and cassettes.
    static let all = urlSession + curl + wire + asyncHTTPClient + transfers + memory + stacks + caching + cassettes

    private static let urlSession: [Target] = [
        .atLeast(0.85, .rateRatio, "transports/sequential/URLSessionConnection", last: 0.94),
        .atLeast(0.85, .rateRatio, "transports/concurrent/URLSessionConnection", last: 0.94),
        .atLeast(1.9, .rateRatio, "transports/down/URLSessionConnection", last: 1.36),
        .atLeast(1.9, .rateRatio, "transports/up/URLSessionConnection", last: 2.87),
        .atMost(1.05, .processor, "transports/sequential/URLSessionConnection, stack", last: 1.17),
        .atMost(1.05, .processor, "transports/concurrent/URLSessionConnection, stack", last: 1.17),
    ]

    private static let curl: [Target] = [
        .atLeast(nil, .rateRatio, "transports/sequential/CurlConnection", last: 0.94),
        .atLeast(0.65, .rateRatio, "transports/concurrent/CurlConnection", last: 0.49),
        .atLeast(0.9, .rateRatio, "transports/down/CurlConnection", last: 0.65),
        .atLeast(0.9, .rateRatio, "transports/up/CurlConnection", last: 0.72),
        .atMost(2, .processor, "transports/sequential/CurlConnection", last: 3.02),
        .atMost(1.3, .processor, "transports/concurrent/CurlConnection", last: 2.9),
        .atMost(1.2, .processor, "transports/2,000 under way/CurlConnection", last: 1.22),
        .atMost(1.5, .processor, "transports/10,000 under way/CurlConnection", last: 1.48),
        .atMost(1.5, .processor, "transports/sequential/CurlConnection, stack", last: 1.83),
        .atMost(1.35, .processor, "transports/concurrent/CurlConnection, stack", last: 1.83),
    ]

    // A hand-over between threads is two calls of futex: one thread wakes, and the other one has waited.
    private static let wire: [Target] = [
        .atMost(nil, .instructions, "wire/sequential/CurlConnection", last: 180_500),
        .atMost(nil, .instructions, "wire/concurrent/CurlConnection", last: 184_400),
        .atMost(nil, .instructions, "wire/sequential/CurlConnection, stack", last: 264_100),
        .atMost(nil, .instructions, "wire/concurrent/CurlConnection, stack", last: 271_700),
        .atMost(2, .futexCalls, "wire/sequential/CurlConnection", last: 1.5),
        .atMost(4, .futexCalls, "wire/sequential/CurlConnection, stack", last: 1.5),
    ]

    private static let asyncHTTPClient: [Target] = [
        // Reciprocal values, because CurlConnection is the baseline: it takes half of the processor time, or 0.6 of it.
        .atLeast(2, .processor, "transports/sequential/AsyncHTTPClient", last: 2.72),
        .atLeast(1 / 0.6, .processor, "transports/concurrent/AsyncHTTPClient", last: 1.48),
        .atMost(1, .rateRatio, "transports/sequential/AsyncHTTPClient", last: 0.5),
        .atMost(1, .rateRatio, "transports/concurrent/AsyncHTTPClient", last: 0.82),
        .atMost(1, .rateRatio, "transports/down/AsyncHTTPClient", last: 0.84),
        .atMost(1, .rateRatio, "transports/up/AsyncHTTPClient", last: 0.92),
        .atLeast(0.95, .rateRatio, "transports/sequential/AsyncHTTPClientConnection", last: 0.73),
        .atLeast(0.95, .rateRatio, "transports/concurrent/AsyncHTTPClientConnection", last: 0.61),
        .atLeast(0.95, .rateRatio, "transports/down/AsyncHTTPClientConnection", last: 0.63),
        .atLeast(0.95, .rateRatio, "transports/up/AsyncHTTPClientConnection", last: 0.74),
        .atMost(1.05, .processor, "transports/sequential/AsyncHTTPClientConnection", last: 1.46),
        .atMost(1.05, .processor, "transports/concurrent/AsyncHTTPClientConnection", last: 1.74),
    ]

    private static let transfers: [Target] = [
        .atMost(1.05, .processor, "transfers/download", last: 1.01),
        .atLeast(0.9, .rateRatio, "transfers/parallel", last: 0.97),
    ]

    private static let memory: [Target] = [
        .atMost(2, .leastTime, "caller/terminal", last: 0.41),
        .atMost(2, .leastTime, "caller/revalidating", last: 2.09),
        .atMost(2, .leastTime, "caller/caching, hit", last: 1.2),
        .atMost(3.5, .leastTime, "caller/canonical, hit", last: 5.7),
        .atMost(2, .added, "stores/caching in memory, hit, 1000", last: 1.55),
        .atMost(2, .added, "stores/caching in memory, hit, 100000", last: 3.4),
        .atMost(12, .added, "stores/caching in files, hit, 1000", last: 10.9),
        .atMost(12, .added, "stores/caching in files, hit, 100000", last: 12),
    ]

    private static let stacks: [Target] = [
        .atMost(55_000, .instructionsPerLayer, "stacks/canonical", last: 49_850),
        .atMost(30_000, .instructionsPerLayer, "stacks/canonical, hit", last: 34_100),
        .atMost(800, .instructionsPerLayer, "stacks/canonical, each further field", last: 1_300),
    ]

    private static let caching: [Target] = [
        .atMost(10_000, .instructionsPerLayer, "decorators/caching, hit", last: 10_240),
        .atMost(20_000, .instructionsPerLayer, "decorators/caching, first miss", last: 25_640),
        .atMost(20_000, .instructionsPerLayer, "decorators/caching, miss", last: 17_920),
        .atMost(1.2, .instructionRatio, "caching/10,000 under way", last: 1.01),
        .atMost(1.2, .instructionRatio, "coding/decompressing", last: 1.1),
        .atMost(2.7, .processor, "stores/caching in files, read, 1000", last: 3.15),
        .atMost(2.7, .processor, "stores/caching in files, read, 100000", last: 3.36),
    ]

    private static let cassettes: [Target] = [
        .atMost(20, .milliseconds, "cassettes/open, 10,000", last: 23.4),
        .atMost(20.0 / 120, .processor, "cassettes/open, 10,000", last: 0.2),
        .atMost(10, .processor, "cassettes/open, 100,000", last: 10.9),
        .atMost(30_000, .instructionsPerLayer, "cassettes/replay", last: 42_314),
        .atMost(5, .added, "cassettes/replay each once, 10,000", last: 3.9),
        .atMost(1.5, .processor, "cassettes/open and add one, 10,000", last: 1.24),
        .atMost(1.5, .processor, "cassettes/open and add a secret, 10,000", last: 1.44),
    ]
}
