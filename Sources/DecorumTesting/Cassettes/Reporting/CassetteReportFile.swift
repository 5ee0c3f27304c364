public import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The files to which a test run writes its ``CassetteReport``, as JSON and as text.
///
/// ```
/// CASSETTE_REPORT=.build/cassettes.json swift test
/// ```
///
/// writes `.build/cassettes.json` and `.build/cassettes.txt`. Each cassette adds to both files when it is opened and when
/// it ends, so they are complete after the run, and also after a crash. All tests of a run add to one report, also those
/// of several processes; the next run begins a new one.
public struct CassetteReportFile: Sendable, Hashable {
    /// The file of the report as JSON.
    public let json: URL
    /// The file of the report as text.
    public let text: URL
    private let isPartial: Bool
    private let run: String

    /// Creates the files of a report.
    ///
    /// - Parameters:
    ///   - path: The path of the JSON, with or without its extension; the text has the extension `txt`.
    ///   - isPartial: Whether only some of the tests run, so that unused recordings have no meaning; by default, whether
    ///     the arguments of the process hold `--filter` or `--skip`, or names of tests for XCTest.
    public init(at path: String, isPartial: Bool = SharedCassettes.isFiltered) {
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

    /// The files that the environment names in `CASSETTE_REPORT`; nil if it names none.
    ///
    /// - Parameter environment: The variables of the environment.
    /// - Returns: The files.
    public static func current(
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> CassetteReportFile? {
        environment["CASSETTE_REPORT"].flatMap { $0.isEmpty ? nil : CassetteReportFile(at: $0) }
    }

    /// The report as it is now; an empty one if nothing is written yet.
    ///
    /// - Returns: The report.
    /// - Throws: `DecodingError` if the file is no report.
    public func report() throws -> CassetteReport {
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
        let extensions: Set = ["gz", "har", "json", "yaml", "yml", "zip", "zz"]
        let folders = opened.compactMap { file in
            let parts = file.split(separator: "/", omittingEmptySubsequences: false)
            return parts.dropLast().lastIndex(of: "Cassettes").map { parts[...$0].joined(separator: "/") }
        }
        return Set(folders).sorted().flatMap { folder in
            let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
            let recordings = paths.filter { path in
                let parts = path.split(separator: "/")
                return !parts.contains { $0.hasPrefix(".") } && !parts.dropLast().contains { $0.hasSuffix(".tape") }
                    && extensions.contains(URL(filePath: path).pathExtension.lowercased())
            }
            return recordings.sorted().map { folder + "/" + $0 }.filter { !opened.contains($0) }
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

    /// Adds to the report of the run that a test opens the file.
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
                masked: saved.replacements.map { .init(place: $0.place, placeholder: $0.placeholder) },
                unplayed: isFinished && mode == .replay ? recordings(unplayed) : nil))
    }

    /// The path of the file from the working directory, or the whole one.
    var reportedPath: String { Self.reportedPath(of: file) }

    private static func reportedPath(of file: URL) -> String {
        let directory = FileManager.default.currentDirectoryPath + "/"
        return file.path.hasPrefix(directory) ? String(file.path.dropFirst(directory.count)) : file.path
    }
}
