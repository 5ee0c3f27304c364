import HTTPTypes

/// The validator of a response (RFC 9110, section 8.8) that a server no longer sends, so that the next request for the same URL is
/// not conditional and is answered with the whole content.
enum LostValidator {
    /// A recorded answer and the live one, with the words for their request.
    typealias Answer = (name: String, recorded: Interaction, live: Interaction)

    /// The line that names the answer which lacks the validator; none unless a recorded 304 is another status now.
    static func drift(
        from recorded: Interaction, to live: Interaction, after answers: some Sequence<Answer>
    ) -> [String] {
        guard recorded.response?.status == 304, let status = live.response?.status, status != 304 else { return [] }
        for answer in answers where answer.recorded.request.url == recorded.request.url {
            guard let old = answer.recorded.response?.fields, let new = answer.live.response?.fields,
                let lost = [HTTPField.Name.eTag, .lastModified].first(where: { old.contains($0) && !new.contains($0) })
            else { continue }
            return ["likely since the answer to \(answer.name) has no `\(lost.rawName)` any more"]
        }
        return []
    }
}
