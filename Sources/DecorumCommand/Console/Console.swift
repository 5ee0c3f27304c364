#if CommandLine
import ArgumentParser
import Decorum
import Foundation
import Synchronization

/// The options that all subcommands share.
struct ConsoleOptions: ParsableArguments {
    @Option(help: "When to use colours.") var color = ColorChoice.auto
    @Flag(name: .shortAndLong, help: "Say nothing but failures.") var quiet = false
    @Flag(name: .shortAndLong, help: "Say more: the stack and the requests; twice, their content too.") var verbose: Int
    @Flag(help: "Replace files that exist.") var force = false
}

/// The streams of the command: data goes to the standard output, and talk to the standard error.
final class Console: Sendable {
    let output: Terminal
    let talk: Terminal
    /// How much is said: 0 for failures, and more for each `-v`; negative for nothing but failures.
    let verbosity: Int
    private let hasStatusLine = Mutex(false)

    init(_ options: ConsoleOptions? = nil) {
        output = Terminal(of: STDOUT_FILENO, choice: options?.color ?? .auto)
        talk = Terminal(of: STDERR_FILENO, choice: options?.color ?? .auto)
        verbosity = options?.quiet == true ? -1 : options?.verbose ?? 0
    }

    func write(_ data: Data) throws(CommandFailure) {
        do { try FileHandle.standardOutput.write(contentsOf: data) } catch {
            throw CommandFailure(.cannotReadOrWrite, "The standard output takes no more data.")
        }
    }

    func write(line: String) throws(CommandFailure) { try write(Data((line + "\n").utf8)) }

    /// Says a line, unless the user wants it quiet.
    func say(_ text: String, _ style: Terminal.Style? = nil, at level: Int = 0) {
        guard verbosity >= level else { return }
        showTalk((style.map { talk.styled(text.harmless, $0) } ?? text.harmless) + "\n", isStatus: false)
    }

    /// Says a failure, also where the user wants it quiet.
    func sayFailure(_ text: String) { say("decorum: \(text)", .red, at: .min) }

    /// Shows a line in a terminal until the next one; nil takes it away.
    func showStatus(_ line: String?) {
        guard talk.isTerminal, verbosity >= 0 else { return }
        showTalk(line?.harmless ?? "", isStatus: line != nil)
    }

    /// A sink for the logs of a stack.
    var log: LogSink { LogSink { [self] in say($0, .faint, at: .min) } }

    private func showTalk(_ text: String, isStatus: Bool) {
        hasStatusLine.withLock { hasLine in
            // A line of status gives way: to its start, and all of it is cleared.
            let start = hasLine || isStatus ? "\r\u{1B}[K" : ""
            try? FileHandle.standardError.write(contentsOf: Data((start + text).utf8))
            hasLine = isStatus
        }
    }
}
#endif
