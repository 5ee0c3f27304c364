import Decorum
import Foundation
import Synchronization

/// The strategy that notes the placeholders of a request, and replaces nothing.
final class PlayedPlaceholders: SecretReplacing {
    private let found = Mutex<[[UInt8]]>([])

    let readsPaths = false

    /// The first placeholder of a request that a file holds too; nil if there is none.
    static func first(in request: RecordedRequest, of content: CassetteContent, _ rules: CassetteRules) -> String? {
        let placeholders = PlayedPlaceholders()
        let search = SecretRewriting(rules.redaction, by: placeholders, allowing: rules.allowedSecrets)
        _ = search.applied(toURL: request.url)
        _ = search.applied(to: request.fields)
        _ = search.applied(to: request.body.bytes, mediaType: request.fields[.contentType])
        for text in [Array(request.url.utf8), Array(request.body.bytes)] + request.fields.map({ Array($0.value.utf8) })
        {
            placeholders.note(PseudonymPlaces.all(in: text).map { Array(text[$0]) })
        }
        return placeholders.found.withLock { $0 }.first { content.holds($0) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    func replacement(of secret: NamedSecret) -> [UInt8]? {
        if Pseudonym.isPseudonym(secret.bytes) { note([secret.bytes]) }
        return nil
    }

    private func note(_ placeholders: [[UInt8]]) { found.withLock { $0 += placeholders } }

    func leave(_ secret: NamedSecret) {}

    var hasKnown: Bool { false }

    func replacingKnown(in text: [UInt8]) -> [UInt8]? { nil }
}

extension CassetteContent {
    /// Whether a file holds a placeholder; of a format without a text, any may come from it.
    fileprivate func holds(_ placeholder: [UInt8]) -> Bool {
        guard case .file(let reader) = self else { return true }
        guard placeholder.count >= NeedleSearch.minimumLength else {
            return reader.bytes.indices.contains { reader.bytes[$0...].starts(with: placeholder) }
        }
        var search = NeedleSearch()
        search.insert(placeholder, tag: 0)
        return !search.matches(in: reader.bytes).isEmpty
    }
}
