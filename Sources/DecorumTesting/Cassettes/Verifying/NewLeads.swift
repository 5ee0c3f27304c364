import HTTPTypes

/// The URLs to which the answers of a verified run lead, and the recorded ones do not: by a field, or by a text of JSON where the
/// recorded answer has none, such as the cursor of a further page.
///
/// A request for such a URL follows from a change of the server. A request for any other URL that has no recording is a
/// change of the test, even where an answer names its URL as the recorded answer did.
struct NewLeads {
    private let matchable: (String) -> String
    /// The words for the last answer that leads to each URL.
    private var words: [String: String] = [:]
    /// The words for the last answer that has each text.
    private var values: [String: String] = [:]

    /// Creates an empty list; `matchable` redacts a URL as for matching.
    init(matchable: @escaping (String) -> String) {
        self.matchable = matchable
    }

    /// The words for the answer that led to a request; nil if there is none.
    func words(to request: RecordedRequest) -> String? {
        words[request.url] ?? FollowedValue.words(in: request.url).lazy.compactMap { values[$0] }.first
    }

    /// Notes the URLs in a live answer, with the values that the run has given up to it; `recorded` is nil for an answer to
    /// a request without a recording.
    mutating func add(_ live: Interaction, inPlaceOf recorded: Interaction?, knowing values: AnswerValues) {
        // Where the test sends another request, other URLs in the answer follow from that.
        guard recorded != nil || words(to: live.request) != nil else { return }
        addValues(live, inPlaceOf: recorded)
        let known = Set((recorded.map { targets(of: $0) } ?? []).map { URLKey.target(of: $0.url) })
        for (name, url) in targets(of: live)
        where known.isDisjoint(with: values.versions(of: url).map { URLKey.target(of: $0) }) {
            words[url] = "the `\(name)` in the answer to \(live.request.method) \(live.request.url) led there"
        }
    }

    private mutating func addValues(_ live: Interaction, inPlaceOf recorded: Interaction?) {
        guard let response = live.response else { return }
        let known = recorded?.response.map(FollowedValue.all) ?? [:]
        for (path, value) in FollowedValue.all(in: response) where known[path] == nil {
            values[value] = "the `\(path)` in the answer to \(live.request.method) \(live.request.url) led there"
        }
    }

    /// The names of the fields that lead to a URL, and the URLs as they are matched.
    private func targets(of interaction: Interaction) -> [(name: String, url: String)] {
        guard let response = interaction.response else { return [] }
        return FollowedField.all(in: response.fields).compactMap { field in
            field.target(from: interaction.request.url).map { (name: field.name, url: matchable($0)) }
        }
    }
}
