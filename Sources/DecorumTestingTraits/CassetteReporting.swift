import Decorum
import DecorumTesting
import Foundation
import Testing

extension Cassette {
    /// Warns of interactions that were never played, and of outdated ones that were, if the rules ask for it.
    func warn(at sourceLocation: SourceLocation) {
        for warning in warnings {
            Issue.record("\(warning)", severity: .warning, sourceLocation: sourceLocation)
        }
    }

    private var warnings: [String] {
        var warnings = notesOfPassedTest
        if rules.unused == .warn, mode == .replay, !unplayed.isEmpty {
            let count = unplayed.count
            warnings.append(
                "\(count) recorded interaction\(count == 1 ? "" : "s") of \(file.lastPathComponent) "
                    + "\(count == 1 ? "was" : "were") never played.")
        }
        if let expiry = rules.expiry, expiry.reaction != .fail, mode == .replay, !outdated.isEmpty {
            let count = outdated.count
            warnings.append(
                "\(count) recording\(count == 1 ? "" : "s") of \(file.lastPathComponent) "
                    + "\(count == 1 ? "is" : "are") older than the rules allow; CASSETTE=rewrite records anew.")
        }
        return warnings
    }

    /// Records what explains a test that has failed: which file was being recorded, the requests that the cassette failed,
    /// the differences that `CassetteMode.verify` has found, and the first request in another order.
    ///
    /// `shown` are the texts of the errors that the test has shown already.
    func recordCircumstances(shown: [String], at sourceLocation: SourceLocation) async {
        await reportFailedTest(shown: shown) {
            Issue.record($0, sourceLocation: sourceLocation)
        } noting: {
            Issue.record("\($0)", severity: .warning, sourceLocation: sourceLocation)
        }
    }

    /// Attaches each request that the cassette has failed to the report of the test, with the recording that belongs to it.
    func attachFailures(at sourceLocation: SourceLocation) {
        for (name, text) in failureReports { FailureAttachments.current.attach(text, name, sourceLocation) }
    }

    /// The texts that are attached to the report of a test, and the names of their files.
    ///
    /// An unsafe request and the differences that `CassetteMode.verify` finds are told in full by their errors, and so is a
    /// recording that cannot be read any more.
    var failureReports: [(name: String, text: String)] {
        var reports: [(name: String, text: String)] = []
        // A test may fail thousands of requests, each with a long report.
        for (index, failure) in failures.enumerated() where reports.count < Self.reportLimit {
            guard let (place, report) = Self.report(of: failure, number: index + 1), !report.isEmpty else { continue }
            let name = "\(file.deletingPathExtension().lastPathComponent)-\(place).txt"
            reports.append((name, "\(failure)\n\n----\n\n\(report)"))
        }
        return reports
    }

    private static func report(of failure: any Error, number: Int) -> (place: String, text: String)? {
        switch failure {
        case let miss as CassetteMissError: ("request-\(miss.number)", miss.report)
        case let ended as RecordingEndedError: ("failure-\(number)", ended.report)
        case let unsent as PlaceholderSentError: ("failure-\(number)", unsent.report)
        default: nil
        }
    }

    /// The largest number of requests that are attached; the first ones explain those that follow.
    private static var reportLimit: Int { 5 }
}
