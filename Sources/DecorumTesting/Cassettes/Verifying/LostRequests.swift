import Decorum
import Foundation
import HTTPTypes

/// The recorded requests that a verified run did not send because the answer to an earlier one no longer leads to them.
///
/// Without the field `Link`, or the cursor in JSON, a client does not ask for the next page, and without `Location` it follows no
/// redirection. The test sends the same requests as before, so the answer is told, with the requests that are missing.
struct LostRequests {
    /// A recorded answer that led to a request.
    private struct Lead {
        let source: Int
        let sign: Sign

        enum Sign {
            case field(FollowedField)
            /// A text in JSON, at a path.
            case text(String)
        }

        var field: FollowedField? { if case .field(let field) = sign { field } else { nil } }
    }

    private let recorded: [Interaction]
    private let answers: [Int: Interaction]
    private let leads: [String: [Lead]]
    /// The leads by texts that later URLs have.
    private let texts: [String: [Lead]]

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
        var texts: [String: [Lead]] = [:]
        for (source, interaction) in recorded.enumerated() {
            guard let response = interaction.response else { continue }
            for field in FollowedField.all(in: response.fields) {
                guard let target = field.target(from: interaction.request.url) else { continue }
                leads[matchable(target), default: []].append(Lead(source: source, sign: .field(field)))
            }
            for (path, text) in FollowedValue.all(in: response).sorted(by: { $0.key < $1.key }) {
                texts[text, default: []].append(Lead(source: source, sign: .text(path)))
            }
        }
        self.leads = leads
        self.texts = texts
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
        let url = recorded[ordinal].request.url
        let leads = ((leads[url] ?? []) + FollowedValue.words(in: url).flatMap { texts[$0] ?? [] })
            .filter { $0.source != ordinal }
        // Any answer that still leads there shows that the test has decided otherwise.
        guard !leads.contains(where: isKept) else { return nil }
        let lost = leads.first { answers[$0.source] != nil }
        return lost ?? leads.lazy.compactMap { unmade.contains($0.source) ? reasons[$0.source] : nil }.first
    }

    /// Whether the live answer leads on as the recorded one did.
    private func isKept(_ lead: Lead) -> Bool {
        guard let live = answers[lead.source] else { return false }
        switch lead.sign {
        case .field(let field): return field.successor(in: live, recordedFor: recorded[lead.source].request) != nil
        case .text(let path): return live.response.map { FollowedValue.all(in: $0)[path] != nil } ?? false
        }
    }
}

extension LostRequests {
    /// An answer that no longer leads to requests.
    struct Loss {
        private static let shownCount = 5

        /// The place of the recorded answer.
        let source: Int
        /// The field that led there; nil for a text in JSON, whose absence is told with the shape.
        let field: FollowedField?
        /// The places of the recorded requests.
        let requests: [Int]

        /// The lines that tell the field and the requests; `shown` redacts a URL, and `name` gives the words for a recorded
        /// request.
        func changes(
            _ recorded: Interaction, _ live: Interaction, shown: (String) -> String, name: (Int) -> String
        ) -> [String] {
            // A status of another class and an answer that broke off tell themselves why the field is missing.
            let isOther = recorded.isOfOtherClass(in: live) || live.failure != nil
            let change = isOther ? nil : live.response.flatMap { field?.loss(in: $0.fields, shown: shown) }
            let subject = requests.count == 1 ? "this recorded request was" : "these recorded requests were"
            let more = requests.count - Self.shownCount
            return [change].compactMap(\.self) + ["likely the reason why \(subject) not sent:"]
                + requests.prefix(Self.shownCount).map { "  \(name($0))" } + (more > 0 ? ["  and \(more) more"] : [])
        }
    }
}
