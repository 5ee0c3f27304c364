import Decorum

/// The table of a comparison while it is written, with its columns below each other.
struct ComparisonTable {
    private static let columns = ["outcome", "from", "sent", "bytes out", "bytes in", "ms"]

    private enum Line {
        case heading(String)
        case cells([String])
    }

    private var lines: [Line]
    private var widths: [Int]

    init(stacks: [String]) {
        lines = [.cells([""] + Self.columns)]
        widths = [stacks.map(\.count).max() ?? 0] + Self.columns.map(\.count)
    }

    mutating func add(_ heading: String) {
        lines.append(.heading(heading))
    }

    mutating func add(note: String) {
        lines.append(.heading("   \(note)"))
    }

    mutating func add(_ stack: String, _ course: StackComparison.Course) {
        add(
            [
                stack, course.outcome, course.source?.description ?? "", "\(course.sent)", "\(course.bytesSent)",
                "\(course.bytesReceived)", Self.milliseconds(course.time),
            ])
    }

    mutating func add(_ stack: String, sumOf courses: [StackComparison.Course]) {
        let hits = courses.count(where: \.isHit)
        add(
            [
                stack, "", "\(hits) \(hits == 1 ? "hit" : "hits")", "\(courses.reduce(0) { $0 + $1.sent })",
                "\(courses.reduce(0) { $0 + $1.bytesSent })", "\(courses.reduce(0) { $0 + $1.bytesReceived })",
                Self.milliseconds(courses.reduce(.zero) { $0 + $1.time }),
            ])
    }

    private mutating func add(_ cells: [String]) {
        for (column, cell) in cells.enumerated() { widths[column] = max(widths[column], cell.count) }
        lines.append(.cells(cells))
    }

    var text: String {
        lines.map { line in
            switch line {
            case .heading(let text): text
            case .cells(let cells): "   " + zip(cells, widths).enumerated().map(Self.padded).joined(separator: "  ")
            }
        }.joined(separator: "\n")
    }

    /// A cell in the width of its column; numbers stand at the right.
    private static func padded(_ column: Int, _ cell: (text: String, width: Int)) -> String {
        let blanks = String(repeating: " ", count: cell.width - cell.text.count)
        return column < 3 ? cell.text + blanks : blanks + cell.text
    }

    private static func milliseconds(_ time: Duration) -> String { "\(Int64(time / .milliseconds(1)))" }
}
