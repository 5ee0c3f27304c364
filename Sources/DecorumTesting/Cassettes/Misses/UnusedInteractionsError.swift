public import Decorum
import Foundation

/// Interactions of a cassette were never played.
///
/// Either a request is no longer made, or it has changed so much that another interaction answered it.
public struct UnusedInteractionsError: Error, Hashable, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The method and the URL of each, redacted.
    public let requests: [String]
    /// The line of each in the file, the tests that recorded it, and the played interaction that it equals.
    let places: [String]
    /// Whether the test has run in ``CassetteMode/verify``, where nothing is played.
    let isVerified: Bool
    /// The other tests that have recorded the cassette, if no suite shares it.
    let forgottenSuite: ForgottenSuite?
    /// How to fix the cassette.
    let advice: String
    /// Whether all of them belong to tests that did not run.
    let isOfAbsentTests: Bool

    /// The error for interactions of cases in whose place a run has recorded others.
    func removingCases(of tests: some Sequence<String>) -> Self {
        withLastFirst(advising: TestCase.remedy(for: tests), isOfAbsentTests: false)
    }

    /// The error for interactions of tests that did not run, which no new recording removes.
    ///
    /// `hasNewNames` tells whether the run has recorded, so that a test that was renamed has recordings of its new name.
    func removing(testsThatDidNotRun names: some Sequence<String>, isAll: Bool, hasNewNames: Bool) -> Self {
        let remedy =
            "\(names.sorted().joined(separator: ", ")) did not run; if no such test exists any more, delete its "
            + "interactions at these lines, the last one first" + (hasNewNames ? "" : ", or rename it in the file")
        guard isAll else { return withLastFirst(advising: "\(remedy); else \(advice)", isOfAbsentTests: false) }
        return withLastFirst(advising: remedy, isOfAbsentTests: true)
    }

    /// The error with another remedy, whose interactions are listed from the last one to the first, since the lines behind a
    /// deleted one are others.
    private func withLastFirst(advising remedy: String, isOfAbsentTests: Bool) -> Self {
        Self(
            file: file, requests: requests.reversed(), places: places.reversed(), isVerified: isVerified,
            forgottenSuite: forgottenSuite, advice: remedy, isOfAbsentTests: isOfAbsentTests)
    }
}

extension UnusedInteractionsError: DescribableError {
    /// Their number, their requests, and how to fix the cassette.
    public var description: String {
        let lines = zip(requests, places).map { $1.isEmpty ? $0 : "\($0)  (\($1))" }
        let count = "\(requests.count) recorded interaction\(requests.count == 1 ? "" : "s")"
        let text = "Of the cassette \(file), \(count) \(fault):\(listed(lines))\nfix: \(advice)"
        // To allow them would leave each test with the answers of the others.
        guard let forgottenSuite else {
            return "\(text); or, if recordings may stay unused, set `rules.unused = .allow`"
        }
        return "\(forgottenSuite.fault(of: "The cassette \(file)")).\n\(text)"
    }

    private var fault: String {
        let isOne = requests.count == 1
        if isOfAbsentTests { return "\(isOne ? "belongs" : "belong") to no test that has run" }
        if isVerified { return "\(isOne ? "is" : "are") no longer requested" }
        return "\(isOne ? "was" : "were") never played"
    }
}
