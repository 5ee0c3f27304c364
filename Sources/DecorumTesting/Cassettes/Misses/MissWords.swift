import Decorum
import Foundation
import Synchronization

/// The words that explain why no recording answers a request.
struct MissWords {
    let cassette: Cassette
    /// The recorded requests as they are matched.
    let recorded: [RecordedRequest]
    let scanner: SecretScanner

    /// The advice for a value that looks random, which another advice follows.
    static func randomAdvice(for difference: RandomDifference) -> String {
        if let rule = difference.removableRule {
            return
                (difference.isRecorded
                ? "a value that looks random differs, which no new recording mends"
                : "the value may be another one in each run, and then no new recording mends it")
                + ": pass the code a fixed UUID, number or time, or take the rule `\(rule)` out of `rules.matching`; else "
        }
        let rules = difference.rule.map { "`\($0)`" } ?? "`.url(ignoring: \"id\")` or `.body(ignoring: \"**.id\")`"
        let remedy = "pass the code a fixed UUID, number or time, or ignore the value, as in \(rules); else "
        return difference.isRecorded
            ? "a value that looks random differs, which no new recording mends: \(remedy)"
            : "the new value looks random, and if it is another one in each run, no new recording mends it: \(remedy)"
    }

    /// The advice for a request that is sent once more than it was recorded, with the advice to record it.
    ///
    /// It depends on the answer: a client connects again at the end of an event stream, and sends a request again after a
    /// failure. Elsewhere, the mistake that sends it comes before what would hide it.
    static func repeatAdvice(after recorded: Interaction?, recording: String) -> String {
        if let fields = recorded?.response?.fields, EventLines.includes(fields[.contentType]) {
            return
                "the recorded event stream has ended, after which a client connects again; stop reading at its last event, "
                + "or send no second request; else \(recording)"
        }
        if let recorded, recorded.isTransientFailure {
            return
                "the recorded answer is a failure (\(recorded.failureName)), after which a client sends the request again; "
                + "if the file was edited, restore it; else \(recording)"
        }
        return
            "if the code is not meant to send the request again, remove the additional one; if it is, \(recording); or, if "
            + "the answer is the same each time, set `rules.repeats = .last`"
    }

    /// The advice for a request whose recording the file may have lost, which another advice follows.
    static let restoringAdvice = "if the file was changed by mistake, restore it from version control; else "

    /// The condition of advice to record, since a new recording would hide a mistake in the code that sends the request.
    static let meantAdvice = "if the change is meant, "

    /// The advice behind that to record, since the recording may have changed in place of the request.
    static let editedAdvice = "; if the file was edited, restore it"

    /// A line about recordings of other tests: those that a suite would keep apart, or those of a file with the same content,
    /// where no recording has the path of the request; else about a recording that the file has lost; empty if there are none.
    func fault(of live: RecordedRequest, hasPath: Bool) -> String {
        if let forgottenSuite = cassette.forgottenSuite { return "\(forgottenSuite.fault(of: "the file"))\n" }
        guard !hasPath, let name = nameOfEqualFile else { return lostRecording(of: live) }
        return "the file has the same content as \(name) beside it, and may be a copy of another test's file\n"
    }

    /// The name of the file with the same content, which is looked for at the first miss alone; nil if there is none.
    private var nameOfEqualFile: String? {
        cassette.equalCassette.withLock { equal in
            let found = equal ?? EqualCassette(of: cassette.file)
            equal = found
            return found.name
        }
    }

    /// The line about a request to which a recorded answer leads, so that it was sent when that answer was recorded.
    private func lostRecording(of live: RecordedRequest) -> String {
        guard !recorded.contains(where: { $0.url == live.url }) else { return "" }
        let answered = cassette.state.withLock(\.answered)
        for ordinal in answered.keys.sorted() {
            guard let interaction = try? cassette.content.interaction(at: ordinal), let response = interaction.response
            else { continue }
            for field in FollowedField.all(in: response.fields) {
                let target = field.target(from: interaction.request.url).map(cassette.redactor.matchable(url:))
                guard target == live.url else { continue }
                return
                    "the recorded `\(field.name)` of \(cassette.shownRequest(at: ordinal)) leads to this request, so its "
                    + "recording was deleted from the file, or the test reads further now\n"
            }
        }
        return ""
    }

    /// The explanation for a request and the recording that is nearest to it, behind a fault that is told already; `cause` is
    /// that of a recording which differs.
    func explanation(
        _ nearest: Int?, _ difference: RequestDifference?, _ finding: PlaybackIndex.Finding, isPlayed: Bool,
        cause: MissCause, behind fault: String
    ) -> String {
        guard let nearest, let difference else {
            return recorded.isEmpty ? "the cassette holds no interaction" : newTest
        }
        let tests = cassette.owners.foreign.contains(nearest) ? cassette.content.tests(of: nearest) : []
        guard difference.disagreements.isEmpty else {
            let compared =
                cause == .loss ? nil : Self.compared(difference, nearest, isPlayed: isPlayed, by: tests)
            return [cause.words(isExplained: !fault.isEmpty), compared].compactMap(\.self).joined(separator: "\n")
        }
        guard !cassette.owners.withheld.contains(nearest) else {
            return "this test has not recorded the request; interaction \(nearest + 1) matches, but answers only "
                + tests.joined(separator: ", ")
        }
        guard case .played(let ordinals) = finding else { return disorder(nearest) }
        return repeated(ordinals)
    }

    /// The tests whose recordings are in the file, in place of a recording that has nothing to do with the test.
    private var newTest: String {
        let names = cassette.content.testNames
        let opened = cassette.shared?.openedNames(of: cassette.file) ?? []
        let absent = names.subtracting(opened)
        let fault = "the file has no recording of \(cassette.test ?? "this test"), but those of "
        return fault + (absent.isEmpty ? "other tests:" : "tests that have not run so far:")
            + listed((absent.isEmpty ? names : absent).sorted())
    }

    private func disorder(_ nearest: Int) -> String {
        let next = cassette.state.withLock { $0.index.cursor }
        let words = "interaction \(nearest + 1) matches, but is not the next one in order (the rules ask for `.strict`)"
        guard recorded.indices.contains(next) else { return words }
        let request = scanner.masked("\(recorded[next].method) \(recorded[next].url)")
        return "\(words), which is interaction \(next + 1), \(request)"
    }

    private func repeated(_ ordinals: [Int]) -> String {
        let requests = cassette.state.withLock { state in ordinals.compactMap { state.answered[$0] } }
        let numbers = Self.list(ordinals.map { $0 + 1 })
        guard ordinals.count > 1 else {
            return
                "interaction \(numbers) matches, but the test recorded it once, and sends it a second time; it was played "
                + "for request \(Self.list(requests))"
        }
        return
            "interactions \(numbers) match, but the test recorded the request \(ordinals.count) times, and sends it once "
            + "more; they were played for requests \(Self.list(requests))"
    }

    /// Some numbers; a client that polls may have played thousands.
    private static func list(_ numbers: [Int]) -> String {
        let texts = numbers.map(String.init)
        guard let last = texts.last, texts.count > 1 else { return texts.joined() }
        let others = texts.count > 6 ? texts.prefix(3) + ["…"] : texts.dropLast()[...]
        return "\(others.joined(separator: ", ")) and \(last)"
    }

    private static func compared(
        _ difference: RequestDifference, _ nearest: Int, isPlayed: Bool, by tests: [String]
    ) -> String {
        let count = difference.agreements.count + difference.disagreements.count
        let course =
            tests.isEmpty ? isPlayed ? "already played" : "not played so far" : "of \(tests.joined(separator: ", "))"
        var lines = [
            "closest: interaction \(nearest + 1), \(course), \(difference.agreements.count) of \(count) rules agree"
        ]
        lines += difference.agreements.map { "  \($0)  same" }
        for (rule, details) in difference.disagreements {
            lines.append("  \(rule)  differs")
            lines += details.map { "    \($0)" }
        }
        return lines.joined(separator: "\n")
    }
}
