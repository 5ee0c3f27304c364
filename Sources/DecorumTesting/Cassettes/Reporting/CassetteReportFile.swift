public import Foundation

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
    ///     the arguments of `swift test`, or else those of the process, hold `--filter` or `--skip`.
    public init(at path: String, isPartial: Bool = CassetteReportFile.isFiltered) {
        self.init(at: path, isPartial: isPartial, run: Self.currentRun)
    }

    /// Whether the run leaves out tests.
    ///
    /// `swift test --parallel` starts a process for each test of XCTest, whose arguments name it alone. On Linux, the
    /// arguments of `swift test` tell whether the others run too.
    public static var isFiltered: Bool {
        isFiltered(CommandLine.arguments, startedBy: arguments(of: getppid()))
    }

    /// Whether a run leaves out tests, by the arguments of this process and of the one that started it, if they are known.
    static func isFiltered(_ arguments: [String], startedBy command: [String]?) -> Bool {
        guard let command, let name = command.first, command.contains("--parallel"),
            name.split(separator: "/").last?.hasPrefix("swift") == true
        else { return SharedCassettes.isFiltered(arguments) }
        let options = ["--filter", "--skip", "--specifier", "-s"]
        return command.contains { argument in
            options.contains { argument == $0 || argument.hasPrefix($0 + "=") }
        }
    }

    /// The arguments of a process; nil where the system does not tell them.
    private static func arguments(of process: Int32) -> [String]? {
        guard let text = try? Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline")), !text.isEmpty else {
            return nil
        }
        return text.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
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

    /// Changes the report.
    ///
    /// A report that cannot be written fails no test; the reason is written to standard error.
    func change(_ change: (inout CassetteReport) -> Void) {
        do {
            let folder = json.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try FolderLock.hold(on: folder, for: json) {
                var report = (try? self.report()) ?? CassetteReport()
                if report.run != run { report = CassetteReport() }
                report.run = run
                report.isPartial = report.isPartial || isPartial
                change(&report)
                report.conclude(unopened: UnopenedCassettes.all)
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                try encoder.encode(report).write(to: json, options: .atomic)
                try Data(report.description.utf8).write(to: text, options: .atomic)
            }
        } catch {
            let cause = (error as? CocoaError).map(DiskFailure.words) ?? "\(error)"
            let line = "The report \(json.relativePath) cannot be written: \(cause)\n"
            FileHandle.standardError.write(Data(line.utf8))
        }
    }

    /// `swift test` starts one process for each test framework, so a run is identified by the process that started
    /// this one; an app is started by the first process of the system.
    ///
    /// The system uses the number of a process again, so the time of its start belongs to it, where the system tells it.
    private static var currentRun: String {
        let parent = getppid()
        let process = parent > 1 ? parent : getpid()
        return startTime(of: process).map { "\(process) since \($0)" } ?? "\(process)"
    }

    /// The time at which Linux started a process, in its own unit: the 22nd value of the file, the second of which is a
    /// name in parentheses.
    private static func startTime(of process: Int32) -> Substring? {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let name = status.lastIndex(of: ")")
        else { return nil }
        let values = status[name...].split(separator: " ")
        return values.count > 20 ? values[20] : nil
    }
}
