import Foundation

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
    /// The number of recordings that did not answer and are not in ``others``.
    public let omittedCount: Int
}

extension RequestExplanation: CustomStringConvertible {
    /// The request and the recording that answered it on one line, and the nearest others on one line each; for a request that
    /// no recording answered, ``details``.
    public var description: String {
        guard case .answered(let number) = outcome else { return details }
        let heading =
            "\(place), request \(self.number)  \(request)  →  interaction \(number)\(InteractionPlace.suffix(line: line))"
        return ([heading] + others.map(\.summary) + [omission].compactMap(\.self)).joined(separator: "\n")
    }

    /// The request, the recording that answered it, and the nearest others with their reasons.
    public var details: String {
        var lines = ["\(place), request \(number)", "  \(request)", "  \(answer)"]
        for other in others {
            lines.append("  \(other.subject): it \(other.reason)")
            lines += other.differences.map { "    \($0)" }
        }
        return (lines + [omission].compactMap(\.self)).joined(separator: "\n")
    }

    private var omission: String? {
        guard omittedCount > 0 else { return nil }
        return "  nor by \(omittedCount) \(omittedCount == 1 ? "other" : "others"), which are less similar"
    }

    private var place: String { test.map { "\(file), \($0)" } ?? file }

    private var answer: String {
        switch outcome {
        case .answered(let number): "answered by interaction \(number)\(InteractionPlace.suffix(line: line))"
        case .sent: "answered by no recording, so it is sent"
        case .missed: "answered by no recording"
        }
    }
}

extension RequestExplanation {
    /// The value of the variable `CASSETTE` that asks for explanations.
    static let modeName = "explain"

    /// Returns whether an environment asks for explanations.
    static func isAsked(in environment: [String: String]) -> Bool { environment["CASSETTE"] == modeName }

    /// Writes an explanation to standard error, in one piece.
    static func write(_ explanation: RequestExplanation) {
        FileHandle.standardError.write(Data("\(explanation)\n".utf8))
    }
}

extension RequestExplanation.Other {
    fileprivate var subject: String { "not by interaction \(number)\(InteractionPlace.suffix(line: line))" }

    /// The recording, and the rules in which it does not agree, on one line.
    fileprivate var summary: String {
        let rules = differences.filter { !$0.hasPrefix(" ") }.map { $0.replacing("  differs", with: "") }
        let names = rules.joined(separator: ", ")
        return "  \(subject): " + (rules.isEmpty ? "it \(reason)" : "\(names) differ\(rules.count == 1 ? "s" : "")")
    }
}
