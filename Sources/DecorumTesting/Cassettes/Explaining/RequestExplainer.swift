import Decorum
import Foundation
import Synchronization

/// Explains which recording of a cassette answered a request, and why the others did not.
///
/// The recorded requests are decoded once, when the first request is explained.
final class RequestExplainer: Sendable {
    /// A recorded request with its keys, one for each rule.
    private struct Recorded {
        let request: RecordedRequest
        /// The request with the placeholders of the file.
        let shown: RecordedRequest
        let keys: [[UInt8]]
    }

    /// The recordings as they were before the request.
    struct Before {
        let played: Set<Int>
        /// Those that are recorded again instead of being played.
        let mended: Set<Int>
        /// Those of other tests, which a test that records does not play.
        let foreign: Set<Int>
    }

    private static let shownCount = 5
    /// The number of recordings whose differences are compared, to find those that are shown.
    private static let comparedCount = 50

    private let report: @Sendable (RequestExplanation) -> Void
    private let rules: CassetteRules
    private let scanner: SecretScanner
    private let recorded = Mutex<[Recorded]?>(nil)

    /// Creates an explainer; nil if neither the rules nor the environment ask for explanations.
    init?(_ rules: CassetteRules, environment: [String: String]) {
        let isAsked = RequestExplanation.isAsked(in: environment)
        guard let report = rules.reportExplanations ?? (isAsked ? RequestExplanation.write : nil) else { return nil }
        self.report = report
        self.rules = rules
        scanner = SecretScanner(rules)
    }

    /// Reports the explanation of a request, which is redacted.
    func explain(
        _ request: RecordedRequest, number: Int, _ outcome: RequestExplanation.Outcome, before: Before,
        in cassette: Cassette
    ) throws {
        let recorded = try recorded(in: cassette)
        var request = request
        // A secret without a name is recognized by its place in recorded requests.
        request.url = KeyTemplates.hiding(request.url, as: recorded.lazy.map(\.request.url).filter(Self.hasPlaceholder))
        let answer: Int? = if case .answered(let number) = outcome { number - 1 } else { nil }
        let nearest = nearest(to: request, among: recorded, except: answer)
        report(
            RequestExplanation(
                file: cassette.reportedPath, test: cassette.test, number: number,
                request: scanner.masked("\(request.method) \(request.url)"), outcome: outcome,
                line: answer.flatMap { cassette.content.line(of: $0) },
                others: nearest.map { ordinal, difference in
                    .init(
                        number: ordinal + 1, line: cassette.content.line(of: ordinal),
                        reason: reason(difference, ordinal, answer: answer, before),
                        differences: difference.disagreements.flatMap { rule, lines in
                            ["\(rule)  differs"] + lines.map { "  \($0)" }
                        })
                },
                omittedCount: recorded.count - nearest.count - (answer == nil ? 0 : 1)))
    }

    private static func hasPlaceholder(_ text: String) -> Bool { text.contains(Pseudonym.erasedText) }

    private func recorded(in cassette: Cassette) throws -> [Recorded] {
        try recorded.withLock { recorded in
            if let recorded { return recorded }
            let made = try (0..<cassette.content.count).map { ordinal in
                let written = try cassette.content.request(at: ordinal)
                let request = cassette.redactor.matchable(written)
                return Recorded(
                    request: request, shown: cassette.redactor.shown(written),
                    keys: rules.matching.map { $0.key(request) })
            }
            recorded = made
            return made
        }
    }

    /// The recordings that did not answer, the nearest first: those in which most rules agree, then those whose URL is
    /// most similar, then those with the fewest differences.
    private func nearest(
        to request: RecordedRequest, among recorded: [Recorded], except answer: Int?
    ) -> [(ordinal: Int, difference: RequestDifference)] {
        let keys = rules.matching.map { $0.key(request) }
        let candidates = recorded.indices.filter { $0 != answer }.map { ordinal in
            (ordinal, RequestDifference.nearness(recorded[ordinal].request, request, keys, recorded[ordinal].keys))
        }
        let compared = candidates.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.prefix(Self.comparedCount)
        let differences = compared.map { ordinal, nearness in
            let difference = RequestDifference(
                recorded[ordinal].request, request, rules: rules.matching, masking: scanner,
                shown: recorded[ordinal].shown)
            return (ordinal, nearness, difference)
        }
        return
            differences.sorted { one, other in
                (other.1, one.2.lineCount, one.0) < (one.1, other.2.lineCount, other.0)
            }
            .prefix(Self.shownCount).map { ($0.0, $0.2) }
    }

    private func reason(
        _ difference: RequestDifference, _ ordinal: Int, answer: Int?, _ before: Before
    ) -> String {
        guard difference.disagreements.isEmpty else {
            let count = difference.agreements.count + difference.disagreements.count
            return "agrees in \(difference.agreements.count) of \(count) rules"
        }
        if before.foreign.contains(ordinal) { return "matches, and was recorded by another test" }
        if before.mended.contains(ordinal) { return "matches, and is to be recorded again" }
        if before.played.contains(ordinal) { return "matches, and is already played" }
        return answer == nil
            ? "matches, and is not the next one in order (the rules ask for `.strict`)"
            : "matches, and comes later in the file"
    }
}
