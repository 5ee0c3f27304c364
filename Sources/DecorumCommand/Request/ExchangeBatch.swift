#if CommandLine
import Decorum
import Foundation
import Synchronization

/// Many exchanges, of which a number is under way at the same time, however long the list is.
struct ExchangeBatch: Sendable {
    let runner: ExchangeRunner

    func perform(
        _ lines: some Sequence<String>, plan: @escaping @Sendable (_ words: [String]) throws -> RequestPlan
    ) async -> CommandStatus {
        Self.raiseFileLimit()
        // One row for all servers.
        let (events, options, statistics) = (runner.events, runner.options, ExchangeStatistics(routeLimit: 0))
        // What is printed as it comes would mix.
        let mixes = !runner.parts.subtracting(options.output.jsonOutput ? "b" : "").isDisjoint(with: "HBhb")
        let parallel = mixes ? 1 : options.content.parallel
        var first: (number: Int, status: CommandStatus)?
        let line = { @Sendable (_: Int) -> String? in events.line }
        await runner.console.showingProgress(line) {
            await withTaskGroup(of: (Int, ExchangeResult).self) { group in
                func takeResult() async -> Bool {
                    guard let (number, result) = await group.next() else { return false }
                    let (status, failsFast) = (result.record.exit, options.content.failFast)
                    statistics.ended(result.record.report)
                    // The failure that has ended the others counts, and not theirs.
                    let counts = status != .done && (first == nil || !failsFast && number < first?.number ?? .max)
                    if counts { first = (number, status) }
                    if first != nil, failsFast { group.cancelAll() }
                    return true
                }
                for (number, line) in lines.enumerated() {
                    if number >= parallel { _ = await takeResult() }
                    let isEnd = options.content.failFast && events.counts.withLock { $0.failed > 0 }
                    guard !Task.isCancelled, !isEnd else { break }
                    group.addTask { (number, await runner.perform(line) { try plan([line]) }) }
                }
                while await takeResult() {}
            }
        }
        runner.console.say(events.line)
        runner.console.say("\(statistics)", at: 1)
        let time = statistics.snapshot().rows.first?.p99 ?? .zero
        if let limit = options.expecting.maxTimeP99?.duration, time > limit {
            runner.console.sayFailure("One in a hundred took \(time.shortText), and not \(limit.shortText) or less.")
            return first?.status ?? .failedAssertion
        }
        return first?.status ?? (Task.isCancelled ? .interrupted : .done)
    }

    /// Lets the process open as many files as the system allows, since each connection is one.
    private static func raiseFileLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(openFiles, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 10_240))
        _ = unsafe setrlimit(openFiles, &limit)
    }
}

#if os(Linux)
private let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#else
private let openFiles = RLIMIT_NOFILE
#endif
#endif
