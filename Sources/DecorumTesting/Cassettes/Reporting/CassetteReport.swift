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
        /// The tests that have recorded it, if a suite shares the cassette.
        public let tests: [String]
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
        /// The modes in which it was opened, each once; ``CassetteMode/once`` if it recorded what was not in the file.
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
        /// The differences that ``CassetteMode/verify`` has found.
        public internal(set) var changed: [CassetteDriftError.Drift] = []
        /// The recordings that were played although they are older than the rules allow.
        public internal(set) var outdated: [Recording] = []
        /// The recordings that no test has used; empty if only some tests ran, and if a test of the file has failed, since it
        /// may have ended early.
        public internal(set) var unused: [Recording] = []
        /// The values that were replaced.
        public internal(set) var masked: [Mask] = []
        /// The recordings that no test has played; nil unless a test that passed has replayed the file.
        var unplayed: [Recording]?
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
        /// The differences that ``CassetteMode/verify`` has found.
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
    /// The recordings that no test has opened: the other files in the folders `Cassettes` of which a file was opened; empty
    /// if ``isPartial``.
    public internal(set) var unopened: [String] = []
    /// The run that the report belongs to.
    var run = ""
}

extension CassetteReport {
    /// Adds what one test has done with a file.
    mutating func add(_ course: Cassette) {
        if let index = cassettes.firstIndex(where: { $0.file >= course.file }) {
            if cassettes[index].file == course.file {
                cassettes[index].add(course)
            } else {
                cassettes.insert(course, at: index)
            }
        } else {
            cassettes.append(course)
        }
    }

    /// Computes the values that follow from all files; `unopened` finds the recordings beside some files.
    mutating func conclude(unopened: (_ files: [String]) -> [String]) {
        self.unopened = isPartial ? [] : unopened(cassettes.map(\.file))
        counts = Counts()
        for index in cassettes.indices {
            cassettes[index].conclude(isPartial: isPartial)
            let cassette = cassettes[index]
            counts.tests += cassette.opened
            counts.recorded += cassette.recorded
            counts.replayed += cassette.replayed
            counts.verified += cassette.verified
            counts.missed += cassette.missed.count
            counts.changed += cassette.changed.count
            counts.outdated += cassette.outdated.count
            counts.unused += cassette.unused.count
            counts.masked += cassette.masked.count
        }
    }
}

extension CassetteReport.Cassette {
    fileprivate mutating func add(_ other: Self) {
        modes += other.modes.filter { !modes.contains($0) }
        opened += other.opened
        finished += other.finished
        isMissing = isMissing || other.isMissing
        recorded += other.recorded
        replayed += other.replayed
        verified += other.verified
        missed += other.missed
        changed += other.changed
        outdated += other.outdated.filter { one in !outdated.contains { $0.number == one.number } }
        outdated.sort { $0.number < $1.number }
        masked += other.masked.filter { !masked.contains($0) }
        guard let left = other.unplayed.map({ Set($0.map(\.number)) }) else { return }
        unplayed = unplayed?.filter { left.contains($0.number) } ?? other.unplayed
    }

    fileprivate mutating func conclude(isPartial: Bool) {
        // A line is that of the opened file, and a recording moves it.
        if recorded > 0 {
            for index in outdated.indices { outdated[index].line = nil }
            for index in unplayed?.indices ?? 0..<0 { unplayed?[index].line = nil }
        }
        unused = isPartial || finished < opened ? [] : unplayed ?? []
    }
}

extension CassetteReport: CustomStringConvertible {
    /// A summary, and the cassettes about which there is something to tell.
    public var description: String {
        var lines = [
            """
            \(cassettes.count == 1 ? "1 cassette" : "\(cassettes.count) cassettes"), opened \
            \(counts.tests == 1 ? "once" : "\(counts.tests) times"): \(counts.recorded) recorded, \
            \(counts.replayed) replayed, \(counts.verified) verified, \(counts.missed) missed, \(counts.changed) changed, \
            \(counts.outdated) outdated, \(counts.unused) unused, \(counts.masked) secrets masked
            """
        ]
        if isPartial { lines.append("Only some of the tests ran, so unused recordings are not listed.") }
        lines += cassettes.flatMap(\.lines)
        if !unopened.isEmpty { lines += ["", "opened by no test:"] + unopened.map { "  \($0)" } }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension CassetteReport.Cassette {
    /// The lines about the file, after an empty one.
    fileprivate var lines: [String] {
        let numbers = modes.contains(.verify) ? "\(verified) verified" : "\(recorded) recorded, \(replayed) replayed"
        var lines = ["", "\(file) (\(modes.map(\.rawValue).joined(separator: ", "))): \(numbers)"]
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
