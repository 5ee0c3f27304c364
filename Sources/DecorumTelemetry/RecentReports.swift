public import Decorum
import Synchronization

/// An observer that keeps the last reports, for a debug screen, a ``Waterfall`` and an archive.
///
/// ```swift
/// let recent = RecentReports()
/// let connection = transport.observing(recent, as: .attempt).retrying().observing(recent)
/// print(Waterfall(recent.reports))
/// ```
///
/// Put it outermost, where it gets the report of each call. At the place of attempts too, it also gets the times of each
/// attempt; the reports of both places count for the limit. It holds at most ``limit`` reports, of 1 to 20 kilobytes each,
/// and drops the oldest first.
public final class RecentReports: CallObserver {
    /// The largest number of reports that are kept.
    public let limit: Int
    private let kept = Mutex<(reports: [CallReport], oldest: Int)>(([], 0))

    /// Creates an observer without reports.
    ///
    /// - Parameter limit: The largest number of reports to keep, at least 1.
    public init(limit: Int = 1_000) {
        self.limit = max(1, limit)
    }

    /// The reports, in the order in which their exchanges have ended.
    public var reports: [CallReport] {
        kept.withLock { Array($0.reports[$0.oldest...] + $0.reports[..<$0.oldest]) }
    }

    /// Removes all reports.
    public func removeAll() { kept.withLock { $0 = ([], 0) } }

    /// Keeps the report.
    public func ended(_ report: CallReport) {
        kept.withLock { kept in
            guard kept.reports.count >= limit else { return kept.reports.append(report) }
            kept.reports[kept.oldest] = report
            kept.oldest = (kept.oldest + 1) % limit
        }
    }
}
