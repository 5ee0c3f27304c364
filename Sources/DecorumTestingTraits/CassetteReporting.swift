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

    /// Attaches each request that the cassette has failed to the report of the test, with the nearest recorded one.
    func attachFailures(at sourceLocation: SourceLocation) {
        for (name, text) in failureReports {
            Attachment.record(text, named: name, sourceLocation: sourceLocation)
        }
    }

    /// The texts that are attached to the report of a test, and the names of their files.
    var failureReports: [(name: String, text: String)] {
        failures.compactMap { $0 as? CassetteMissError }.prefix(Self.reportLimit).map { miss in
            let name = "\(file.deletingPathExtension().lastPathComponent)-request-\(miss.number).txt"
            return (name, "\(miss)\n\n----\n\n\(miss.report)")
        }
    }

    /// The largest number of requests that are attached; the first ones explain those that follow.
    private static var reportLimit: Int { 5 }
}
