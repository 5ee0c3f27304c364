import Decorum
import Foundation
import HTTPTypes

/// The recorded requests that a verified run did not send because the answer to an earlier one no longer leads to them.
///
/// Without the field `Link`, a client does not ask for the next page, and without `Location` it follows no redirection. The
/// test sends the same requests as before, so the answer is told, with the requests that are missing.
struct LostRequests {
    /// A recorded answer that led to a request.
    private struct Lead {
        let source: Int
        let field: FollowedField
    }

    private let recorded: [Interaction]
    private let answers: [Int: Interaction]
    private let leads: [String: [Lead]]

    /// Creates the search.
    ///
    /// - Parameters:
    ///   - recorded: The recorded interactions, whose requests are redacted as for matching.
    ///   - answers: The live interactions by the places of the recorded ones.
    ///   - matchable: Redacts a URL as for matching.
    init(_ recorded: [Interaction], answers: [Int: Interaction], matchable: (String) -> String) {
        self.recorded = recorded
        self.answers = answers
        var leads: [String: [Lead]] = [:]
        for (source, interaction) in recorded.enumerated() {
            for field in interaction.response.map({ FollowedField.all(in: $0.fields) }) ?? [] {
                guard let target = field.target(from: interaction.request.url) else { continue }
                leads[matchable(target), default: []].append(Lead(source: source, field: field))
            }
        }
        self.leads = leads
    }

    /// The answers that no longer lead to requests, in the order of the recordings.
    ///
    /// A page behind a lost page is lost by the same answer.
    func losses(among unmade: Set<Int>) -> [Loss] {
        var reasons: [Int: Lead] = [:]
        var isGrowing = true
        while isGrowing {
            isGrowing = false
            for ordinal in unmade.sorted() where reasons[ordinal] == nil {
                guard let reason = reason(for: ordinal, unmade, reasons) else { continue }
                reasons[ordinal] = reason
                isGrowing = true
            }
        }
        let requests = Dictionary(grouping: reasons.keys.sorted()) { reasons[$0]?.source ?? $0 }
        return requests.keys.sorted().compactMap { source in
            guard let requests = requests[source], let lead = requests.first.flatMap({ reasons[$0] }) else {
                return nil
            }
            return Loss(source: source, field: lead.field, requests: requests)
        }
    }

    private func reason(for ordinal: Int, _ unmade: Set<Int>, _ reasons: [Int: Lead]) -> Lead? {
        let leads = (leads[recorded[ordinal].request.url] ?? []).filter { $0.source != ordinal }
        // Any answer that still leads there shows that the test has decided otherwise.
        let isLed = leads.contains { lead in
            answers[lead.source].flatMap {
                lead.field.successor(in: $0, recordedFor: recorded[lead.source].request)
            } != nil
        }
        guard !isLed else { return nil }
        let lost = leads.first { answers[$0.source] != nil }
        return lost ?? leads.lazy.compactMap { unmade.contains($0.source) ? reasons[$0.source] : nil }.first
    }
}

extension LostRequests {
    /// An answer that no longer leads to requests.
    struct Loss {
        private static let shownCount = 5

        /// The place of the recorded answer.
        let source: Int
        let field: FollowedField
        /// The places of the recorded requests.
        let requests: [Int]

        /// The lines that tell the field and the requests; `shown` redacts a URL, and `name` gives the words for a recorded
        /// request.
        func changes(
            _ recorded: Interaction, _ live: Interaction, shown: (String) -> String, name: (Int) -> String
        ) -> [String] {
            // A status of another class and an answer that broke off tell themselves why the field is missing.
            let isOther = recorded.isOfOtherClass(in: live) || live.failure != nil
            let change = isOther ? nil : live.response.map { field.loss(in: $0.fields, shown: shown) }
            let subject = requests.count == 1 ? "this recorded request was" : "these recorded requests were"
            let more = requests.count - Self.shownCount
            return [change].compactMap(\.self) + ["likely the reason why \(subject) not sent:"]
                + requests.prefix(Self.shownCount).map { "  \(name($0))" } + (more > 0 ? ["  and \(more) more"] : [])
        }
    }
}
