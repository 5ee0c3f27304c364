import Decorum
import Foundation

extension CassetteMissError {
    /// Finds the recorded request that is nearest to one without a recording, and the differences.
    init(
        _ live: RecordedRequest, number: Int, finding: PlaybackIndex.Finding, unplayed: Set<Int>, in cassette: Cassette,
        holdsPlaceholder: Bool
    ) throws {
        let rules = cassette.rules.matching
        let recorded = try (0..<cassette.content.count).map { ordinal in
            cassette.redactor.matchable(try cassette.content.request(at: ordinal))
        }
        var live = live
        // A secret without a name is recognized by its place in recorded requests.
        live.url = KeyTemplates.hiding(live.url, as: recorded.lazy.map(\.url))
        let keys = rules.map { $0.key(live) }
        let scanner = SecretScanner(cassette.rules)
        let nearness = recorded.map { RequestDifference.nearness($0, live, rules: rules, keys: keys) }
        // If several are equally near, one of this test that has not been played is more likely to be the intended one.
        func likelihood(_ ordinal: Int) -> (RequestDifference.Nearness, Int, Int, Int) {
            let isForeign = cassette.owners.foreign.contains(ordinal)
            return (nearness[ordinal], isForeign ? 0 : 1, unplayed.contains(ordinal) ? 1 : 0, -ordinal)
        }
        let nearest = recorded.indices.max { likelihood($0) < likelihood($1) }
        let difference = nearest.map { nearest in
            RequestDifference(recorded[nearest], live, rules: rules, masking: scanner)
        }
        let address = URLNearness.address(of: live.url)
        let isAdditional = recorded.allSatisfy { URLNearness.address(of: $0.url) != address }
        // A recording of this test that is left is that of this request before it changed.
        let hasChanged = nearest.map { unplayed.contains($0) && !cassette.owners.foreign.contains($0) } ?? false
        let line = nearest.flatMap { cassette.content.line(of: $0) }.map { ":\($0)" } ?? ""
        let report = MissReport(scanner: scanner).text(
            live, number: number, nearest: nearest.map { recorded[$0] },
            name: "interaction \((nearest ?? 0) + 1) of \(cassette.file.lastPathComponent)")
        self.init(
            request: scanner.masked("\(live.method) \(live.url)"), number: number,
            file: cassette.file.relativePath + line,
            explanation: nearest.flatMap { nearest in
                guard let difference else { return nil }
                let owners = cassette.owners.foreign.contains(nearest) ? cassette.content.tests(of: nearest) : []
                guard difference.disagreements.isEmpty else {
                    return Self.compared(difference, nearest, isPlayed: !unplayed.contains(nearest), by: owners)
                        + (isAdditional ? Self.additional : "")
                }
                return cassette.owners.withheld.contains(nearest)
                    ? "interaction \(nearest + 1) matches, but answers only the tests that recorded it: "
                        + owners.joined(separator: ", ")
                    : Self.exhausted(finding, nearest, cassette.rules)
            } ?? "the cassette holds no interaction",
            report: report,
            advice: (difference?.hasRandomValue == true ? Self.randomAdvice : "")
                + cassette.adviceToRecordOrShare(
                    or: cassette.adviceForMiss(holdsPlaceholder: holdsPlaceholder, hasChanged: hasChanged)))
    }

    private static let additional =
        "\n  no recording has this path; it may be a request that the test did not send when it was recorded"

    private static let randomAdvice =
        "a value that looks random differs, which no new recording mends: pass the code a fixed UUID, number or time, or "
        + "ignore the value, as in `.url(ignoring: \"id\")` or `.body(ignoring: \"**.id\")`; else "

    private static func exhausted(_ finding: PlaybackIndex.Finding, _ nearest: Int, _ rules: CassetteRules) -> String {
        guard case .played(let ordinals) = finding else {
            return "interaction \(nearest + 1) matches, but is not the next one in order (the rules ask for `.strict`)"
        }
        let numbers = ordinals.map { String($0 + 1) }
        guard let last = numbers.last, numbers.count > 1 else {
            return
                "interaction \(numbers.joined()) matches, but is already played (if its answer is the same each time, "
                + "`rules.repeats = .last` plays it again)"
        }
        // A client that polls may have played thousands.
        let others = numbers.count > 6 ? numbers.prefix(3) + ["…"] : numbers.dropLast()[...]
        return
            "interactions \(others.joined(separator: ", ")) and \(last) match, but are already played (if the answer stays the "
            + "same, `rules.repeats = .last` plays the last one again)"
    }

    private static func compared(
        _ difference: RequestDifference, _ nearest: Int, isPlayed: Bool, by tests: [String]
    ) -> String {
        let count = difference.agreements.count + difference.disagreements.count
        let course =
            tests.isEmpty ? isPlayed ? "already played" : "never played" : "of \(tests.joined(separator: ", "))"
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
