import HTTPTypes

/// The validator of a response (RFC 9110, section 8.8) that a server no longer sends, so that the next request for the same URL is
/// not conditional and is answered with the whole content.
enum LostValidator {
    /// A recorded answer and the live one, with the words for their request.
    typealias Answer = (name: String, recorded: Interaction, live: Interaction)

    /// The validators, each with the condition of the request that has its value (RFC 9110, section 13.1).
    private static let conditions = [
        (HTTPField.Name.eTag, HTTPField.Name.ifNoneMatch), (.lastModified, .ifModifiedSince),
    ]

    /// The line that names the answer which lacks the validator, the first of some answers; none unless a request without a
    /// recorded condition has content in place of a recorded 304.
    static func drift(
        from recorded: Interaction, to live: Interaction, after answers: some Sequence<Answer>
    ) -> [String] {
        guard recorded.response?.status == 304, live.succeeds else { return [] }
        let lost = conditions.filter { recorded.request.fields.contains($1) && !live.request.fields.contains($1) }
        for answer in answers {
            guard let old = answer.recorded.response?.fields, let new = answer.live.response?.fields,
                let (name, _) = lost.first(where: { name, _ in old.contains(name) && !new.contains(name) })
            else { continue }
            return ["validator  the answer to \(answer.name) has no `\(name.rawName)` any more"]
        }
        return []
    }
}
