package import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The course of all cassettes of a test run: recorded, replayed, missed, outdated and unused interactions, and the
/// secrets that were masked.
///
/// ```
/// CASSETTE_REPORT=.build/cassettes.json swift test
/// ```
///
/// writes it as JSON to `.build/cassettes.json`, and as text to `.build/cassettes.txt`. Each cassette adds to both files when
/// it is opened and when it ends, so they are complete after the run, and also after a crash. All tests of a run add to one
/// report, also the tests of several processes; the next run begins a new one. No text in it is secret.
package struct CassetteReport: Sendable, Hashable, Codable {
    package struct Recording: Sendable, Hashable, Codable {
        package let number: Int
        package let request: String
        /// Its line in the file, counted from 1; nil if the format of the file has no lines, or if a test of the run has
        /// recorded on the file, which moves the line.
        package var line: Int?
        /// The tests that have recorded it, if a suite shares the cassette.
        package let tests: [String]

        fileprivate var text: String {
            let place = InteractionPlace.words(line: line, tests: tests)
            return "interaction \(number)  \(request)\(place.isEmpty ? "" : "  (\(place))")"
        }
    }

    /// The course of one file, over all tests that opened it.
    package struct Cassette: Sendable, Hashable, Codable {
        package let file: String
        /// The modes in which it was opened, each once; ``CassetteMode/once`` if it recorded what was not in the file.
        package var modes: [CassetteMode] = []
        package var opened = 0
        /// How often a test with it passed, as far as its cassette is concerned.
        package var finished = 0
        package var isMissing = false
        package var recorded = 0
        package var replayed = 0
        /// The number of requests whose answers ``CassetteMode/verify`` has compared.
        package var verified = 0
        package var missed: [String] = []
        package var changed: [CassetteDriftError.Drift] = []
        package var outdated: [Recording] = []
        /// The recordings that no test has used; empty if only some tests ran, and if a test of the file has failed, since it
        /// may have ended early.
        package var unused: [Recording] = []
        /// The values that were replaced: the first place of each, and the text in its place.
        package var masked: [String] = []
        /// The recordings that no test has played; nil unless a test that passed has replayed the file.
        var unplayed: [Recording]?
    }

    /// Whether only some of the tests ran, so that an unused recording has no meaning.
    package var isPartial = false
    package var cassettes: [Cassette] = []
    /// The other files in the folders `Cassettes` of which a file was opened; empty if ``isPartial``.
    package var unopened: [String] = []
    var run = ""

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
        for index in cassettes.indices { cassettes[index].conclude(isPartial: isPartial) }
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
    package var description: String {
        func sum(_ number: (Cassette) -> Int) -> Int { cassettes.reduce(0) { $0 + number($1) } }
        let opened = sum(\.opened)
        var lines = [
            """
            \(cassettes.count == 1 ? "1 cassette" : "\(cassettes.count) cassettes"), opened \
            \(opened == 1 ? "once" : "\(opened) times"): \(sum(\.recorded)) recorded, \(sum(\.replayed)) replayed, \
            \(sum(\.verified)) verified, \(sum(\.missed.count)) missed, \(sum(\.changed.count)) changed, \
            \(sum(\.outdated.count)) outdated, \(sum(\.unused.count)) unused, \(sum(\.masked.count)) secrets masked
            """
        ]
        if isPartial { lines.append("Only some of the tests ran, so unused recordings are not listed.") }
        lines += cassettes.flatMap(\.lines)
        if !unopened.isEmpty { lines += ["", "opened by no test:"] + unopened.map { "  \($0)" } }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension CassetteReport.Cassette {
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
        lines += outdated.map { "  outdated  \($0.text)" }
        lines += unused.map { "  unused    \($0.text)" }
        lines += masked.map { "  masked    \($0)" }
        return lines
    }
}

package struct CassetteReportFile: Sendable, Hashable {
    package let json: URL
    package let text: URL
    private let isPartial: Bool
    private let run: String

    /// Creates the files of a report; `path` is the one of the JSON, with or without its extension.
    package init(at path: String, isPartial: Bool = SharedCassettes.isFiltered) {
        self.init(at: path, isPartial: isPartial, run: Self.currentRun)
    }

    init(at path: String, isPartial: Bool, run: String) {
        let file = URL(filePath: path)
        let base = file.pathExtension == "json" ? file.deletingPathExtension() : file
        json = base.appendingPathExtension("json")
        text = base.appendingPathExtension("txt")
        self.isPartial = isPartial
        self.run = run
    }

    /// The files that the environment names in `CASSETTE_REPORT`; nil if it names no file.
    static func current(in environment: [String: String] = ProcessInfo.processInfo.environment) -> Self? {
        environment["CASSETTE_REPORT"].flatMap { $0.isEmpty ? nil : CassetteReportFile(at: $0) }
    }

    package func report() throws -> CassetteReport {
        guard let data = try? Data(contentsOf: json) else { return CassetteReport() }
        return try JSONDecoder().decode(CassetteReport.self, from: data)
    }

    /// Adds what a test has done with a file.
    ///
    /// A report that cannot be written fails no test; the reason is written to standard error.
    func add(_ course: CassetteReport.Cassette) {
        do {
            let folder = json.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try FolderLock.hold(on: folder, for: json) {
                var report = (try? self.report()) ?? CassetteReport()
                if report.run != run { report = CassetteReport() }
                report.run = run
                report.isPartial = report.isPartial || isPartial
                report.add(course)
                report.conclude(unopened: Self.recordings)
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                try encoder.encode(report).write(to: json, options: .atomic)
                try Data(report.description.utf8).write(to: text, options: .atomic)
            }
        } catch {
            let cause = (error as? CocoaError)?.words ?? "\(error)"
            let line = "The report \(json.relativePath) cannot be written: \(cause)\n"
            FileHandle.standardError.write(Data(line.utf8))
        }
    }

    /// `swift test` starts one process for each test framework, so a run is identified by the process that started
    /// this one; an app is started by the first process of the system.
    ///
    /// The system uses the number of a process again, so the time of its start belongs to it, if the system tells it.
    private static var currentRun: String {
        let parent = getppid()
        let process = parent > 1 ? parent : getpid()
        // The time is the 22nd value of the file, the second of which is a name in parentheses.
        let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let values = status.flatMap { status in
            status.lastIndex(of: ")").map { status[$0...].split(separator: " ") }
        }
        guard let values, values.count > 20 else { return "\(process)" }
        return "\(process) since \(values[20])"
    }

    /// The paths of recordings that were not opened, in the innermost folders `Cassettes` around some opened files.
    ///
    /// The content of a cassette that stands in files of its own does not count.
    private static func recordings(beside opened: [String]) -> [String] {
        let folders = opened.compactMap { file in
            let parts = file.split(separator: "/", omittingEmptySubsequences: false)
            return parts.dropLast().lastIndex(of: "Cassettes").map { parts[...$0].joined(separator: "/") }
        }
        return Set(folders).sorted().flatMap { folder in
            RecordingFile.paths(in: folder).filter { !opened.contains($0) }
        }
    }
}

extension Cassette {
    /// The report of the run; nil unless a scope or `CASSETTE_REPORT` asks for one.
    static var currentReport: CassetteReportFile? { CassetteDefaults.current.report ?? .current() }

    /// Adds to the report of the run that a test needs a file that does not exist.
    static func reportMissing(_ file: URL, _ mode: CassetteMode) {
        currentReport?.add(.init(file: reportedPath(of: file), modes: [mode], opened: 1, isMissing: true))
    }

    func reportOpening() {
        // A test that was not asked to append has recorded once.
        let mode = isOnce && mode == .append ? .once : mode
        reportFile?.add(.init(file: reportedPath, modes: [mode], opened: 1))
    }

    /// Adds the end of the test to the report of the run, the first time that it is called.
    func reportEnd(isFinished: Bool) {
        guard let reportFile else { return }
        let isFirst = state.withLock { state in
            defer { state.isReported = true }
            return !state.isReported
        }
        guard isFirst else { return }
        let scanner = SecretScanner(rules)
        func recordings(_ ordinals: [Int]) -> [CassetteReport.Recording] {
            ordinals.map { ordinal in
                let request = (try? content.request(at: ordinal)).map(redactor.matchable)
                return .init(
                    number: ordinal + 1, request: request.map { scanner.masked("\($0.method) \($0.url)") } ?? "",
                    line: content.line(of: ordinal), tests: content.tests(of: ordinal))
            }
        }
        let (replayed, saved, failures, drifts, sent) = state.withLock {
            ($0.replayCount, $0.saved, $0.failures, $0.drifts, $0.recordings)
        }
        reportFile.add(
            .init(
                file: reportedPath, finished: isFinished ? 1 : 0, recorded: saved.count, replayed: replayed,
                verified: mode == .verify ? sent.count(where: \.hasResponse) : 0,
                missed: failures.compactMap { ($0 as? CassetteMissError)?.request }, changed: drifts,
                outdated: recordings(outdated),
                masked: saved.replacements.map { "\($0.place): \($0.placeholder)" },
                unplayed: isFinished && mode == .replay ? recordings(unplayed) : nil))
    }

    var reportedPath: String { Self.reportedPath(of: file) }

    private static func reportedPath(of file: URL) -> String {
        let directory = FileManager.default.currentDirectoryPath + "/"
        return file.path.hasPrefix(directory) ? String(file.path.dropFirst(directory.count)) : file.path
    }
}
