/// The course of all cassettes of a test run: recorded, replayed, missed, outdated and unused interactions, and the
/// secrets that were masked.
///
/// A run writes one if the environment variable `CASSETTE_REPORT` names a file: see ``CassetteReportFile``. No text in it
/// is secret.
public struct CassetteReport: Sendable, Hashable, Codable {
    /// A recorded interaction.
    public struct Recording: Sendable, Hashable, Codable {
        /// Its number in the file, counted from 1.
        public let number: Int
        /// The method and the URL, redacted.
        public let request: String
        /// Its line in the file, counted from 1; nil if the format of the file has no lines, or if a test of the run has
        /// recorded on the file, since the line may be another one then.
        public internal(set) var line: Int?
        /// The tests of a suite that have recorded it, where the suite shares the cassette.
        public let tests: [String]
    }

    /// A request to which the server no longer answers as recorded, found by ``CassetteMode/verify``.
    public struct Change: Sendable, Hashable, Codable {
        /// The method and the URL, redacted.
        public let request: String
        /// The changes, with JSON paths and without values, and the beginning of the redacted content where the status is of
        /// another class.
        public let changes: [String]
    }

    /// A value that was replaced when a cassette was written.
    public struct Mask: Sendable, Hashable, Codable {
        /// The first place at which it was found, such as `choices.token in JSON`.
        public let place: String
        /// The text in its place.
        public let placeholder: String
    }

    /// The course of one file, over all tests that opened it.
    public struct Cassette: Sendable, Hashable, Codable {
        /// The path of the file.
        public let file: String
        /// The modes in which it was opened, each once; ``CassetteMode/once`` where it recorded what was not in the file.
        public internal(set) var modes: [CassetteMode] = []
        /// How often it was opened: once for each test.
        public internal(set) var opened = 0
        /// How often a test with it passed, as far as its cassette is concerned.
        public internal(set) var finished = 0
        /// Whether a test could not open it, since it does not exist.
        public internal(set) var isMissing = false
        /// The number of requests that were recorded.
        public internal(set) var recorded = 0
        /// The number of requests that were answered by a recording.
        public internal(set) var replayed = 0
        /// The number of requests whose answers ``CassetteMode/verify`` has compared.
        public internal(set) var verified = 0
        /// The requests that had no recording.
        public internal(set) var missed: [String] = []
        /// The requests to which the server no longer answers as recorded.
        public internal(set) var changed: [Change] = []
        /// The recordings that were played although they are older than the rules allow.
        public internal(set) var outdated: [Recording] = []
        /// The recordings that no test has played; nil where no test that passed has replayed the file.
        public internal(set) var unplayed: [Recording]?
        /// The values that were replaced.
        public internal(set) var masked: [Mask] = []
        /// The parameterised tests of which the file has cases that did not run, while new ones did.
        ///
        /// The text of their arguments may differ in each run. Empty if only some of the tests ran.
        public internal(set) var changedTests: [String] = []
        /// The cases of parameterised tests that ran, and those that had recordings before; nil without any.
        var cases: Cases?

        init(file: String) {
            self.file = file
        }
    }

    /// The cases of parameterised tests with one file.
    struct Cases: Sendable, Hashable, Codable {
        var opened: [String] = []
        let recorded: [String]
    }

    /// The recordings of a file that no test has used.
    public struct Unused: Sendable, Hashable, Codable {
        /// The path of the file.
        public let file: String
        /// The recordings.
        public let recordings: [Recording]
    }

    /// A reason why tests have failed, such as a server without an answer or a member that is missing.
    public struct Cause: Sendable, Hashable, Codable {
        /// The reason.
        public let text: String
        /// The number of tests that it has failed, each counted once.
        public internal(set) var tests: Int
    }

    /// The numbers of the whole run.
    public struct Counts: Sendable, Hashable, Codable {
        /// How often a cassette was opened: once for each test with one.
        public internal(set) var tests = 0
        /// The requests that were recorded.
        public internal(set) var recorded = 0
        /// The requests that were answered by a recording.
        public internal(set) var replayed = 0
        /// The requests whose answers ``CassetteMode/verify`` has compared.
        public internal(set) var verified = 0
        /// The requests that had no recording.
        public internal(set) var missed = 0
        /// The requests to which the server no longer answers as recorded.
        public internal(set) var changed = 0
        /// The outdated recordings that were played.
        public internal(set) var outdated = 0
        /// The recordings that no test has used.
        public internal(set) var unused = 0
        /// The values that were replaced.
        public internal(set) var masked = 0
    }

    /// The numbers of the whole run.
    public internal(set) var counts = Counts()
    /// Whether only some of the tests ran, so that an unused recording has no meaning.
    ///
    /// The arguments `--filter` and `--skip` show it. A selection of tests in Xcode does not show.
    public internal(set) var isPartial = false
    /// The cassettes that were opened, ordered by their paths.
    public internal(set) var cassettes: [Cassette] = []
    /// The recordings that no test has opened: the other files in those folders `Cassettes` of which a file was opened;
    /// empty if ``isPartial``.
    public internal(set) var unopened: [String] = []
    /// The reasons why tests have failed at their cassettes, that of the most tests first.
    public internal(set) var causes: [Cause] = []
    /// The run that the report belongs to.
    var run = ""

    /// The recordings that no test has used, by file; empty if ``isPartial``.
    ///
    /// A file is left out if one of its tests has failed, since that test may have ended early.
    public internal(set) var unused: [Unused] = []
}

extension CassetteReport: CustomStringConvertible {
    /// A summary, and the cassettes about which there is something to tell.
    public var description: String {
        var lines = [
            """
            \(cassettes.count == 1 ? "1 cassette" : "\(cassettes.count) cassettes"), opened \
            \(counts.tests == 1 ? "once" : "\(counts.tests) times"): \(counts.recorded) recorded, \
            \(counts.replayed) replayed, \(counts.verified) verified, \(counts.missed) missed, \(counts.changed) changed, \(counts.outdated) outdated, \(counts.unused) unused, \
            \(counts.masked) secrets masked
            """
        ]
        if isPartial { lines.append("Only some of the tests ran, so unused recordings are not listed.") }
        let common = causes.filter { $0.tests > 1 }
        if !common.isEmpty {
            lines += ["", "the same cause in several tests:"] + common.map { "  \($0.tests) tests  \($0.text)" }
        }
        let unused = Dictionary(unused.map { ($0.file, $0.recordings) }) { first, _ in first }
        for cassette in cassettes { lines += cassette.lines(unused: unused[cassette.file] ?? []) }
        if !unopened.isEmpty {
            lines += ["", "opened by no test:"] + unopened.map { "  \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension CassetteReport.Cassette {
    /// The lines about the file, after an empty one.
    fileprivate func lines(unused: [CassetteReport.Recording]) -> [String] {
        let modes = modes.map(\.rawValue).joined(separator: ", ")
        let isVerified = self.modes.contains(.verify)
        let numbers = isVerified ? "\(verified) verified" : "\(recorded) recorded, \(replayed) replayed"
        var lines = ["", "\(file) (\(modes)): \(numbers)"]
        if finished < opened {
            lines.append(opened == 1 ? "  its test failed" : "  \(opened - finished) of \(opened) tests failed")
        }
        if isMissing { lines.append("  does not exist") }
        lines += missed.map { "  missed    \($0)" }
        lines += changed.flatMap { change in
            ["  changed   \(change.request)"] + change.changes.map { "              \($0)" }
        }
        lines += outdated.map { "  outdated  \($0)" }
        lines += unused.map { "  unused    \($0)" }
        if !changedTests.isEmpty { lines.append("  cases     \(TestCase.remedy(for: changedTests))") }
        lines += masked.map { "  masked    \($0.place): \($0.placeholder)" }
        return lines
    }
}

extension CassetteReport.Recording: CustomStringConvertible {
    /// The number, the request, the line, and the tests.
    public var description: String {
        let place = InteractionPlace.words(line: line, tests: tests)
        return "interaction \(number)  \(request)\(place.isEmpty ? "" : "  (\(place))")"
    }
}
