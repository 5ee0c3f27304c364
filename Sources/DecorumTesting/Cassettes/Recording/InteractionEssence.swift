import Decorum
import Foundation
import HTTPTypes

/// The part of an interaction that stays when the same traffic is recorded again.
///
/// A recording leaves out what is made anew for each run: dates, the rest of a rate limit, the order of the members of a JSON body, the boundary of
/// a multipart body, identifiers of requests, and whatever the rules of matching ignore in a URL and in a body. Where
/// placeholders are erased, it also leaves out their form, since random secrets of one kind may differ in it.
struct InteractionEssence: Equatable {
    private let interaction: Interaction
    private let requestBody: [UInt8]
    private let placeholders: ErasedPlaceholders

    init(_ interaction: Interaction, _ rules: CassetteRules, erasingPlaceholders: Bool) {
        var interaction = interaction
        interaction.recordedAt = nil
        interaction.tests = []
        let mediaType = interaction.request.fields[.contentType]
        let ignoredPaths = rules.matching.first { $0.subject == .body }?.ignoredPaths ?? .none
        var body = BodyKey.key(of: interaction.request.body.bytes, mediaType: mediaType, ignoring: ignoredPaths)
        if let rule = rules.matching.first(where: { $0.subject == .url }) {
            interaction.request.url = String(decoding: rule.key(interaction.request), as: UTF8.self)
        }
        if ContentKind(mediaType: mediaType) == .multipart {
            interaction.request.fields[.contentType] = mediaType.map { String($0.prefix { $0 != ";" }) }
            interaction.request.fields[.contentLength] = nil
        }
        interaction.request.body.bytes = Data()
        for name in CassetteRules.volatileRequestFields.union(rules.ignoredFields) {
            interaction.request.fields[name] = nil
        }
        interaction.response?.chunks = []
        for name in Self.responseFields { interaction.response?.fields[name] = nil }
        var erased = ErasedPlaceholders()
        if erasingPlaceholders {
            interaction.erasePlaceholders(into: &erased)
            body = erased.erase(in: body) ?? body
        }
        placeholders = erased
        self.interaction = interaction
        requestBody = body
    }

    private static let responseFields: [HTTPField.Name] =
        [.date, .age, .expires, .lastModified]
        // The end and the rest of a rate limit are others at each time.
        + ["RateLimit", "RateLimit-Reset", "RateLimit-Remaining"]
        .flatMap { [$0, "X-\($0)"] }.compactMap { HTTPField.Name($0) }
}
