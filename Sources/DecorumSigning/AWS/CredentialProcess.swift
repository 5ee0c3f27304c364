#if Signing
#if os(macOS) || os(Linux)
import Decorum
import Foundation
import Subprocess

/// Runs the program of a profile without a shell, with no input, and with its messages thrown away.
enum CredentialProcess {
    private static let timeLimit = Duration.seconds(60)

    /// The output of the program, which has ended in time with the status 0.
    static func output(of words: [String], environment: [String: String], clock: any DatedClock) async throws -> Data {
        var options = PlatformOptions()
        // The program has a group of its own, so what it has started ends with it.
        options.processGroupID = 0
        options.teardownSequence = [.send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .zero)]
        let program = words.first ?? ""
        // The library refuses names that no shell can set.
        let variables = environment.filter { $0.key.first?.isNumber == false }
            .map { (Environment.Key(stringLiteral: $0), $1) }
        let configuration = Configuration(
            executable: program.contains("/") ? .path(.init(text: program)) : .name(program),
            arguments: Arguments(Array(words.dropFirst())),
            environment: .custom(Dictionary(variables) { first, _ in first }), platformOptions: options)
        let watch = TimeLimitWatch(clock: clock)
        let output = try await watch.leavableValue(until: clock.instant(after: timeLimit)) { () -> Data? in
            let result = try? await run(configuration, output: .bytes(limit: MachineCredentials.sizeLimit))
            return result?.terminationStatus.isSuccess == true ? result.map { Data($0.standardOutput) } : nil
        }
        if let data = output ?? nil { return data }
        throw AWSCredentialError(
            "The credential_process did not start, has failed, has written more than 64 KiB or did not end within a minute. "
                + "Run it by hand.", mayPass: output == nil)
    }
}

extension ExpressibleByStringLiteral where StringLiteralType == String {
    /// A path, whose module differs between systems.
    fileprivate init(text: String) { self.init(stringLiteral: text) }
}
#else
import Decorum
import Foundation

/// The program of a profile, which this system cannot start.
enum CredentialProcess {
    static func output(of words: [String], environment: [String: String], clock: any DatedClock) async throws -> Data {
        throw AWSCredentialError("An app cannot start a credential_process on this system. Use other credentials.")
    }
}
#endif

extension String {
    /// The words of a command, as the shell would split them at blanks outside of quotation marks, without expanding anything;
    /// nil for an open quotation mark, and for a backslash at the end.
    var commandWords: [String]? {
        var words: [String] = []
        var word: String?
        var mark: Character?
        var isEscaped = false
        for character in self {
            if isEscaped {
                // Between double marks, a backslash stands for itself before all but these two.
                if mark != nil, character != "\"", character != "\\" { word?.append("\\") }
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", mark != "'" {
                isEscaped = true
            } else if character == mark {
                mark = nil
            } else if mark == nil, character == "\"" || character == "'" {
                mark = character
                word = word ?? ""
            } else if mark == nil, character.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard mark == nil, !isEscaped else { return nil }
        if let word { words.append(word) }
        return words
    }
}
#endif
