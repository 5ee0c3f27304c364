public import Foundation

/// The reaction of a cassette to a request.
public enum CassetteMode: String, Sendable, CaseIterable, Codable {
    /// Plays recorded interactions. A request without one is a miss, and nothing is sent. The default if `CI` is set.
    case replay
    /// Records if there is no file yet, else replays. The default if `CI` is not set.
    ///
    /// Where the tests of a suite share a file, a test of which it has no recording yet records too.
    case once
    /// Plays recorded interactions, and records all other requests.
    ///
    /// A request that holds the placeholder of a played secret throws ``RequestNotSentError`` instead of being sent.
    case append
    /// Records everything anew; an interaction that has not changed keeps its place and its day.
    ///
    /// The file then holds the interactions of the last run. Tests that share a cassette have to be in a suite with
    /// `@Suite(.cassettes())`: each of them then replaces its own recordings. Without the
    /// trait, a file with recordings of other tests is refused, in ``append`` too.
    case rewrite
    /// Sends everything, writes nothing, and fails if the answers have another shape than the recorded ones, or if the
    /// requests are others.
    case verify
    /// Sends everything and writes nothing.
    case live

    /// The mode that the environment names in `CASSETTE`; without it, ``replay`` if `CI` is set, else ``once``.
    ///
    /// `explain` names ``replay`` too; each request is then explained by a ``RequestExplanation``.
    ///
    /// - Throws: `CassetteModeError` if the value of the variable is not the name of a mode.
    public static func current(
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(CassetteModeError) -> CassetteMode {
        guard let name = environment["CASSETTE"], !name.isEmpty else {
            let isContinuousIntegration = !["", "0", "false"].contains(environment["CI"] ?? "")
            return isContinuousIntegration ? .replay : .once
        }
        if name == RequestExplanation.modeName { return .replay }
        guard let mode = CassetteMode(rawValue: name) else { throw CassetteModeError(name: name) }
        return mode
    }
}

/// The environment names a mode that does not exist.
public struct CassetteModeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The value of the variable.
    public let name: String

    /// The cause, and the modes.
    public var description: String {
        let names = CassetteMode.allCases.map(\.rawValue) + [RequestExplanation.modeName]
        return "CASSETTE is \(name.debugDescription), which is not a mode; "
            + "the modes are \(names.joined(separator: ", "))."
    }
}
