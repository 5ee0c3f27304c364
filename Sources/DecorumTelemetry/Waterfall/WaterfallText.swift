import Decorum

extension Waterfall {
    /// Returns the waterfall as text for a terminal.
    ///
    /// ```
    /// 2 calls, 0 errors, 1.21 s
    /// GET https://a.example/feed             200   1.21 s ▒▒····················▒▒▒▒██
    ///   1 first: 503 with Retry-After 1           80.2 ms ▒▒
    ///   2 retry after 1.00 s: 200                  121 ms   ····················▒▒▒▒██
    /// GET https://a.example/icon             200  31.2 ms                         ▒
    /// · wait  ▒ first byte  █ last byte
    /// ```
    ///
    /// A call of several attempts has a row for each of the first ten. A waterfall of one call has a row for each part.
    ///
    /// - Parameter width: The number of columns, from 40 to 1,000; longer rows are cut.
    /// - Returns: The rows, with a heading and a legend, without a line break at the end.
    public func text(width: Int = 100) -> String {
        let canvas = WaterfallCanvas(width: min(max(width, 40), 1_000), span: span)
        var parts: Set<WaterfallRow.Part> = []
        var lines = [summary.fitted(to: canvas.width, padded: false)]
        for row in rows {
            parts.formUnion(row.bars.map(\.part))
            lines.append(canvas.line(row.report.title, row.report.shortOutcome, row.length, row))
            if rows.count == 1, row.report.attempts.count < 2 {
                lines += row.bars.map { bar in
                    canvas.line("  " + bar.part.name, "", bar.end - bar.start, row) { $0 == bar }
                }
            }
            lines += attemptLines(of: row, on: canvas)
        }
        let legend = WaterfallRow.Part.allCases.filter(parts.contains).map { "\($0.glyph) \($0.name)" }
        if !legend.isEmpty { lines.append(legend.joined(separator: "  ").fitted(to: canvas.width, padded: false)) }
        return lines.joined(separator: "\n")
    }

    private func attemptLines(of row: WaterfallRow, on canvas: WaterfallCanvas) -> [String] {
        let attempts = row.report.attempts
        guard attempts.count > 1 else { return [] }
        let lines = attempts.prefix(10).enumerated().map { index, attempt in
            let bars = row.bars.filter { $0.attempt == index + 1 && $0.part != .wait }
            let time = bars.last.map { $0.end - (bars.first?.start ?? 0) }
            let wait = attempt.wait > .zero ? " after \(attempt.wait.shortText)" : ""
            let outcome = attempt.outcome.map { ": \($0)" } ?? ""
            return canvas.line(
                "  \(index + 1) \(attempt.reason)\(wait)\(outcome)", "", time, row
            ) { $0.attempt == index + 1 }
        }
        return lines + (attempts.count > 10 ? ["  … and \(attempts.count - 10) attempts more"] : [])
    }
}

/// The columns of a waterfall in a terminal: a label, an outcome, a time, and the bars.
private struct WaterfallCanvas {
    let width: Int
    let span: Double
    private let labelWidth: Int
    private let barWidth: Int

    init(width: Int, span: Double) {
        (self.width, self.span) = (width, span)
        labelWidth = width * 2 / 5
        // An outcome of four columns and a time of nine follow the label.
        barWidth = width - labelWidth - 15
    }

    func line(
        _ label: String, _ outcome: String, _ time: Double?, _ row: WaterfallRow,
        where isShown: (WaterfallRow.Bar) -> Bool = { _ in true }
    ) -> String {
        let time = time?.shortTime ?? ""
        let facts =
            label.fitted(to: labelWidth) + " " + outcome.fitted(to: 4)
            + String(repeating: " ", count: max(0, 9 - time.count)) + time
        let line = facts + " " + cells(of: row, where: isShown).map { $0?.glyph ?? " " }
        return String(line.dropLast(line.reversed().prefix { $0 == " " }.count))
    }

    /// The part that each column shows; a bar that is shorter than a column still has one.
    private func cells(of row: WaterfallRow, where isShown: (WaterfallRow.Bar) -> Bool) -> [WaterfallRow.Part?] {
        var cells = [WaterfallRow.Part?](repeating: nil, count: barWidth)
        func column(_ time: Double) -> Double { span > 0 ? (row.offset + time) / span * Double(barWidth) : 0 }
        for bar in row.bars where isShown(bar) {
            let first = min(max(0, Int(column(bar.start))), barWidth - 1)
            let end = min(max(first + 1, Int(column(bar.end).rounded())), barWidth)
            // A wait hides no attempt that has ended within the column in which it begins.
            for index in first..<end where bar.part != .wait || cells[index] == nil { cells[index] = bar.part }
        }
        return cells
    }
}

extension String {
    /// The text without control characters, in a number of columns: cut with an ellipsis, or padded with blanks.
    fileprivate func fitted(to width: Int, padded isPadded: Bool = true) -> String {
        var (shown, columns) = ("", 0)
        /// The part that leaves a column for the ellipsis.
        var kept = (characters: 0, columns: 0)
        // The rest of a long text is not shown.
        for character in String(decoding: utf8.prefix(width * 8), as: UTF8.self).withoutControls {
            columns += character.unicodeScalars.reduce(0) { $0 + ($1.isWide ? 2 : 1) }
            if columns > width {
                (shown, columns) = (shown.prefix(kept.characters) + "…", kept.columns + 1)
                break
            }
            shown.append(character)
            if columns < width { kept = (kept.characters + 1, columns) }
        }
        return shown + String(repeating: " ", count: isPadded ? width - columns : 0)
    }
}

extension Unicode.Scalar {
    /// Whether terminals show the scalar in two columns, in most of the blocks of Unicode's East Asian Width.
    fileprivate var isWide: Bool {
        let blocks: [ClosedRange<UInt32>] = [
            0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
        ]
        return value >= 0x1100 && blocks.contains { $0.contains(value) }
    }
}
