#if CommandLine
import ArgumentParser
import Decorum
import Foundation

/// The place of a secret: `@FILE`, `env:NAME`, `prompt`, or the secret itself, which other users of the machine can then see.
struct SecretSource: Sendable, Hashable, ExpressibleByArgument {
    let argument: String

    /// Reads the secret.
    func secret(for purpose: String, console: Console) throws(CommandFailure) -> String {
        if argument.hasPrefix("@") { return try InputFile.text(String(argument.dropFirst())) }
        if argument.hasPrefix("env:") {
            let name = String(argument.dropFirst(4))
            if let value = ProcessInfo.processInfo.environment[name], !value.isEmpty { return value }
            throw CommandFailure(.usage, "The environment variable \(name) with the \(purpose) is not set.")
        }
        guard argument == "prompt" else {
            console.say("Other users of this machine can see the \(purpose), an argument. Use @FILE or env:NAME.")
            return argument
        }
        guard isatty(STDIN_FILENO) == 1, let answer = unsafe getpass("\(purpose): ") else {
            throw CommandFailure(.usage, "Nobody can be asked for the \(purpose). Use @FILE or env:NAME.")
        }
        return unsafe String(cString: answer)
    }
}
#endif
