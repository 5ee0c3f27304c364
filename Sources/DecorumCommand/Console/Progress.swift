#if CommandLine
import Decorum
import DecorumTransfers
import Foundation

/// How far an exchange is; endpoints have a type of this name too.
typealias Progress = DecorumTransfers.TransferProgress

extension Progress {
    /// The progress as a line that fits a width; the parts that matter least are left out first.
    func line(width: Int) -> String {
        var parts = waitsFor.map { [$0] } ?? []
        if bytes > 0 || waitsFor == nil {
            parts.append(length.map { "\(bytes.sizeText) of \($0.sizeText)" } ?? bytes.sizeText)
        }
        if let fraction { parts.append("\(Int(fraction * 100)) %") }
        if let rate, rate > 0 { parts.append("\(Int64(min(rate, 1e18)).sizeText)/s") }
        if let timeLeft, timeLeft > .zero { parts.append("\(timeLeft.shortText) left") }
        if attempts > 1 { parts.append("attempt \(attempts)") }
        let lines = parts.indices.map { parts[...$0].joined(separator: ", ") }
        // The last column stays empty, since some terminals wrap behind it.
        return lines.last { $0.count < width } ?? ""
    }
}

extension Int64 {
    /// The number of bytes as a short text, as in `1.2 MB`.
    var sizeText: String {
        guard self >= 1000 else { return "\(self) B" }
        var (value, unit) = (Double(self), 0)
        while value >= 999.95, unit < 5 { (value, unit) = (value / 1000, unit + 1) }
        return String(format: "%.1f ", value) + ["B", "kB", "MB", "GB", "TB", "PB"][unit]
    }
}

extension Console {
    /// Shows how far an operation is while it takes longer than a second: in a terminal, or once in a while with `-v`.
    func showingProgress<Result>(
        _ line: @escaping @Sendable (_ width: Int) -> String?, during operation: () async throws -> Result
    ) async rethrows -> Result {
        guard talk.isTerminal && verbosity >= 0 || verbosity > 0 else { return try await operation() }
        let display = Task { [self] in
            try await Task.sleep(for: .seconds(talk.isTerminal ? 1 : 10))
            while true {
                let line = line(talk.isTerminal ? talk.width : .max)
                if talk.isTerminal { showStatus(line) } else if let line { say(line) }
                try await Task.sleep(for: .seconds(talk.isTerminal ? 0.2 : 10))
            }
        }
        defer {
            display.cancel()
            showStatus(nil)
        }
        return try await operation()
    }
}
#endif
