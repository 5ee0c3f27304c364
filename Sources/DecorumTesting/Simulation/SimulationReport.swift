import Foundation

/// The outcomes of the calls of a simulation.
///
/// Its description is a table, with the seed that repeats it:
///
/// ```
/// brown-out, 1000 clients, seed 1
///                      calls   requests/call      good       p50       p99
/// in all              11,205            1.07    95.2 %    0.01 s    0.95 s
/// in trouble           1,602            1.42    71.0 %    0.61 s    2.31 s
/// afterwards           6,398            1.01    99.8 %    0.01 s    0.12 s
/// 95 % good again after 6 s; at most 131 requests in a second
/// ```
public struct SimulationReport: Sendable, Hashable {
    /// The outcomes of the calls that began in some time, or of the calls with one route name.
    public struct Summary: Sendable, Hashable {
        /// The number of calls.
        public var calls = 0
        /// The number of calls with a good answer: a status below 400.
        public var goodCalls = 0
        /// The number of requests that were sent in the same time, or with the route name.
        public var requests = 0
        /// The time within which half of the good answers were there.
        public var median = Duration.zero
        /// The time within which 99 of 100 good answers were there.
        public var percentile99 = Duration.zero

        /// The number of requests for each call; zero without a call.
        public var requestsPerCall: Double { calls > 0 ? Double(requests) / Double(calls) : 0 }
        /// The share of calls with a good answer; one without a call.
        public var goodShare: Double { calls > 0 ? Double(goodCalls) / Double(calls) : 1 }
    }

    /// One second of the simulation.
    public struct Second: Sendable, Hashable {
        /// The number of calls that began.
        public var calls = 0
        /// The number of calls that began, and were to have a good answer.
        public var goodCalls = 0
        /// The number of good answers that arrived.
        public var goodAnswers = 0
        /// The number of requests that were sent.
        public var requests = 0
    }

    /// What was simulated.
    public let scenario: Scenario
    /// The number of clients.
    public let clients: Int
    /// The number that repeats the simulation.
    public let seed: UInt64
    /// The simulation second by second.
    public let seconds: [Second]
    /// All calls.
    public let all: Summary
    /// The calls that began while there was trouble.
    public let inTrouble: Summary
    /// The calls that began after the trouble.
    public let afterwards: Summary
    /// The calls with each route name.
    public let routes: [String: Summary]

    /// The largest number of requests in a second.
    public var peakRate: Int { seconds.map(\.requests).max() ?? 0 }

    /// The time from the end of the trouble until 95 % of the calls are good for four seconds; nil if that did not come.
    public var recovery: Duration? {
        guard let end = scenario.trouble?.upperBound.wholeSeconds else { return nil }
        let last = min(seconds.count, scenario.length.wholeSeconds) - 4
        let recovered = (end..<max(end, last + 1)).first { first in
            seconds[first..<first + 4].allSatisfy { Double($0.goodCalls) >= 0.95 * Double($0.calls) }
        }
        return recovered.map { .seconds($0 - end) }
    }

    init(
        scenario: Scenario, clients: Int, seed: UInt64, calls: [SimulatedCalls.Call], requestsBySecond: [Int],
        requestsByRoute: [String: Int]
    ) {
        let lastSecond = calls.map(\.end).max().map { Int($0 / 1_000_000_000) } ?? 0
        let count = max(requestsBySecond.count, lastSecond + 1)
        var seconds = [Second](repeating: Second(), count: count)
        for (second, requests) in requestsBySecond.enumerated() { seconds[second].requests = requests }
        for call in calls {
            let beginning = Int(call.beginning / 1_000_000_000)
            seconds[beginning].calls += 1
            guard call.isGood else { continue }
            seconds[beginning].goodCalls += 1
            seconds[Int(call.end / 1_000_000_000)].goodAnswers += 1
        }
        self.scenario = scenario
        self.clients = clients
        self.seed = seed
        self.seconds = seconds
        let trouble = scenario.trouble.map { $0.lowerBound.wholeSeconds..<$0.upperBound.wholeSeconds } ?? 0..<0
        func summary(of span: Range<Int>) -> Summary {
            Summary(
                calls.filter { span.contains(Int($0.beginning / 1_000_000_000)) },
                requests: seconds[span.clamped(to: 0..<count)].reduce(0) { $0 + $1.requests })
        }
        all = Summary(calls, requests: requestsBySecond.reduce(0, +))
        inTrouble = summary(of: trouble)
        afterwards = summary(of: trouble.isEmpty ? 0..<0 : trouble.upperBound..<max(count, trouble.upperBound))
        routes = Dictionary(grouping: calls.filter { $0.routeName != nil }) { $0.routeName ?? "" }
            .reduce(into: [:]) { $0[$1.key] = Summary($1.value, requests: requestsByRoute[$1.key] ?? 0) }
    }
}

extension SimulationReport.Summary {
    init(_ calls: [SimulatedCalls.Call], requests: Int) {
        let times = calls.filter(\.isGood).map { $0.end - $0.beginning }.sorted()
        func percentile(_ share: Double) -> Duration {
            times.isEmpty ? .zero : .nanoseconds(times[min(times.count - 1, Int(share * Double(times.count)))])
        }
        self.init(
            calls: calls.count, goodCalls: times.count, requests: requests, median: percentile(0.5),
            percentile99: percentile(0.99))
    }
}

extension SimulationReport: CustomStringConvertible {
    /// The table.
    public var description: String {
        let title = "\(scenario.name), \(clients) \(clients == 1 ? "client" : "clients"), seed \(seed)"
        let isTroubled = inTrouble.calls > 0
        let rows =
            [Self.row("", ["calls", "requests/call", "good", "p50", "p99"]), all.row("in all")]
            + (isTroubled ? [inTrouble.row("in trouble"), afterwards.row("afterwards")] : [])
            + routes.sorted { $0.key < $1.key }.map { $1.row($0) }
        let peak = "at most \(peakRate) requests in a second"
        let end =
            isTroubled
            ? (recovery.map { "95 % good again after \($0.wholeSeconds) s; " } ?? "never 95 % good again; ") + peak
            : peak
        return ([title] + rows + [end]).joined(separator: "\n")
    }

    /// A table in which each report is a row, to compare stacks in the same trouble.
    ///
    /// - Parameter reports: The reports, with the names of their stacks.
    /// - Returns: The lines of the table.
    public static func table(_ reports: KeyValuePairs<String, SimulationReport>) -> String {
        let head = ["requests/call", "good", "p99", "good later", "95 % after", "peak/s"]
        let rows = reports.map { name, report in
            let summary = report.inTrouble.calls > 0 ? report.inTrouble : report.all
            let none = report.scenario.trouble == nil ? "" : "never"
            let recovery = report.recovery.map { "\($0.wholeSeconds) s" } ?? none
            return row(
                name,
                [
                    summary.requestsPerCall.shown(2), summary.goodShare.percent, summary.percentile99.shown,
                    report.afterwards.goodShare.percent, recovery, "\(report.peakRate)",
                ])
        }
        return ([row("", head)] + rows).joined(separator: "\n")
    }

    fileprivate static func row(_ name: String, _ cells: [String]) -> String {
        let first = name + String(repeating: " ", count: max(0, 14 - name.count))
        return cells.reduce(first) { $0 + String(repeating: " ", count: max(1, 15 - $1.count)) + $1 }
    }
}

extension SimulationReport.Summary {
    fileprivate func row(_ name: String) -> String {
        let cells = ["\(calls)", requestsPerCall.shown(2), goodShare.percent, median.shown, percentile99.shown]
        return SimulationReport.row(name, cells)
    }
}

extension Double {
    fileprivate func shown(_ digits: Int) -> String {
        let scale = pow(10.0, Double(digits))
        let number = Int64((self * scale).rounded())
        let (whole, rest) = number.quotientAndRemainder(dividingBy: Int64(scale))
        let fraction = String(rest)
        return "\(whole)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    fileprivate var percent: String { (self * 100).shown(1) + " %" }
}

extension Duration {
    fileprivate var shown: String { (self / .seconds(1)).shown(3) + " s" }
    fileprivate var wholeSeconds: Int { Int(components.seconds) }
}
