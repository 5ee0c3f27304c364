import HTTPTypes

/// The validator of a response (RFC 9110, section 8.8) that a server no longer sends, or its wish that the response is not stored
/// (RFC 9111, section 5.2.2.5), so that the next request for the same URL is not conditional and gets the whole content.
enum LostValidator {
    /// A recorded answer and the live one, with the words for their request.
    typealias Answer = (name: String, recorded: Interaction, live: Interaction)

    /// The validators, each with the condition of the request that has its value (RFC 9110, section 13.1).
    private static let conditions = [
        (HTTPField.Name.eTag, HTTPField.Name.ifNoneMatch), (.lastModified, .ifModifiedSince),
    ]

    /// The line that names the answer which causes it, the first of some answers; none unless a request without a recorded
    /// condition has content in place of a recorded 304.
    static func drift(
        from recorded: Interaction, to live: Interaction, after answers: some Sequence<Answer>
    ) -> [String] {
        guard recorded.response?.status == 304, live.succeeds else { return [] }
        let lost = conditions.filter { recorded.request.fields.contains($1) && !live.request.fields.contains($1) }
        guard !lost.isEmpty else { return [] }
        for answer in answers {
            guard let old = answer.recorded.response?.fields, let new = answer.live.response?.fields else { continue }
            let name = lost.first { name, _ in old.contains(name) && !new.contains(name) }?.0
            let causes = [
                name.map { "has no `\($0.rawName)` any more" },
                isStored(old) && !isStored(new) ? "has `no-store` in `Cache-Control` now" : nil,
            ].compactMap(\.self)
            guard !causes.isEmpty else { continue }
            return ["validator  the answer to \(answer.name) \(causes.joined(separator: ", and "))"]
        }
        return []
    }

    private static func isStored(_ fields: HTTPFields) -> Bool {
        !(fields[.cacheControl] ?? "").lowercased().split(whereSeparator: { ", ".contains($0) }).contains("no-store")
    }
}
