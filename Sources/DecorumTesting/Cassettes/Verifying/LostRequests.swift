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

        /// The field; nil for a text, whose absence is told with the shape.
        var field: FollowedField? { if case .field(let field) = sign { field } else { nil } }
    }

    /// A text that more answers have is no link.
    private static let sourceLimit = 3

    private let recorded: [Interaction]
    private let answers: [Int: Interaction]
    /// The leads by whole URLs.
    private let leads: [String: [Lead]]
    /// The leads by parts of URLs.
    private let partialLeads: [String: [Lead]]
    /// The parts of the URLs that the run has requested, which lead nowhere.
    private let sent: Set<String>
    /// The texts of live answers by the places of the recorded ones, as far as they were asked for.
    private var liveTexts: [Int: FollowedTexts?] = [:]

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
        var partialLeads: [String: [Lead]] = [:]
        for (source, interaction) in recorded.enumerated() {
            let url = interaction.request.url
            for field in interaction.response.map({ FollowedField.all(in: $0.fields) }) ?? [] {
                guard let target = field.target(from: url) else { continue }
                leads[matchable(target), default: []].append(Lead(source: source, sign: .field(field)))
            }
            for (path, text) in FollowedTexts(in: interaction)?.parts ?? [] {
                let lead = Lead(source: source, sign: .text(path))
                if let target = FollowedTexts.target(of: text, from: url) {
                    leads[matchable(target), default: []].append(lead)
                } else {
                    partialLeads[text, default: []].append(lead)
                }
            }
        }
        self.leads = leads
        self.partialLeads = partialLeads.filter { $0.value.count <= Self.sourceLimit }
        sent = answers.keys.reduce(into: []) { $0.formUnion(FollowedTexts.words(in: recorded[$1].request.url)) }
    }

    /// The answers that no longer lead to requests, in the order of the recordings.
    ///
    /// A page behind a lost page is lost by the same answer.
    mutating func losses(among unmade: Set<Int>) -> [Loss] {
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
        return requests.sorted { $0.key < $1.key }.map { source, requests in
            var fields: [FollowedField] = []
            for field in requests.compactMap({ reasons[$0]?.field }) where !fields.contains(field) {
                fields.append(field)
            }
            return Loss(source: source, fields: fields, requests: requests)
        }
    }

    private mutating func reason(for ordinal: Int, _ unmade: Set<Int>, _ reasons: [Int: Lead]) -> Lead? {
        let url = recorded[ordinal].request.url
        var leads = (leads[url] ?? []).filter { $0.source != ordinal }
        if leads.isEmpty {
            let words = FollowedTexts.words(in: url).subtracting(sent).sorted()
            leads = words.flatMap { partialLeads[$0] ?? [] }.filter { $0.source != ordinal }
        }
        // Any answer that still leads there shows that the test has decided otherwise.
        for lead in leads where isKept(lead) { return nil }
        let lost = leads.first { answers[$0.source] != nil }
        return lost ?? leads.lazy.compactMap { unmade.contains($0.source) ? reasons[$0.source] : nil }.first
    }

    /// Whether the live answer leads on as the recorded one did.
    private mutating func isKept(_ lead: Lead) -> Bool {
        guard let live = answers[lead.source] else { return false }
        switch lead.sign {
        case .field(let field): return field.successor(in: live, recordedFor: recorded[lead.source].request) != nil
        case .text(let path):
            let texts = liveTexts[lead.source] ?? FollowedTexts(in: live)
            liveTexts[lead.source] = .some(texts)
            return texts?.hasText(at: path) ?? false
        }
    }
}

extension LostRequests {
    /// An answer that no longer leads to requests.
    struct Loss {
        private static let shownCount = 5

        /// The place of the recorded answer.
        let source: Int
        /// The fields that led there; none for texts in JSON.
        let fields: [FollowedField]
        /// The places of the recorded requests.
        let requests: [Int]

        /// The lines that tell the fields and the requests; `shown` redacts a URL, and `name` gives the words for a recorded
        /// request.
        func changes(
            _ recorded: Interaction, _ live: Interaction, shown: (String) -> String, name: (Int) -> String
        ) -> [String] {
            // A status of another class and an answer that broke off tell themselves why the field is missing.
            let isOther = recorded.isOfOtherClass(in: live) || live.failure != nil
            let response = isOther ? nil : live.response
            let changes = response.map { response in fields.map { $0.loss(in: response.fields, shown: shown) } } ?? []
            let subject = requests.count == 1 ? "this recorded request was" : "these recorded requests were"
            let more = requests.count - Self.shownCount
            return changes + ["likely the reason why \(subject) not sent:"]
                + requests.prefix(Self.shownCount).map { "  \(name($0))" } + (more > 0 ? ["  and \(more) more"] : [])
        }
    }
}
