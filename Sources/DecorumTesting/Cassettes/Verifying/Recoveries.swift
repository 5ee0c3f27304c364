import Decorum

/// The recorded failures that the server did not have in a verified run, so that their retries were not sent.
///
/// Neither the test nor the API has changed then. A new recording would lose the failure, which is often the reason why the
/// test has a cassette.
struct Recoveries {
    /// A failure that the server did not have.
    struct Recovery {
        /// The place of the recorded failure.
        let failure: Int
        /// The places of the recorded requests that repeat its request, at least one.
        let retries: [Int]
        /// The place of the retry that was recorded with another answer than a failure; nil if there is none.
        let answered: Int?

        /// The line that tells the failure and its retries; `line` gives the line of a recorded interaction.
        func words(for recorded: Interaction, line: (Int) -> Int?) -> String {
            let failure = recorded.failure?.kind ?? recorded.response.map { "\($0.status)" } ?? ""
            let lines = retries.compactMap(line).map { "\($0)" }.joined(separator: ", ")
            let places = lines.isEmpty ? "" : " (line\(retries.count == 1 ? "" : "s") \(lines))"
            let words = retries.count == 1 ? "retry\(places) was" : "\(retries.count) retries\(places) were"
            return
                "the recording holds a failure (\(failure)) that the server does not have now, so its \(words) not sent"
        }
    }

    private let recorded: [Interaction]
    private let answers: [Int: Interaction]
    private let rules: [MatchingRule]

    /// Creates the search.
    ///
    /// - Parameters:
    ///   - recorded: The recorded interactions, whose requests are redacted as for matching.
    ///   - answers: The live interactions by the places of the recorded ones.
    ///   - rules: The rules by which two requests are the same.
    init(_ recorded: [Interaction], answers: [Int: Interaction], rules: [MatchingRule]) {
        self.recorded = recorded
        self.answers = answers
        self.rules = rules
    }

    /// The failures whose retries are among the recordings that were not requested, in the order of the recordings.
    func all(among unmade: Set<Int>) -> [Recovery] {
        guard !unmade.isEmpty else { return [] }
        var left = unmade
        var recoveries: [Recovery] = []
        for (failure, answer) in answers.sorted(by: { $0.key < $1.key })
        where recorded[failure].isRetried && answer.isWell {
            let candidates = left.sorted().filter { $0 > failure && repeats($0, failure) }
            // The first answer that is no failure ends the retries.
            let answered = candidates.first { !recorded[$0].isRetried }
            let retries = candidates.filter { $0 <= answered ?? .max }
            guard !retries.isEmpty else { continue }
            left.subtract(retries)
            recoveries.append(Recovery(failure: failure, retries: retries, answered: answered))
        }
        return recoveries
    }

    /// Whether two recorded requests are the same by the rules.
    private func repeats(_ ordinal: Int, _ failure: Int) -> Bool {
        let (request, first) = (recorded[ordinal].request, recorded[failure].request)
        return rules.allSatisfy { KeyTemplates.agree(recorded: $0.key(first), $0.key(request)) }
    }
}

extension Interaction {
    /// The status codes after which clients send a request again.
    private static let retriedStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Whether clients send the request again: after a failure of the connection, or a status that may pass.
    fileprivate var isRetried: Bool {
        if let failure { return failure.kind != RecordedFailure.cancelled && !failure.isCut }
        return response.map { Self.retriedStatuses.contains($0.status) } ?? false
    }

    /// Whether a server has answered without an error.
    fileprivate var isWell: Bool { response.map { $0.status < 400 } ?? false }
}
