import Foundation
import Synchronization

extension Cassette {
    /// Adds the end of the test to the report of the run, the first time that it is called.
    func reportEnd(isFinished: Bool) {
        guard let reportFile else { return }
        let isFirst = state.withLock { state in
            defer { state.isReported = true }
            return !state.isReported
        }
        guard isFirst else { return }
        let ending = ending(isFinished: isFinished)
        reportFile.change { $0.end(reportedPath, ending) }
    }

    /// The report of the run; nil unless a scope or `CASSETTE_REPORT` asks for one.
    static var currentReport: CassetteReportFile? { CassetteDefaults.current.report ?? .current() }

    /// Adds to the report of the run that a test needs a file that does not exist.
    static func reportMissing(_ file: URL, _ mode: CassetteMode) {
        currentReport?.change { $0.miss(reportedPath(of: file), mode: mode) }
    }

    /// Adds to the report of the run that a test opens the file.
    func reportOpening() {
        let name = test.flatMap(TestCase.init)?.name
        reportFile?.change { report in
            // A test that was not asked to append has recorded once.
            let mode = isOnce && mode == .append ? .once : mode
            report.open(reportedPath, mode: mode, case: name, of: original.testNames.filter { TestCase($0) != nil })
        }
    }

    /// The path of the file from the working directory, or the whole one.
    var reportedPath: String { Self.reportedPath(of: file) }

    private static func reportedPath(of file: URL) -> String {
        let directory = FileManager.default.currentDirectoryPath + "/"
        return file.path.hasPrefix(directory) ? String(file.path.dropFirst(directory.count)) : file.path
    }

    private func ending(isFinished: Bool) -> CassetteReport.Ending {
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
        return CassetteReport.Ending(
            isFinished: isFinished, recorded: saved.count, replayed: replayed,
            verified: mode == .verify ? sent.count(where: \.hasResponse) : 0,
            missed: failures.compactMap { ($0 as? CassetteMissError)?.request },
            changed: drifts.map { .init(request: $0.request, changes: $0.changes) }, outdated: recordings(outdated),
            unplayed: isFinished && mode == .replay ? recordings(unplayed) : nil,
            masked: saved.replacements.map { .init(place: $0.place, placeholder: $0.placeholder) },
            causes: isFinished
                ? []
                : Set(
                    sent.compactMap { $0.outage(as: redactor.matchable(url:)) }.map(scanner.masked)
                        + failures.compactMap {
                            ($0 as? CassetteMissError).map { "no recording matches \($0.request)" }
                        }
                        + drifts.flatMap(\.causes)))
    }
}

extension ExchangeRecording {
    /// The words for a server that has not answered; nil if it has.
    fileprivate func outage(as matchable: (String) -> String) -> String? {
        failureKind.map { kind in
            let parts = matchable(url).split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
            return "no answer from \(parts.prefix(3).joined(separator: "/")): \(kind)"
        }
    }
}

extension CassetteDriftError.Drift {
    /// The changes that other requests may have too; a server that has not answered is told without them.
    fileprivate var causes: [String] {
        guard cause != .request, cause != .addition else { return changes.first.map { ["\(request)  \($0)"] } ?? [] }
        let other = ["content  ", "outcome  ", "likely ", "  "]
        return changes.filter { change in !other.contains { change.hasPrefix($0) } }
    }
}
