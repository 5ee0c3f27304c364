#if CommandLine
import ArgumentParser
import Decorum
import Dispatch
import Foundation

/// The command and its subcommands, each of which is a file or a folder of its own.
struct DecorumCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decorum",
        abstract: "Sends HTTP requests through a stack of layers, and works on what such stacks write.",
        discussion: """
            EXAMPLES:
              decorum https://example.com/items
              decorum POST https://example.com/items name=tea price:=3
              decorum --download https://example.com/film.mp4
            """,
        version: "decorum \(PackageVersion.current)",
        subcommands: [
            RequestCommand.self, TNLCommand.self, StackCommand.self, CassetteCommand.self, ServeCommand.self,
            CacheCommand.self, DoctorCommand.self, SimulateCommand.self,
        ],
        defaultSubcommand: RequestCommand.self)
}

/// The process: its arguments, its signals, and its exit status.
@main
enum Program {
    static func main() async {
        // Writing to a pipe without a reader then fails, and does not end the process.
        signal(SIGPIPE, SIG_IGN)
        // A program that is called `tnlcli` is the subcommand `tnl`.
        let isTNL = CommandLine.arguments.first?.split(separator: "/").last == "tnlcli"
        let arguments = (isTNL ? ["tnl"] : []) + CommandLine.arguments.dropFirst()
        // The parser, which reads the options of all subcommands first, would take longer than all else.
        guard arguments != ["--version"] else { return print(DecorumCommand.configuration.version) }
        let work = Task { await status(of: arguments) }
        obeySignals(cancelling: work)
        exit(await work.value.rawValue)
    }

    /// Lets the first signal by which a user ends the command cancel its work, and the second one end it at once.
    private static func obeySignals(cancelling work: Task<CommandStatus, Never>) {
        for number in [SIGINT, SIGTERM] {
            // Otherwise the signal would end the process before the source is told.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                guard !work.isCancelled else { _exit(CommandStatus.interrupted.rawValue) }
                // A source lasts as long as somebody has it.
                withExtendedLifetime(source) { work.cancel() }
            }
            source.activate()
        }
    }

    /// Parses the arguments, runs the command, and tells a failure.
    private static func status(of arguments: [String]) async -> CommandStatus {
        do {
            var command = try DecorumCommand.parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
            return .done
        } catch {
            // What the parser has to say: the help, the version, or a mistake in the arguments.
            let code = DecorumCommand.exitCode(for: error)
            if code.isSuccess || code == .validationFailure {
                let stream = code.isSuccess ? FileHandle.standardOutput : .standardError
                try? stream.write(contentsOf: Data((DecorumCommand.fullMessage(for: error) + "\n").utf8))
                return code.isSuccess ? .done : .usage
            }
            if let text = CommandFailure.text(of: error) { Console().say("decorum: \(text)") }
            return CommandStatus(of: error)
        }
    }
}
#endif
