public import Decorum
import Foundation

/// No interaction of a cassette answers a request.
///
/// The description shows the request, the recorded one that is nearest and every rule in which they do not agree, and
/// how to record it. All of it is redacted, and a text without a name that looks like a secret is masked too.
public struct CassetteMissError: Error, Hashable, Sendable {
    /// The method and the URL of the request, redacted.
    public let request: String
    /// The number of requests to the cassette so far, including this one.
    public let number: Int
    /// The path of the cassette, with the line of the nearest interaction if it is known.
    public let file: String
    /// The recorded request that is nearest, and the differences.
    public let explanation: String
    /// The whole request and the whole recorded one that is nearest, redacted, for the report of a test.
    public let report: String
    private let advice: String

    init(
        _ live: RecordedRequest, number: Int, finding: PlaybackIndex.Finding, unplayed: Set<Int>, in cassette: Cassette
    ) throws {
        self.number = number
        advice = cassette.adviceToRecord(or: "CASSETTE=append records it, CASSETTE=rewrite records everything anew")
        let rules = cassette.rules.matching
        let recorded = try (0..<cassette.content.count).map { ordinal in
            cassette.redactor.matchable(try cassette.content.request(at: ordinal))
        }
        var live = live
        // A secret without a name is recognized by its place in recorded requests.
        live.url = KeyTemplates.hiding(live.url, as: recorded.lazy.map(\.url))
        let keys = rules.map { $0.key(live) }
        let scanner = SecretScanner(cassette.rules)
        request = scanner.masked("\(live.method) \(live.url)")
        let nearness = recorded.map { RequestDifference.nearness($0, live, rules: rules, keys: keys) }
        // If several are equally near, one that has not been played is more likely to be the intended one.
        let nearest = recorded.indices.max {
            (nearness[$0], unplayed.contains($0) ? 1 : 0, $1) < (nearness[$1], unplayed.contains($1) ? 1 : 0, $0)
        }
        let line = nearest.flatMap { cassette.content.line(of: $0) }.map { ":\($0)" } ?? ""
        file = cassette.file.relativePath + line
        report = MissReport(scanner: scanner).text(
            live, number: number, nearest: nearest.map { recorded[$0] },
            name: "interaction \((nearest ?? 0) + 1) of \(cassette.file.lastPathComponent)")
        guard let nearest else {
            explanation = "the cassette holds no interaction"
            return
        }
        let difference = RequestDifference(recorded[nearest], live, rules: rules, masking: scanner)
        explanation =
            difference.disagreements.isEmpty
            ? Self.exhausted(finding, nearest, cassette.rules)
            : Self.compared(difference, nearest, isPlayed: !unplayed.contains(nearest))
    }

    private static func exhausted(_ finding: PlaybackIndex.Finding, _ nearest: Int, _ rules: CassetteRules) -> String {
        guard case .played(let ordinals) = finding else {
            return "interaction \(nearest + 1) matches, but is not the next one in order (the rules ask for .strict)"
        }
        let list = ordinals.map { String($0 + 1) }.joined(separator: ", ")
        return "interaction \(list) matches, but is already played (repeats: .last plays the last one again)"
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

extension CassetteMissError: DescribableError {
    /// The request, the nearest recorded one, the reason why it does not match, and how to record the request.
    public var description: String {
        """
        No recording matches request \(number).
          \(request)
        \(explanation)
        fix: \(advice)
        file: \(file)
        """
    }
}

extension Cassette {
    /// How to fix a cassette: a mode that records it, or another file if this one is only replayed.
    func adviceToRecord(or modes: String) -> String {
        guard let format = opened.readOnlyFormat else { return modes }
        return "record on another file, since a cassette of \(format) is only replayed"
    }
}
