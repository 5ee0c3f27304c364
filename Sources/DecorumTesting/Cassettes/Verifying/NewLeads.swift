import HTTPTypes

/// The URLs to which the answers of a verified run lead, and the recorded ones do not: by a field, or by a text of JSON where the
/// recorded answer has none, such as the cursor of a further page.
///
/// A request for such a URL follows from a change of the server. A request for any other URL that has no recording is a
/// change of the test, even where an answer names its URL as the recorded answer did.
struct NewLeads {
    /// An answer that leads to a request.
    private struct Lead {
        let words: String
        /// The JSON path of the text; nil for a field.
        var path: String?
    }

    private let matchable: (String) -> String
    /// The last answer that leads to each URL.
    private var urls: [String: Lead] = [:]
    /// The last answer that has each text.
    private var texts: [String: Lead] = [:]
    /// The parts of the URLs that were requested: a text that repeats one of them leads nowhere.
    private var sent: Set<String> = []

    /// Creates an empty list; `matchable` redacts a URL as for matching.
    init(matchable: @escaping (String) -> String) {
        self.matchable = matchable
    }

    /// The words for the answer that led to a request; nil if there is none.
    func words(to request: RecordedRequest) -> String? { lead(to: request)?.words }

    private func lead(to request: RecordedRequest) -> Lead? {
        urls[request.url] ?? FollowedTexts.words(in: request.url).sorted().lazy.compactMap { texts[$0] }.first
    }

    /// Notes the URLs in a live answer, with the values that the run has given up to it; `recorded` is nil for an answer to
    /// a request without a recording.
    mutating func add(_ live: Interaction, inPlaceOf recorded: Interaction?, knowing values: AnswerValues) {
        let lead = lead(to: live.request)
        sent.formUnion(FollowedTexts.words(in: live.request.url))
        // Where the test sends another request, other URLs in the answer follow from that.
        guard recorded != nil || lead != nil else { return }
        addTexts(in: live, inPlaceOf: recorded, ledBy: lead)
        let known = Set((recorded.map { targets(of: $0) } ?? []).map { URLKey.target(of: $0.url) })
        for (name, url) in targets(of: live)
        where known.isDisjoint(with: values.versions(of: url).map { URLKey.target(of: $0) }) {
            urls[url] = Lead(words: words(for: name, in: live))
        }
    }

    /// Notes the texts that the recorded answer has not; an answer to a request without a recording leads on by the text that has
    /// led to it.
    private mutating func addTexts(in live: Interaction, inPlaceOf recorded: Interaction?, ledBy lead: Lead?) {
        guard let found = FollowedTexts(in: live) else { return }
        let known = recorded.flatMap { FollowedTexts(in: $0) }
        for (path, text) in found.parts where !sent.contains(text) {
            guard known.map({ !$0.hasText(at: path) }) ?? (recorded == nil && path == lead?.path) else { continue }
            let lead = Lead(words: words(for: path, in: live), path: path)
            if let url = FollowedTexts.target(of: text, from: live.request.url) {
                urls[matchable(url)] = lead
            } else {
                texts[text] = lead
            }
        }
    }

    private func words(for name: String, in live: Interaction) -> String {
        "the `\(name)` in the answer to \(live.request.method) \(live.request.url) led there"
    }

    /// The names of the fields that lead to a URL, and the URLs as they are matched.
    private func targets(of interaction: Interaction) -> [(name: String, url: String)] {
        guard let response = interaction.response else { return [] }
        return FollowedField.all(in: response.fields).compactMap { field in
            field.target(from: interaction.request.url).map { (name: field.name, url: matchable($0)) }
        }
    }
}
