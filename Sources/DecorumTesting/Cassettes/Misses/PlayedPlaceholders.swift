import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// Finds the placeholders that a request has in place of secrets, which a server would refuse.
///
/// A placeholder with a mark is known by it. A short one, such as `1001`, may also be a secret of the test itself, so it
/// counts only if an answer that was played has it at the place of a secret.
enum PlayedPlaceholders {
    /// The first placeholder of a request that the file of a cassette holds too; nil if there is none.
    static func first(in request: RecordedRequest, of cassette: Cassette) -> String? {
        let named = secrets(of: request.url, request.fields, request.body.bytes, cassette.rules)
        let marked = named.filter(\.isMarkedPlaceholder).map(\.bytes) + request.placeholders(named: false)
        if let found = cassette.opened.first(of: marked) { return String(decoding: found, as: UTF8.self) }
        let short = named.filter { !$0.isMarkedPlaceholder && $0.mayBePlaceholder }.map(\.bytes)
        guard !short.isEmpty else { return nil }
        let played = cassette.playedSecrets()
        return short.first(where: played.contains).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The secrets of a message, without the words that are none.
    fileprivate static func secrets(
        of url: String?, _ fields: HTTPFields, _ content: Data, _ rules: CassetteRules
    ) -> [NamedSecret] {
        let noted = NotedSecrets()
        let search = SecretRewriting(rules.redaction, by: noted, allowing: rules.allowedSecrets)
        if let url { _ = search.applied(toURL: url) }
        _ = search.applied(to: fields)
        _ = search.applied(to: content, mediaType: fields[.contentType])
        return noted.secrets
    }

    /// A placeholder without the percent-encoding of its place.
    fileprivate static func plain(_ placeholder: ArraySlice<UInt8>) -> [UInt8] {
        PercentCoding.decode(placeholder, plusIsBlank: false)
    }
}

extension Cassette {
    /// The secrets of the answers that were played.
    fileprivate func playedSecrets() -> Set<[UInt8]> {
        let played = state.withLock { $0.index.played }
        return Set(
            played.flatMap { ordinal -> [[UInt8]] in
                guard let response = try? content.outcome(at: ordinal).response else { return [] }
                return PlayedPlaceholders.secrets(of: nil, response.fields, response.body.bytes, rules).map(\.bytes)
            })
    }
}

extension CassetteContent {
    /// The first of some placeholders that a file holds; in a format without a text, any may come from it.
    fileprivate func first(of placeholders: [[UInt8]]) -> [UInt8]? {
        guard !placeholders.isEmpty, case .file(let reader) = self else { return placeholders.first }
        let held = Set(PseudonymPlaces.all(in: reader.bytes).map { PlayedPlaceholders.plain(reader.bytes[$0]) })
        return placeholders.first(where: held.contains)
    }
}
