#if CommandLine
import ArgumentParser
import Decorum
import Foundation

/// When the command uses colours.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable, Sendable { case auto, always, never }

/// What the command may write to a stream.
struct Terminal: Sendable, Hashable {
    let isTerminal: Bool
    let hasColor: Bool
    /// The number of columns.
    let width: Int

    /// Decides what fits a stream: a choice of the user counts first, then `CLICOLOR_FORCE`, then `NO_COLOR`, and then what
    /// the stream is.
    init(isTerminal: Bool, columns: Int?, choice: ColorChoice, environment: [String: String]) {
        self.isTerminal = isTerminal
        width = max(20, columns ?? environment["COLUMNS"].flatMap { Int($0) } ?? 80)
        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        hasColor =
            switch choice {
            case .always: true
            case .never: false
            case .auto where isSet("CLICOLOR_FORCE") && environment["CLICOLOR_FORCE"] != "0": true
            case .auto: isTerminal && !isSet("NO_COLOR") && environment["TERM"] != "dumb"
            }
    }

    /// The stream of a descriptor.
    init(of descriptor: Int32, choice: ColorChoice) {
        var size = winsize()
        let isSized = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        self.init(
            isTerminal: isatty(descriptor) == 1, columns: isSized ? Int(size.ws_col) : nil, choice: choice,
            environment: ProcessInfo.processInfo.environment)
    }

    /// The text in a style, where the stream has colours.
    func styled(_ text: String, _ style: Style) -> String {
        hasColor && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// A way to show a text, by its number in ECMA-48.
    enum Style: Int {
        case bold = 1
        case faint
        case red = 31
        case green, yellow, blue
        case cyan = 36
    }
}

extension String {
    /// The text with escapes for all that could move the cursor or change how a terminal shows other text.
    var harmless: String { harmless { $0.escaped(asASCII: true) } }

    /// The text with escapes of another form.
    func harmless(by escape: (Unicode.Scalar) -> String) -> String {
        func isHarmful(_ scalar: Unicode.Scalar) -> Bool { scalar.isControl && scalar != "\n" && scalar != "\t" }
        guard unicodeScalars.contains(where: isHarmful) else { return self }
        return unicodeScalars.map { isHarmful($0) ? escape($0) : String($0) }.joined()
    }
}
#endif
