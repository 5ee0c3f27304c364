import HTTPTypes

/// The validator of a response (RFC 9110, section 8.8) that a server no longer sends, or its wish that the response is not stored
/// (RFC 9111, section 5.2.2.5), so that the next request for the same URL is not conditional and gets the whole content.
struct LostValidator {
    /// A recorded answer and the live one, with the words for their request.
    typealias Answer = (name: String, recorded: Interaction, live: Interaction)

    /// The validators, each with the condition of the request that has its value (RFC 9110, section 13.1).
    private static let conditions = [
        (HTTPField.Name.eTag, HTTPField.Name.ifNoneMatch), (.lastModified, .ifModifiedSince),
    ]

    /// The validators whose recorded condition the live request lacks.
    private let validators: [HTTPField.Name]

    /// Compares two exchanges: validators are lost only where a request has content in place of a recorded 304.
    init(from recorded: Interaction, to live: Interaction) {
        guard recorded.response?.status == 304, live.succeeds else {
            validators = []
            return
        }
        validators = Self.conditions
            .filter { recorded.request.fields.contains($1) && !live.request.fields.contains($1) }.map(\.0)
    }

    var isLost: Bool { !validators.isEmpty }

    /// The line that names the answer which causes it, the first of some earlier answers for the same URL; none if no answer
    /// does.
    func drift(after answers: some Sequence<Answer>) -> [String] {
        for answer in answers {
            guard let old = answer.recorded.response?.fields, let new = answer.live.response?.fields else { continue }
            let name = validators.first { old.contains($0) && !new.contains($0) }
            let causes = [
                name.map { "has no `\($0.rawName)` any more" },
                Self.isStored(old) && !Self.isStored(new) ? "has `no-store` in `Cache-Control` now" : nil,
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
