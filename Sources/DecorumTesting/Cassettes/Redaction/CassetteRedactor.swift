import Decorum
import Foundation
import HTTPTypes

/// Takes secrets out of what is written and of what is matched, in one and the same way.
struct CassetteRedactor: Sendable {
    private let rules: CassetteRules

    init(_ rules: CassetteRules) {
        self.rules = rules
    }

    /// A request of which only the method and the URL count.
    func redacted(target: RecordedRequest) -> RecordedRequest {
        var target = target
        target.url = rules.redaction.applied(toURL: target.url)
        return target
    }

    func redacted(_ request: RecordedRequest) -> RecordedRequest {
        var request = redacted(target: request)
        let mediaType = request.fields[.contentType]
        request.fields = rules.redaction.applied(to: request.fields)
        request.trailers = rules.redaction.applied(to: request.trailers)
        request.body.bytes = rules.redaction.applied(to: request.body.bytes, mediaType: mediaType)
        return request
    }

    /// What is written of an exchange; nil where the rules keep it off the cassette.
    func recorded(_ interaction: Interaction) throws -> Interaction? {
        guard var interaction = rules.beforeRecording.map({ $0(interaction) }) ?? interaction else { return nil }
        interaction.request = redacted(interaction.request)
        guard var response = interaction.response else { return interaction }
        let mediaType = response.fields[.contentType]
        for name in rules.ignoredFields { response.fields[name] = nil }
        response.fields = rules.redaction.applied(to: response.fields)
        response.trailers = rules.redaction.applied(to: response.trailers)
        response.body.bytes = rules.redaction.applied(to: response.body.bytes, mediaType: mediaType)
        response.informational = response.informational.map {
            .init(status: $0.status, fields: rules.redaction.applied(to: $0.fields))
        }
        if response.fields[.contentLength] != nil, interaction.request.method != "HEAD", interaction.failure == nil {
            response.fields[.contentLength] = String(response.body.bytes.count)
        }
        interaction.response = response
        return interaction
    }
}
