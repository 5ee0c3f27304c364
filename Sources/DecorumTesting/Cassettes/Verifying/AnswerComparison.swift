import Decorum
import Foundation
import HTTPTypes

/// Compares live answers with the recorded ones: status, media type, `Location`, types of events, shape of JSON, and failure.
struct AnswerComparison {
    private static let shownTypeCount = 5
    /// The largest number of characters of content that are shown.
    private static let excerptLimit = 160
    /// A shorter part of a URL may equal another one by chance.
    private static let identifierLength = 6

    private let redactor: CassetteRedactor
    private let scanner: SecretScanner
    /// The rule by which the URLs of requests match, which may ignore items of the query.
    private let urlRule: MatchingRule

    init(of cassette: Cassette, masking scanner: SecretScanner) {
        redactor = cassette.redactor
        self.scanner = scanner
        urlRule = cassette.rules.matching.first { $0.subject == .url } ?? .pathAndQuery
    }

    /// The differences of a live exchange to the recorded one, as lines without values; `values` has the values of the run.
    func changes(from recorded: Interaction, to live: Interaction, knowing values: RunValues) -> [String] {
        var changes: [String] = []
        let isSameFailure = recorded.exchangeFailure == live.exchangeFailure
        if !isSameFailure {
            let kinds = [recorded, live].map { $0.failure?.kind ?? "a response" }
            changes.append("outcome  was \(kinds[0]), is \(kinds[1])")
        }
        guard let old = recorded.response, let new = live.response else { return changes }
        if old.status != new.status { changes.append("status  was \(old.status), is \(new.status)") }
        let isSameClass = old.status / 100 == new.status / 100
        // These statuses tell themselves that there is no content (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5).
        let isEmpty = [old.status, new.status].contains { [204, 205, 304].contains($0) }
        if old.mediaType != new.mediaType, old.status == new.status || !isEmpty {
            changes.append("media type  was \(old.mediaType ?? "nothing"), is \(new.mediaType ?? "nothing")")
        }
        if isSameClass { changes += locationChange(from: recorded, to: live, knowing: values) }
        if isSameClass, isSameFailure || live.exchangeFailure == nil {
            let isCut = recorded.failure != nil || live.failure != nil
            changes += contentChanges(from: old, to: new, isCut: isCut)
        }
        if old.status != new.status, new.status >= 400 || !isSameClass, let excerpt = excerpt(of: new) {
            changes.append("content  \(excerpt)")
        }
        return changes
    }

    private func contentChanges(from old: RecordedResponse, to new: RecordedResponse, isCut: Bool) -> [String] {
        let isStream = [old, new].allSatisfy { $0.mediaType == "text/event-stream" }
        let (shape, newShape) =
            isStream
            ? (JSONShape(ofEvents: old.body.bytes), JSONShape(ofEvents: new.body.bytes))
            : (JSONShape(of: old.body.bytes), JSONShape(of: new.body.bytes))
        // A stream that was cut may end before an event of each type.
        let types = isStream && !isCut ? Self.typeChange(from: old.body.bytes, to: new.body.bytes) : []
        switch (shape, newShape) {
        case (let old?, let new?): return types + old.drift(to: new, path: isStream ? "events" : "$")
        // Another media type tells already that the content is JSON, or is not.
        case (_?, nil) where old.mediaType == new.mediaType: return types + ["content  was JSON, is not"]
        case (nil, _?) where old.mediaType == new.mediaType: return types + ["content  was not JSON, is now"]
        default: return types
        }
    }

    /// The types of events that only one of two streams has, by which a client chooses what it reads (WHATWG HTML, section
    /// 9.2.6).
    private static func typeChange(from old: Data, to new: Data) -> [String] {
        let (old, new) = (EventLines(Array(old)).typeNames, EventLines(Array(new)).typeNames)
        guard !old.isEmpty, !new.isEmpty else { return [] }
        return [(old.subtracting(new), "missing"), (new.subtracting(old), "new")].compactMap { types, change in
            guard !types.isEmpty else { return nil }
            let names = types.sorted().prefix(shownTypeCount).map { "“\($0.withoutControls)”" }.joined(separator: ", ")
            let more = types.count > shownTypeCount ? " and \(types.count - shownTypeCount) more" : ""
            return "events  \(change) types: \(names)\(more)"
        }
    }

    /// The beginning of the redacted content on one line, masked; nil without content.
    private func excerpt(of response: RecordedResponse) -> String? {
        let bytes = response.body.bytes
        guard !bytes.isEmpty else { return nil }
        // In an archive or a binary format, a secret has no name and is not found.
        guard !response.fields.contains(.contentEncoding), !bytes.contains(0),
            !UnsearchedContent.includes(Array(bytes), mediaType: response.fields[.contentType]),
            let text = String(validating: bytes, as: UTF8.self)
        else { return "\(bytes.count) bytes" }
        // Nothing may be cut off before secrets are masked.
        let words = scanner.masked(text).split(whereSeparator: \.isWhitespace)
        let line = words.joined(separator: " ").withoutControls
        return line.count > Self.excerptLimit ? String(line.prefix(Self.excerptLimit - 1)) + "…" : line
    }
}

extension AnswerComparison {
    /// The difference of the URLs in `Location` (RFC 9110, section 10.2.2).
    ///
    /// The origin is not compared, since a test may run against another server. An identifier may be another one if an
    /// earlier answer of the run has given it, and in the answer to an unsafe method, which may have created something.
    private func locationChange(
        from recorded: Interaction, to live: Interaction, knowing values: RunValues
    ) -> [String] {
        guard let oldURL = recorded.location else { return [] }
        let shown = URLKey.target(of: redactor.shown(url: oldURL))
        guard let newURL = live.location else { return ["field `Location`  is missing: was \(shown)"] }
        let oldKey = key(of: oldURL)
        let isUnsafe = HTTPRequest.Method(live.request.method).map { !$0.isSafe } ?? true
        let isCreated = live.response?.status == 201
        let isSame = [newURL, values.recordedVersion(of: newURL)].compactMap(\.self).contains { url in
            let newKey = KeyTemplates.hiding(key(of: url), as: [oldKey])
            return oldKey == newKey
                || Self.areAlike(oldKey, newKey, isUnsafe: isUnsafe, isCreated: isCreated)
        }
        guard !isSame else { return [] }
        let target = URLKey.target(of: redactor.matchable(url: newURL))
        let hidden = KeyTemplates.hiding(target, as: [URLKey.target(of: redactor.matchable(url: oldURL))])
        return [scanner.masked("field `Location`  was \(shown), is \(hidden)")]
    }

    /// The normal form of the path and the query of a URL.
    private func key(of url: String) -> String {
        let target = URLKey.target(of: redactor.matchable(url: url))
        return String(decoding: urlRule.key(RecordedRequest(method: "GET", url: "http://any" + target)), as: UTF8.self)
    }

    /// Whether two URLs have the same parts, except for parts that a server makes anew in each run.
    private static func areAlike(_ old: String, _ new: String, isUnsafe: Bool, isCreated: Bool) -> Bool {
        let parts = [old, new].map { $0.split(separator: "?", maxSplits: 1) }
        let paths = parts.map { ($0.first ?? "").split(separator: "/", omittingEmptySubsequences: false) }
        let items = parts.map { ($0.dropFirst().first ?? "").split(separator: "&") }
        guard paths[0].count == paths[1].count, items[0].count == items[1].count else { return false }
        let areSegmentsAlike = zip(paths[0], paths[1]).enumerated().allSatisfy { place, pair in
            let isLast = place == paths[0].count - 1
            if pair.0 == pair.1 { return true }
            guard isUnsafe, !pair.0.isEmpty, !pair.1.isEmpty else { return false }
            // A short word before the end, such as `v1`, may be that of a version.
            return isLast && isCreated || areIdentifiers(pair.0, pair.1, anyLength: isLast)
        }
        return areSegmentsAlike
            && zip(items[0], items[1]).allSatisfy { one, other in
                let pairs = [one, other].map { $0.split(separator: "=", maxSplits: 1) }
                return one == other
                    || pairs[0].first == pairs[1].first
                        && areIdentifiers(pairs[0].last ?? "", pairs[1].last ?? "", anyLength: isUnsafe)
            }
    }

    /// Whether two parts of a URL are identifiers, times or signatures: numbers, or longer words with a digit.
    private static func areIdentifiers(_ old: Substring, _ new: Substring, anyLength: Bool) -> Bool {
        [old, new].allSatisfy { part in
            part.utf8.contains(where: \.isDigit) && (anyLength || part.utf8.count >= identifierLength)
        }
    }
}

extension Interaction {
    /// The failure of the exchange itself; the end of a recording is not one.
    var exchangeFailure: RecordedFailure? { failure?.isCut == true ? nil : failure }

    /// Whether the server fails or asks to wait, so that clients send the request again: no whole response, 429, or 5xx.
    var isServerFailure: Bool {
        if let failure = exchangeFailure { return failure.kind != RecordedFailure.cancelled }
        return response.map { $0.status == 429 || $0.status >= 500 } ?? false
    }

    /// The whole URL in `Location`, without its fragment; nil without the field.
    var location: String? {
        guard let reference = response?.fields[.location] else { return nil }
        let url = URL(string: request.url).flatMap { URL(string: reference, relativeTo: $0)?.absoluteString }
        return String((url ?? reference).prefix { $0 != "#" })
    }
}

extension RecordedResponse {
    /// The media type without its parameters, in lower case; nil without `Content-Type`.
    var mediaType: String? { fields[.contentType]?.mediaTypeEssence }
}
