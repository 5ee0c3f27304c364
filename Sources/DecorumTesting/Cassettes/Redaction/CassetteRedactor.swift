import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Takes secrets out of what is written and of what is matched, in one and the same way.
struct CassetteRedactor: Sendable {
    private let redaction: Redaction
    private let ignoredFields: Set<HTTPField.Name>
    private let form: CassetteRules.Content
    private let pseudonyms: Pseudonyms

    /// Creates a redactor that counts its pseudonyms anew.
    init(_ rules: CassetteRules, continuing text: [UInt8] = []) {
        redaction = rules.redaction
        ignoredFields = rules.ignoredFields
        form = rules.content
        pseudonyms = Pseudonyms()
        pseudonyms.reserve(in: text)
    }

    /// A request as it is matched: with pseudonyms that have no numbers, since those depend on what came before.
    func matchable(_ request: RecordedRequest) -> RecordedRequest {
        var request = request
        if form == .decoded { request.decodeContent() }
        redact(&request)
        request.url = Pseudonym.erased(in: request.url)
        for index in request.fields.indices {
            let value = request.fields[index].value
            let erased = Pseudonym.erased(in: value)
            // To set a field is to copy them all.
            if erased != value { request.fields[index].value = erased }
        }
        if !request.body.bytes.isEmpty, let content = Pseudonym.erased(in: Array(request.body.bytes)) {
            request.body.bytes = Data(content)
        }
        return request
    }

    /// The URL of a request, as it is matched.
    func matchable(url: String) -> String {
        Pseudonym.erased(in: redaction.applied(toURL: url, naming: pseudonyms))
    }

    /// Interactions as they are written.
    ///
    /// They are gone through twice, since a secret may stand in one before a later one tells that it is a secret.
    func redacted(_ interactions: [Interaction]) -> [Interaction] {
        interactions.map(redacted).map(redacted)
    }

    /// Where secrets stand that have a pseudonym elsewhere.
    func knownSecrets(in bytes: [UInt8]) -> [Range<Int>] {
        pseudonyms.knownSecrets(in: bytes)
    }

    /// Tells whether anything in content would have to be replaced.
    func isRedacted(_ content: Data, mediaType: String?) -> Bool {
        redaction.applied(to: content, mediaType: mediaType, naming: pseudonyms) == content
    }

    private func redacted(_ interaction: Interaction) -> Interaction {
        var interaction = interaction
        redact(&interaction.request)
        guard var response = interaction.response else { return interaction }
        for name in ignoredFields { response.fields[name] = nil }
        response.body = redacted(response.body, response.fields)
        response.fields = redacted(response.fields)
        response.trailers = redacted(response.trailers)
        for index in response.informational.indices {
            response.informational[index].fields = redacted(response.informational[index].fields)
        }
        // The answer to HEAD tells the length of another content, and a broken one that of the whole.
        let isWhole = interaction.request.method != "HEAD" && response.status != 304 && interaction.failure == nil
        if isWhole, response.fields[.contentLength] != nil {
            response.fields[.contentLength] = String(response.body.bytes.count)
        }
        interaction.response = response
        return interaction
    }

    // In place, since copies of a request take as long as all that is looked at in most of them.
    private func redact(_ request: inout RecordedRequest) {
        request.url = redaction.applied(toURL: request.url, naming: pseudonyms)
        if !request.body.bytes.isEmpty { request.body = redacted(request.body, request.fields) }
        if !request.fields.isEmpty { request.fields = redacted(request.fields) }
        if !request.trailers.isEmpty { request.trailers = redacted(request.trailers) }
    }

    private func redacted(_ body: RecordedBody, _ fields: HTTPFields) -> RecordedBody {
        guard !body.bytes.isEmpty else { return body }
        var body = body
        body.bytes = redaction.applied(to: body.bytes, mediaType: fields[.contentType], naming: pseudonyms)
        return body
    }

    private func redacted(_ fields: HTTPFields) -> HTTPFields {
        guard !fields.isEmpty else { return fields }
        var fields = redaction.applied(to: fields, naming: pseudonyms)
        // The mark says that the value was secret, which it no longer is.
        for index in fields.indices where fields[index].indexingStrategy == .disallow {
            fields[index].indexingStrategy = .automatic
        }
        return fields
    }
}
