#if CommandLine
import ArgumentParser
import Decorum
import Foundation

/// When content is made easier to read.
enum PrettyChoice: String, ExpressibleByArgument, CaseIterable, Sendable { case auto, none }

/// Writes the content of a response to the standard output: as it is, or, in a terminal, as text without control characters
/// and with JSON in lines.
struct ContentPrinter: Sendable {
    /// The largest JSON that is put into lines.
    private static let limit = 1 << 20

    private let console: Console
    /// Whether somebody reads it in a terminal, where binary content is refused.
    private let isShown: Bool
    private let isFormatted: Bool
    private var kept = Data()
    private var last: UInt8?

    init(_ console: Console, _ options: OutputOptions, mediaType: String?) {
        self.console = console
        isShown = console.output.isTerminal && options.output != "-"
        isFormatted = isShown && options.pretty == .auto && !options.stream && mediaType?.contains("json") == true
    }

    mutating func append(_ chunk: Data) throws(CommandFailure) {
        guard isShown else { return try console.write(chunk) }
        guard !chunk.contains(0) else {
            throw CommandFailure(
                .refused, "Binary content is not shown in a terminal. Use -o FILE, or -o - to write it.")
        }
        kept += chunk
        last = chunk.last
        if !isFormatted || kept.count > Self.limit { try flush(isEnd: false) }
    }

    mutating func finish() throws(CommandFailure) {
        if isFormatted, let value = try? JSONValue(parsing: Array(kept)) {
            return try console.write(line: value.shown(on: console.output))
        }
        try flush(isEnd: true)
        if let last, last != 0x0A { try console.write(line: "") }
    }

    /// Writes what is kept, except the start of a character whose end is not there yet.
    private mutating func flush(isEnd: Bool) throws(CommandFailure) {
        var end = kept.endIndex
        if !isEnd, let start = kept.suffix(3).lastIndex(where: { $0 >= 0xC0 }) {
            let length = kept[start] >= 0xF0 ? 4 : kept[start] >= 0xE0 ? 3 : 2
            if end - start < length { end = start }
        }
        try console.write(Data(String(decoding: kept[..<end], as: UTF8.self).harmless.utf8))
        kept = Data(kept[end...])
    }
}

extension JSONValue {
    /// The value in lines, with colours where the terminal has them.
    func shown(on terminal: Terminal) -> String {
        let text = String(decoding: document(indentation: 2), as: UTF8.self).harmless
        guard terminal.hasColor else { return text }
        return text.replacing(/("(?:[^"\\]|\\.)*+")(:)?|[^\s\[\]{},:"]++/) { match in
            guard let string = match.1 else { return terminal.styled(String(match.0), .cyan) }
            return terminal.styled(String(string), match.2 == nil ? .green : .blue) + (match.2 ?? "")
        }
    }
}
#endif
