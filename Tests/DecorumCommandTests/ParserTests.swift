#if CommandLine
import ArgumentParser
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

/// The help and the completions that the parser writes; the completions in the shells themselves.
struct ParserTests {
    @Test func `The help of each command is that of its golden file`() throws {
        let commands: [any ParsableCommand.Type] = [DecorumCommand.self] + DecorumCommand.configuration.subcommands
        for command in commands {
            let isRoot = command == DecorumCommand.self
            let help = ([command] + (isRoot ? [] : command.configuration.subcommands))
                .map { DecorumCommand.helpMessage(for: $0, columns: 80) + "\n" }.joined(separator: "\n")
            try expectGolden(help, "\(command.configuration.commandName ?? "").help.txt")
        }
    }

    /// Words, and what the last one of them becomes.
    static let rows = [
        ("stack li", "lint"), ("request --redirects sam", "same-origin"), ("request --cacert roo", "roots.pem"),
        ("request --certificates fol", "folder"), ("cache stats fol", "folder"),
    ]

    private static func has(_ shell: String) -> Bool {
        RunningScript.program(shell, variable: "DECORUM_\(shell.uppercased())") != nil
    }

    @Test(.enabled(if: has("bash"), "bash is not installed"))
    func `bash completes subcommands, values and files`() async throws {
        let start = """
            . ./script
            complete_words() {
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
                _decorum decorum "${@: -1}" "${@: -2:1}"; echo "${COMPREPLY[@]}"
            }
            """
        try await expectCompletions(by: "bash --norc", start) { "complete_words decorum \($0)" }
    }

    @Test(.enabled(if: has("fish"), "fish is not installed"))
    func `fish completes subcommands, values and files`() async throws {
        try await expectCompletions(by: "fish --no-config", ". script") { "complete -C 'decorum \($0)' | cut -f 1" }
    }

    @Test(.timeLimit(.minutes(1)), .enabled(if: has("zsh"), "zsh is not installed"))
    func `zsh completes subcommands, values and files`() async throws {
        // Completion needs an editor, which needs a terminal. A key then shows the line.
        let start = #"""
            mkdir functions && mv script functions/_decorum && zmodload zsh/zpty && zpty shell zsh -f -i
            zpty -w shell 'PROMPT=; fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D
                shown() { print -r -- "[$BUFFER]" }; zle -N shown; bindkey "^X" shown; echo rea""dy'
            zpty -r shell text '*ready*'
            """#
        try await expectCompletions(by: "zsh -f", start) {
            #"""
            zpty -w -n shell $'\C-udecorum \#($0)\t\C-x' && zpty -r shell text '*\[*\]*'
            text=${text##*\[} && print -r -- ${${${text%%\]*}% }##* }
            """#
        }
    }

    private func expectCompletions(
        by shell: String, _ start: String, of call: (_ words: String) -> String
    ) async throws {
        let commands = ([start] + Self.rows.map { call($0.0) }).joined(separator: "\n") + "\n"
        let output = try await RunningScript.output(
            of: """
                mkdir folder
                \(RunningScript.quoted(CommandRun.program.path)) --generate-completion-script \(shell.prefix { $0 != " " }) >script
                exec \(shell) commands
                """,
            files: ["commands": Data(commands.utf8), "roots.pem": Data()])
        let found = String(decoding: output, as: UTF8.self).split(separator: "\n")
        #expect(found.map { $0.trimmingCharacters(in: [" ", "/"]) } == Self.rows.map(\.1))
    }
}
#endif
