import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Removes secrets from interactions, in the same way for writing and for matching.
struct CassetteRedactor: Sendable {
    private let rewriting: SecretRewriting
    private let matching: SecretRewriting
    private let ignoredFields: Set<HTTPField.Name>
    private let form: CassetteRules.Content
    private let redaction: Redaction
    private let allowances: [SecretAllowance]
    private let pseudonyms: Pseudonyms

    /// Creates a redactor that counts its pseudonyms anew.
    init(_ rules: CassetteRules, continuing text: [UInt8] = []) {
        ignoredFields = rules.ignoredFields
        form = rules.content
        redaction = rules.redaction
        allowances = rules.allowedSecrets
        pseudonyms = Pseudonyms()
        rewriting = SecretRewriting(rules.redaction, by: pseudonyms, allowing: rules.allowedSecrets)
        matching = SecretRewriting(rules.redaction, by: Pseudonyms(for: .matching), allowing: rules.allowedSecrets)
        pseudonyms.reserve(in: text)
    }

    /// A request as it is matched: with the same text for every secret, because pseudonyms differ in two runs.
    func matchable(_ request: RecordedRequest) -> RecordedRequest {
        var request = request
        if form == .decoded { request.decodeContent() }
        redact(&request, by: matching)
        request.url = Pseudonym.erased(in: request.url, isCoded: true)
        for index in request.fields.indices {
            let value = request.fields[index].value
            let erased = Pseudonym.erased(in: value)
            // Setting a field copies all fields.
            if erased != value { request.fields[index].value = erased }
        }
        guard !request.body.bytes.isEmpty else { return request }
        let content = Array(request.body.bytes)
        let isForm = ContentKind(mediaType: request.fields[.contentType]) == .form
        if let erased = Pseudonym.erased(in: content, isCoded: isForm) {
            request.body.bytes = Data(erased)
        }
        return request
    }

    /// A recorded request as a message shows it: with the placeholders of the file, and without any other secret.
    func shown(_ request: RecordedRequest) -> RecordedRequest {
        var request = request
        if form == .decoded { request.decodeContent() }
        redact(&request, by: showing)
        return request
    }

    /// A recording as a message shows it: with the placeholders of the file, and without any other secret.
    func shown(_ interaction: Interaction) -> Interaction {
        var interaction = interaction
        if form == .decoded { interaction.decodeContent() }
        return redacted(interaction, by: showing)
    }

    /// The URL of a recording as a message shows it: with the placeholders of the file, and without any other secret.
    func shown(url: String) -> String {
        showing.applied(toURL: url)
    }

    private var showing: SecretRewriting {
        SecretRewriting(redaction, by: Pseudonyms(for: .showing), allowing: allowances)
    }

    /// The interaction with its request as it is matched.
    func matchable(_ interaction: Interaction) -> Interaction {
        var interaction = interaction
        interaction.request = matchable(interaction.request)
        return interaction
    }

    /// The URL of a request, as it is matched.
    func matchable(url: String) -> String {
        Pseudonym.erased(in: matching.applied(toURL: url), isCoded: true)
    }

    /// The values that were replaced.
    var replacements: [SecretReplacement] { pseudonyms.list }

    /// The values that the rules have left.
    var left: Set<[UInt8]> { pseudonyms.left }

    /// Interactions as they are written.
    ///
    /// They are redacted twice, because a secret may occur in one before a later one marks it as a secret. Before that,
    /// all secrets are noted, so that none of them is taken for a placeholder.
    func redacted(_ interactions: [Interaction]) -> [Interaction] {
        let noted = Pseudonyms(for: .noting)
        let search = SecretRewriting(redaction, by: noted, allowing: allowances)
        for interaction in interactions { _ = redacted(interaction, by: search) }
        pseudonyms.avoid(noted.noted)
        return interactions.map { redacted($0, by: rewriting) }.map { redacted($0, by: rewriting) }
    }

    /// The ranges of secrets that have a pseudonym elsewhere.
    func knownSecrets(in bytes: [UInt8]) -> [Range<Int>] { pseudonyms.known.places(in: bytes) }

    /// Whether content is redacted already, so that nothing in it has to be replaced.
    func isRedacted(_ content: Data, mediaType: String?) -> Bool {
        rewriting.applied(to: content, mediaType: mediaType) == content
    }

    private func redacted(_ interaction: Interaction, by rewriting: SecretRewriting) -> Interaction {
        var interaction = interaction
        redact(&interaction.request, by: rewriting)
        guard var response = interaction.response else { return interaction }
        for name in ignoredFields { response.fields[name] = nil }
        if let name = OpaqueValues.name(
            of: response.body.bytes, mediaType: response.fields[.contentType], answering: interaction.request.url,
            redaction.rules)
        {
            response.body.bytes = rewriting.applied(toWordIn: response.body.bytes, named: name)
        }
        if !response.reason.isEmpty {
            // A server writes any text there, such as a token that it refuses.
            let reason = rewriting.applied(to: Data(response.reason.utf8), mediaType: "text/plain")
            response.reason = String(decoding: reason, as: UTF8.self)
        }
        response.body.bytes = rewriting.applied(to: response.body.bytes, mediaType: response.fields[.contentType])
        response.fields = redacted(response.fields, by: rewriting)
        response.trailers = redacted(response.trailers, by: rewriting)
        for index in response.informational.indices {
            response.informational[index].fields = redacted(
                response.informational[index].fields, by: rewriting)
        }
        // The response to HEAD has the length of another response's content, and a broken response that of the whole
        // content.
        let isWhole = interaction.request.method != "HEAD" && response.status != 304 && interaction.failure == nil
        if isWhole, response.fields[.contentLength] != nil {
            response.fields[.contentLength] = String(response.body.bytes.count)
        }
        interaction.response = response
        return interaction
    }

    // Works in place, because copying a request takes as long as examining most of them.
    private func redact(_ request: inout RecordedRequest, by rewriting: SecretRewriting) {
        request.url = rewriting.applied(toURL: request.url)
        if !request.body.bytes.isEmpty {
            request.body.bytes = rewriting.applied(
                to: request.body.bytes, mediaType: request.fields[.contentType])
        }
        if !request.fields.isEmpty { request.fields = redacted(request.fields, by: rewriting) }
        if !request.trailers.isEmpty { request.trailers = redacted(request.trailers, by: rewriting) }
    }

    private func redacted(_ fields: HTTPFields, by rewriting: SecretRewriting) -> HTTPFields {
        guard !fields.isEmpty else { return fields }
        var fields = rewriting.applied(to: fields)
        // The mark means that the value is secret, which it no longer is.
        for index in fields.indices where fields[index].indexingStrategy == .disallow {
            fields[index].indexingStrategy = .automatic
        }
        return fields
    }
}
