import Decorum
import Foundation
import Synchronization

/// The recording that answered a request, and the reasons why others did not.
///
/// With `CASSETTE=explain`, cassettes are replayed, and each request is explained on standard error.
/// ``CassetteRules/reportExplanations`` receives explanations too. All texts are redacted, and texts that look like
/// secrets are masked.
public struct RequestExplanation: Sendable, Hashable {
    /// The outcome of the search for a recording.
    public enum Outcome: Sendable, Hashable {
        /// A recording answered the request; its number is counted from 1.
        case answered(by: Int)
        /// There is no recording for the request, which is sent.
        case sent
        /// There is no recording for the request, which is a miss.
        case missed
    }

    /// A recording that did not answer the request.
    public struct Other: Sendable, Hashable {
        /// The number of the recording in the file, counted from 1.
        public let number: Int
        /// The line on which it begins; nil in any format but that of cassettes.
        public let line: Int?
        /// The reason why it did not answer.
        public let reason: String
        /// The rules in which it does not agree, each with lines that show the difference.
        public let differences: [String]

        fileprivate var subject: String { "not by interaction \(number)\(InteractionPlace.suffix(line: line))" }
    }

    /// The path of the cassette, from the working directory if it is in it.
    public let file: String
    /// The test that sent the request, where the tests of a suite share the cassette; else nil.
    public let test: String?
    /// The number of requests to the cassette so far, including this one.
    public let number: Int
    /// The method and the URL of the request.
    public let request: String
    /// The outcome of the search.
    public let outcome: Outcome
    /// The line on which the recording that answered begins; nil in any format but that of cassettes.
    public let line: Int?
    /// At most five recordings that did not answer, the nearest first.
    public let others: [Other]
}

extension RequestExplanation: CustomStringConvertible {
    /// The request and the recording that answered it on one line, and the nearest others on one line each; for a request that
    /// no recording answered, ``details``.
    public var description: String {
        guard case .answered(let number) = outcome else { return details }
        let heading =
            "\(place), request \(self.number)  \(request)  →  interaction \(number)\(InteractionPlace.suffix(line: line))"
        let lines = others.map { other in
            let rules = other.differences.filter { !$0.hasPrefix(" ") }.map { $0.replacing("  differs", with: "") }
            let reason = "\(rules.joined(separator: ", ")) differ\(rules.count == 1 ? "s" : "")"
            return "  \(other.subject): \(rules.isEmpty ? "it \(other.reason)" : reason)"
        }
        return ([heading] + lines).joined(separator: "\n")
    }

    /// The request, the recording that answered it, and the nearest others with their reasons.
    public var details: String {
        let answer =
            switch outcome {
            case .answered(let number): "answered by interaction \(number)\(InteractionPlace.suffix(line: line))"
            case .sent: "answered by no recording, so it is sent"
            case .missed: "answered by no recording"
            }
        let lines = others.flatMap { other in
            ["  \(other.subject): it \(other.reason)"] + other.differences.map { "    \($0)" }
        }
        return (["\(place), request \(number)", "  \(request)", "  \(answer)"] + lines).joined(
            separator: "\n")
    }

    private var place: String { test.map { "\(file), \($0)" } ?? file }
    static let modeName = "explain"
}

/// Explains which recording of a cassette answered a request, and why the others did not.
///
/// The recorded requests are decoded once, when the first request is explained.
final class RequestExplainer: Sendable {
    private static let shownCount = 5
    private static let comparedCount = 50

    private let report: @Sendable (RequestExplanation) -> Void
    private let recorded = Mutex<RecordedRequests?>(nil)

    /// Creates an explainer; nil if neither the rules nor the environment ask for explanations.
    init?(_ rules: CassetteRules, environment: [String: String]) {
        if let report = rules.reportExplanations {
            self.report = report
        } else {
            guard environment["CASSETTE"] == RequestExplanation.modeName else { return nil }
            report = { FileHandle.standardError.write(Data("\($0)\n".utf8)) }
        }
    }

    /// Reports the explanation of a request, which is redacted; `played` are the recordings that were played before it.
    func explain(
        _ request: RecordedRequest, number: Int, _ outcome: RequestExplanation.Outcome, played: Set<Int>,
        in cassette: Cassette
    ) throws {
        let recorded = try recorded.withLock { known in
            let recorded = try known ?? RecordedRequests(of: cassette)
            known = recorded
            return recorded
        }
        let request = recorded.hidingSecrets(of: request)
        let answer: Int? = if case .answered(let number) = outcome { number - 1 } else { nil }
        let others = try nearest(to: request, among: recorded, except: answer)
        report(
            RequestExplanation(
                file: cassette.reportedPath, test: cassette.test, number: number,
                request: recorded.scanner.masked("\(request.method) \(request.url)"), outcome: outcome,
                line: answer.flatMap(cassette.content.line),
                others: others.map { ordinal, difference in
                    .init(
                        number: ordinal + 1, line: cassette.content.line(of: ordinal),
                        reason: reason(difference, ordinal, answer: answer, played, cassette),
                        differences: difference.lines)
                }))
    }

    /// The recordings that did not answer, the nearest first: those in which most rules agree, then those whose URL is
    /// most similar, then those with the fewest differences.
    private func nearest(
        to request: RecordedRequest, among recorded: RecordedRequests, except answer: Int?
    ) throws -> [(ordinal: Int, difference: RequestDifference)] {
        let keys = recorded.keys(of: request)
        let candidates = recorded.requests.indices.filter { $0 != answer }.map {
            ($0, recorded.nearness($0, request, keys))
        }
        return try candidates.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.prefix(Self.comparedCount)
            .map { ($0, $1, try recorded.difference($0, request)) }
            .sorted { one, other in (other.1, one.2.lines.count, one.0) < (one.1, other.2.lines.count, other.0) }
            .prefix(Self.shownCount).map { ($0.0, $0.2) }
    }

    private func reason(
        _ difference: RequestDifference, _ ordinal: Int, answer: Int?, _ played: Set<Int>, _ cassette: Cassette
    ) -> String {
        guard difference.disagreements.isEmpty else {
            return "agrees in \(difference.agreements.count) of \(difference.ruleCount) rules"
        }
        if cassette.owners.foreign.contains(ordinal) { return "matches, and was recorded by another test" }
        if cassette.mended.contains(ordinal) { return "matches, and is to be recorded again" }
        if played.contains(ordinal) { return "matches, and is already played" }
        return answer == nil
            ? "matches, and is not the next one in order (the rules ask for `.strict`)"
            : "matches, and comes later in the file"
    }
}
