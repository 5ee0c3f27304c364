import Foundation

/// Rows of text in columns, as Markdown.
struct Table {
    let header: [String]
    var rows: [[String]] = []

    var text: String {
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        let lines = ([header, widths.map { String(repeating: "-", count: $0) }] + rows).map { row in
            "| "
                + row.enumerated().map { column, cell in
                    let blanks = String(repeating: " ", count: widths[column] - cell.count)
                    return column == 0 ? cell + blanks : blanks + cell
                }.joined(separator: " | ") + " |"
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Table {
    /// A table of operations in memory, ratios first.
    init(_ readings: [Reading]) {
        header = [
            "row", "time ÷ baseline", "instr ÷ baseline", "instr/layer", "allocs/layer", "instr", "allocs", "ns",
            "ns min",
        ]
        rows = readings.map { reading in
            [
                reading.name, reading.ratio.text, reading.instructionRatio.text, reading.instructionsPerLayer.text,
                reading.allocationsPerLayer.text, reading.instructions.text, reading.allocations.text,
                reading.median.text, reading.minimum.text,
            ]
        }
    }
}

extension Double {
    /// The number, rounded to a useful number of digits.
    var text: String {
        guard isFinite else { return "-" }
        if magnitude >= 100 { return "\(Int(rounded()))" }
        let digits = (magnitude * 100).rounded() / 100
        return digits == digits.rounded() ? "\(Int(digits))" : "\(self < 0 ? "-" : "")\(digits.magnitude)"
    }
}

extension Double? {
    var text: String { self?.text ?? "" }
}
