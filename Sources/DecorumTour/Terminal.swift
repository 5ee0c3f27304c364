import Foundation
import Synchronization

/// Prints in columns, and with emphasis if the output is a terminal.
final class Terminal: Sendable {
    private let isStyled: Bool
    private let output = Mutex(FileHandle.standardOutput)

    init() {
        let environment = ProcessInfo.processInfo.environment
        isStyled = isatty(FileHandle.standardOutput.fileDescriptor) == 1 && environment["NO_COLOR"] == nil
    }

    func title(_ text: String) {
        write("\n\(styled(text, "1"))\n")
    }

    func heading(_ number: String, _ text: String) {
        write("\n\(styled("\(number). \(text)", "1;36"))\n")
    }

    func code(_ text: String) {
        write("   \(styled(text, "35"))\n")
    }

    func text(_ text: String) {
        write("   \(text)\n")
    }

    /// Prints a call of the app, or its result.
    func app(_ text: String) {
        write("   \(styled("app ", "32")) \(text)\n")
    }

    /// Prints a part of a message that is sent or received.
    func message(_ text: String) {
        write("   \(styled("http", "33")) \(text)\n")
    }

    func log(_ text: String) {
        write("   \(styled("log ", "2")) \(styled(text, "2"))\n")
    }

    func failure(_ text: String) {
        write("   \(styled("FAILED", "1;31")) \(text)\n")
    }

    private func styled(_ text: String, _ code: String) -> String {
        isStyled ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    private func write(_ text: String) {
        // A reader that has closed the pipe, as in `swift run tour | head`, does not make the tour fail.
        output.withLock { try? $0.write(contentsOf: Data(text.utf8)) }
    }
}
