import Decorum
import DecorumTesting
import Foundation
import Synchronization
import Testing

extension Cassette {
    /// Warns of interactions that were never played, and of outdated ones that were, if the rules ask for it.
    func warn(at sourceLocation: SourceLocation) {
        var warnings = notesOfPassedTest
        func add(_ count: Int, _ fault: String) {
            guard mode == .replay, count > 0 else { return }
            let recordings = count == 1 ? "1 recording" : "\(count) recordings"
            warnings.append("\(recordings) of \(file.lastPathComponent) \(count == 1 ? "was" : "were") \(fault).")
        }
        if rules.unused == .warn { add(unplayed.count, "never played") }
        if let expiry = rules.expiry, expiry.reaction != .fail {
            add(outdated.count, "played although older than the rules allow; CASSETTE=rewrite records anew")
        }
        warnings.forEach(sourceLocation.warn)
    }

    /// Attaches each request that the cassette has failed to the report of the test, with the recording that belongs to it.
    func attachFailures(at sourceLocation: SourceLocation) {
        for (name, text) in failureReports { FailureAttachments.current.attach(text, name, sourceLocation) }
    }

    /// The texts that are attached to the report of a test, and the names of their files.
    ///
    /// An unsafe request and the differences that `CassetteMode.verify` finds are told in full by their errors, and so is a
    /// recording that can no longer be read.
    var failureReports: [(name: String, text: String)] {
        let reports = failures.enumerated().lazy.compactMap { [file] index, failure -> (name: String, text: String)? in
            let (place, report): (String, String)
            switch failure {
            case let miss as CassetteMissError: (place, report) = ("request-\(miss.number)", miss.report)
            case let ended as RecordingEndedError: (place, report) = ("failure-\(index + 1)", ended.report)
            case let unsent as RequestNotSentError: (place, report) = ("failure-\(index + 1)", unsent.report)
            default: return nil
            }
            guard !report.isEmpty else { return nil }
            let name = "\(file.deletingPathExtension().lastPathComponent)-\(place).txt"
            return (name, "\(failure)\n\n----\n\n\(report)")
        }
        // A test may fail thousands of requests, each with a long report, and the first ones explain the others.
        return Array(reports.prefix(5))
    }
}

extension SourceLocation {
    func record(_ error: any Error) { Issue.record(error, sourceLocation: self) }

    func warn(_ text: String) { Issue.record("\(text)", severity: .warning, sourceLocation: self) }
}

/// The place to which the texts of failed requests go: the report of the test.
///
/// Swift Testing tells no test what was attached, so the tests of this module set a place of their own.
struct FailureAttachments: Sendable {
    @TaskLocal static var current = FailureAttachments(attach: { text, name, sourceLocation in
        Attachment.record(text, named: name, sourceLocation: sourceLocation)
    })

    let attach: @Sendable (_ text: String, _ name: String, _ sourceLocation: SourceLocation) -> Void
}

/// Observes whether a part of a test fails.
///
/// Swift Testing does not report whether a test has failed, so this trait observes its issues.
final class IssueWatch: Sendable {
    private let failures = Mutex<[String?]>([])

    var hasFailed: Bool { failures.withLock { !$0.isEmpty } }

    /// The texts of the errors that have failed the test until now.
    var errorTexts: [String] { failures.withLock { $0.compactMap(\.self) } }

    func watch(
        _ test: Test, _ testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let trait: IssueHandlingTrait = .compactMapIssues { [self] issue in
            if issue.isFailure { failures.withLock { $0.append(issue.error.map { "\($0)" }) } }
            return issue
        }
        try await trait.provideScope(for: test, testCase: testCase, performing: function)
    }
}
