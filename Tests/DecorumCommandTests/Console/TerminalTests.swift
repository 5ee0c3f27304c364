#if CommandLine
import DecorumTransfers
import Foundation
import Testing

@testable import DecorumCommand

struct TerminalTests {
    static let rows: [(isTerminal: Bool, choice: ColorChoice, environment: [String: String], hasColor: Bool)] = [
        (true, .auto, [:], true), (false, .auto, [:], false), (true, .auto, ["NO_COLOR": "1"], false),
        (true, .auto, ["NO_COLOR": ""], true), (true, .auto, ["TERM": "dumb"], false),
        (true, .never, ["CLICOLOR_FORCE": "1"], false), (false, .auto, ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], true),
        (false, .auto, ["CLICOLOR_FORCE": "0"], false), (false, .always, ["NO_COLOR": "1"], true),
    ]

    @Test func `Colours follow the user, then the environment, then the stream, and the width the stream first`() {
        for (isTerminal, choice, environment, hasColor) in Self.rows {
            let terminal = Terminal(isTerminal: isTerminal, columns: nil, choice: choice, environment: environment)
            #expect(terminal.hasColor == hasColor, "\(isTerminal) \(choice) \(environment)")
        }
        for (columns, environment, width) in [
            (132, ["COLUMNS": "40"], 132), (nil, ["COLUMNS": "40"], 40), (3, [:], 20),
        ] {
            let terminal = Terminal(isTerminal: true, columns: columns, choice: .auto, environment: environment)
            #expect(terminal.width == width)
        }
    }

    @Test func `Neither a text nor JSON can control the terminal`() throws {
        #expect("a\u{1B}[2Jb\r\u{9B}c\u{202E}d\te\n".harmless == #"a\u{1B}[2Jb\r\u{009B}c\u{202E}d"# + "\te\n")
        #expect(try JSONEncoder.text(of: ["a": "\u{9B}\u{200F}\u{1F600}"]) == #"{"a":"\u009b\u200f😀"}"#)
    }

    @Test func `A line of progress fits the width, and a wait is told before the numbers`() {
        var progress = Progress()
        (progress.bytes, progress.length, progress.rate, progress.attempts) = (12_300_000, 40_000_000, 4_100_000, 2)
        #expect(progress.line(width: 20) == "12.3 MB of 40.0 MB")
        #expect(progress.line(width: 40) == "12.3 MB of 40.0 MB, 30 %, 4.1 MB/s")
        for width in [80, 200, .max] {
            #expect(progress.line(width: width) == "12.3 MB of 40.0 MB, 30 %, 4.1 MB/s, 6.75 s left, attempt 2")
        }
        // A server may promise more than can ever arrive.
        (progress.bytes, progress.length, progress.rate) = (1, .max, 0.05)
        #expect(progress.line(width: 40) == "1 B of 9223.4 PB, 0 %, 0 B/s")
        #expect(progress.line(width: 80).contains(" left, attempt 2"))
        progress = Progress()
        progress.waitsFor = "429: waits 12 s"
        #expect(progress.line(width: 80) == "429: waits 12 s")
        let sizes: KeyValuePairs = [999: "999 B", 1000: "1.0 kB", 999_950: "1.0 MB", Int64.max: "9223.4 PB"]
        for (count, text) in sizes { #expect(count.sizeText == text) }
    }
}
#endif
