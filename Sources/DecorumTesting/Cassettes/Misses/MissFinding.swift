import Decorum
import Foundation

extension CassetteMissError {
    /// Finds the recorded request that is nearest to one without a recording, and the differences.
    init(
        _ live: RecordedRequest, number: Int, finding: PlaybackIndex.Finding, unplayed: Set<Int>, in cassette: Cassette
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
        // If several are equally near, one that has not been played is more likely to be the intended one.
        let nearest = recorded.indices.max {
            (nearness[$0], unplayed.contains($0) ? 1 : 0, $1) < (nearness[$1], unplayed.contains($1) ? 1 : 0, $0)
        }
        let line = nearest.flatMap { cassette.content.line(of: $0) }.map { ":\($0)" } ?? ""
        let report = MissReport(scanner: scanner).text(
            live, number: number, nearest: nearest.map { recorded[$0] },
            name: "interaction \((nearest ?? 0) + 1) of \(cassette.file.lastPathComponent)")
        self.init(
            request: scanner.masked("\(live.method) \(live.url)"), number: number,
            file: cassette.file.relativePath + line,
            explanation: nearest.map { nearest in
                let difference = RequestDifference(recorded[nearest], live, rules: rules, masking: scanner)
                return difference.disagreements.isEmpty
                    ? Self.exhausted(finding, nearest, cassette.rules)
                    : Self.compared(difference, nearest, isPlayed: !unplayed.contains(nearest))
            } ?? "the cassette holds no interaction",
            report: report,
            advice: cassette.adviceToRecordOrShare(
                or: "`CASSETTE=append` records it, `CASSETTE=rewrite` records everything anew"))
    }

    private static func exhausted(_ finding: PlaybackIndex.Finding, _ nearest: Int, _ rules: CassetteRules) -> String {
        guard case .played(let ordinals) = finding else {
            return "interaction \(nearest + 1) matches, but is not the next one in order (the rules ask for `.strict`)"
        }
        let list = ordinals.map { String($0 + 1) }.joined(separator: ", ")
        return "interaction \(list) matches, but is already played (`rules.repeats = .last` plays the last one again)"
    }

    private static func compared(_ difference: RequestDifference, _ nearest: Int, isPlayed: Bool) -> String {
        let count = difference.agreements.count + difference.disagreements.count
        var lines = [
            "closest: interaction \(nearest + 1), \(isPlayed ? "already played" : "never played"), "
                + "\(difference.agreements.count) of \(count) rules agree"
        ]
        lines += difference.agreements.map { "  \($0)  same" }
        for (rule, details) in difference.disagreements {
            lines.append("  \(rule)  differs")
            lines += details.map { "    \($0)" }
        }
        return lines.joined(separator: "\n")
    }
}

extension Cassette {
    /// How to fix a cassette: a mode that records it, or another file if this one is only replayed.
    func adviceToRecord(or modes: String) -> String {
        guard let format = opened.readOnlyFormat else { return modes }
        return "record on another file, since a cassette of \(format) is only replayed"
    }

    /// The advice to record, and for a file that a test has named, how several tests share it.
    func adviceToRecordOrShare(or modes: String) -> String {
        guard isNamedAlone else { return adviceToRecord(or: modes) }
        let name = file.deletingPathExtension().lastPathComponent
        return adviceToRecord(or: modes)
            + "; if several tests share the cassette \(name.debugDescription), first put the trait `.cassettes()` on "
            + "their suite, as in `@Suite(.cassettes()) struct FeedTests`: without it, each test takes the file for its own"
    }
}
