public import Decorum

/// The calls of an app along the axis of time, as text for a terminal or as a page for a browser.
///
/// ```swift
/// print(Waterfall(response.report))
/// let page = Waterfall(recent.reports).page(titled: "Feed")
/// try Data(page.utf8).write(to: file)
/// ```
///
/// Each row has bars for waits, before attempts and for a connection, and for the parts of an attempt: lookup, connect, TLS,
/// first byte, last byte. A transport that does not measure the parts leaves the first and the last byte, as a layer that
/// observes sees them. Rows are in the order in which the calls began; a report without `CallReport.startedAt` stands behind
/// the others, from the begin of the axis on.
///
/// Neither form shows a secret that the reports do not have, and both escape control characters and markup of servers. Making
/// them takes time in proportion to the number of reports.
public struct Waterfall: Sendable, CustomStringConvertible {
    let rows: [WaterfallRow]

    /// Creates a waterfall of calls.
    ///
    /// - Parameter reports: The reports of calls and attempts, such as ``RecentReports/reports``. A report of an attempt gives
    ///   its times to the row of its call, or has a row of its own without one.
    public init(_ reports: [CallReport]) {
        rows = WaterfallRow.list(of: reports)
    }

    /// Creates a waterfall of one call, which shows its parts in rows of their own.
    ///
    /// - Parameter report: The report.
    public init(_ report: CallReport) {
        self.init([report])
    }

    /// The waterfall as text, 100 columns wide and without colours.
    public var description: String { text() }

    /// The milliseconds from the begin of the first call to the end of the last one.
    var span: Double { rows.map { $0.offset + $0.length }.max() ?? 0 }

    /// What a heading says about all rows, as in `12 calls, 2 errors, 1.24 s`.
    var summary: String {
        let errors = rows.count { $0.report.isError }
        return "\(rows.count) \(rows.count == 1 ? "call" : "calls"), \(errors) \(errors == 1 ? "error" : "errors"), "
            + span.shortTime
    }
}
