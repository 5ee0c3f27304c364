import Decorum
import Foundation

/// One exchange of a waterfall: its place in time, and the bars of its parts.
struct WaterfallRow: Sendable, Hashable {
    /// A part of the time of an exchange, in the order of a legend.
    enum Part: Int, Sendable, CaseIterable {
        case wait, lookup, connect, handshake, firstByte, body, none, other

        private static let names =
            ["wait", "lookup", "connect", "TLS", "first byte", "last byte", "no exchange", "other"]
        private static let glyphs = Array("·~-=▒█□░")

        var name: String { Self.names[rawValue] }
        /// The character in a terminal.
        var glyph: Character { Self.glyphs[rawValue] }
    }

    /// A part of an exchange, in milliseconds since the exchange began.
    struct Bar: Sendable, Hashable {
        var part: Part
        var start, end: Double
        /// The number of the attempt, from 1.
        var attempt = 1
        /// Whether the attempt has failed.
        var isFailed = false
    }

    let report: CallReport
    /// The milliseconds from the begin of the first exchange of the waterfall to the begin of this one; 0 if it is not known.
    var offset = 0.0
    let bars: [Bar]
    /// The milliseconds until the exchange had ended.
    let length: Double

    /// The rows of reports: by the time at which they began, and those of which it is not known behind them, as they come.
    ///
    /// A report of an attempt whose call has a report too gives its times to the row of the call.
    static func list(of reports: [CallReport]) -> [WaterfallRow] {
        let calls = Set(reports.lazy.filter { $0.scope == .call }.compactMap(\.callID))
        func belongsToCall(_ report: CallReport) -> Bool {
            report.scope == .attempt && report.callID.map { calls.contains($0) } == true
        }
        let attempts = Dictionary(grouping: reports.lazy.filter(belongsToCall)) { $0.callID }
        let known = reports.compactMap(\.startedAt).min()
        let rows = reports.filter { !belongsToCall($0) }.map { report in
            var row = WaterfallRow(report, attempts: report.callID.flatMap { attempts[$0] } ?? [])
            let offset = known.flatMap { report.startedAt?.timeIntervalSince($0) } ?? 0
            // A date may be any number, and none at all.
            row.offset = offset > 0 ? min(offset, Duration.longest / .seconds(1)) * 1000 : 0
            return row
        }
        return rows.filter { $0.report.startedAt != nil }.sorted { $0.offset < $1.offset }
            + rows.filter { $0.report.startedAt == nil }
    }

    init(_ report: CallReport, attempts: [CallReport] = []) {
        self.report = report
        let length = report.duration?.milliseconds ?? report.timings?.total?.milliseconds ?? 0
        let details = Dictionary(attempts.map { ($0.attempt ?? 0, $0) }, uniquingKeysWith: { $1 })
        bars = Self.bars(of: report, until: length, details: details)
        self.length = max(length, bars.map(\.end).max() ?? 0)
    }

    private static func bars(of report: CallReport, until end: Double, details: [Int: CallReport]) -> [Bar] {
        if report.attemptCount == 0, report.timings == nil { return [Bar(part: .none, start: 0, end: end)] }
        var attempts = report.attempts
        if attempts.count < 2 {
            var only = attempts.first ?? CallReport.Attempt(.first)
            // Layers may have taken time before the transport, which tells only how long it took itself.
            if let head = report.timeToHead, let first = report.timings?.firstByte {
                only.start = only.start ?? max(.zero, head.bounded - first.bounded)
            }
            (only.wait, only.duration) = (only.start ?? .zero, nil)
            attempts = [only]
        }
        var bars: [Bar] = []
        var cursor = 0.0
        for (index, attempt) in attempts.enumerated() {
            let number = index + 1
            let next = number < attempts.count ? attempts[number] : nil
            let start = max(0, attempt.start?.milliseconds ?? cursor + attempt.wait.milliseconds)
            let wait = max(0, start - attempt.wait.milliseconds)
            if wait < start { bars.append(Bar(part: .wait, start: wait, end: start, attempt: number)) }

            let nextWait = next?.start.map { $0.milliseconds - (next?.wait.milliseconds ?? 0) }
            let limit = attempt.duration.map { start + $0.milliseconds } ?? (next == nil ? end : nextWait ?? start)
            let detail = details[number]
            let head =
                detail?.timeToHead.map { start + $0.milliseconds }
                ?? (next == nil ? report.timeToHead?.milliseconds : nil)
            var timings = TransferTimings()
            timings.firstByte = head.map { .milliseconds(min($0, limit) - start) }
            timings = detail?.timings ?? (next == nil ? report.timings : nil) ?? timings
            for phase in timings.parts(from: start, until: limit) where phase.start < phase.end {
                let isFailed = next.map { $0.reason == .retry } ?? report.isError
                bars.append(
                    Bar(part: phase.part, start: phase.start, end: phase.end, attempt: number, isFailed: isFailed))
            }
            cursor = max(start, limit)
        }
        return bars
    }
}

extension TransferTimings {
    /// The parts that are known, one after the other, in milliseconds; the last one lasts until an end.
    func parts(
        from start: Double = 0, until end: Double
    ) -> [(part: WaterfallRow.Part, start: Double, end: Double)] {
        let moments: [(WaterfallRow.Part, Duration?)] = [
            (.wait, queued), (.lookup, nameLookup), (.connect, connect), (.handshake, handshake),
            (.firstByte, firstByte),
        ]
        let known = moments.compactMap { part, time in time.map { (part, start + $0.milliseconds) } }
        var cursor = start
        return (known + [(firstByte == nil ? .other : .body, end)]).map { part, moment in
            let begin = cursor
            cursor = max(cursor, moment)
            return (part, begin, cursor)
        }
    }
}

extension Duration {
    /// The number of milliseconds, which a double holds for each duration.
    var milliseconds: Double { bounded / .milliseconds(1) }
}

extension Double {
    /// A number of milliseconds as short text, as in `31.2 ms`.
    var shortTime: String { Duration.milliseconds(self).shortText }

    /// A number of milliseconds, to the microsecond.
    var roundedTime: Double { (self * 1000).rounded() / 1000 }
}

extension CallReport {
    /// The status, or how the exchange ended without one, in at most four letters.
    var shortOutcome: String {
        if case .failed = outcome, timeToHead == nil { return "fail" }
        return outcome == .cancelled ? "stop" : statusCode.map { "\($0)" } ?? (isError ? "fail" : "-")
    }

    /// The method and the URL, or what is known of it.
    var title: String {
        let parts = [attempt.map { "attempt \($0)" }, method?.rawValue, url ?? origin?.description ?? routeName]
        return parts.compactMap(\.self).joined(separator: " ")
    }
}
