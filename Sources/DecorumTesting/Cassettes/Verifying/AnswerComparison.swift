import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Compares live answers with the recorded ones: status, media type, `Location`, types of events, shape of JSON, and failure.
struct AnswerComparison {
    private static let shownTypeCount = 5
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

    /// The types of events that only one of two streams has, by which a client chooses what it reads.
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
        func shape(_ key: String) -> String {
            Self.erasingIdentifiers(of: key, isUnsafe: isUnsafe, isCreated: isCreated)
        }
        let isSame = [newURL, values.recordedVersion(of: newURL)].compactMap(\.self).contains { url in
            let newKey = KeyTemplates.hiding(key(of: url), as: [oldKey])
            return oldKey == newKey || shape(oldKey) == shape(newKey)
        }
        guard !isSame else { return [] }
        let target = URLKey.target(of: redactor.matchable(url: newURL))
        let hidden = KeyTemplates.hiding(target, as: [URLKey.target(of: redactor.matchable(url: oldURL))])
        return [scanner.masked("field `Location`  was \(shown), is \(hidden)")]
    }

    private func key(of url: String) -> String {
        let target = URLKey.target(of: redactor.matchable(url: url))
        return String(decoding: urlRule.key(RecordedRequest(method: "GET", url: "http://any" + target)), as: UTF8.self)
    }

    /// A URL with a mark in place of each part that a server makes anew in each run: an identifier, a time or a signature.
    private static func erasingIdentifiers(of url: String, isUnsafe: Bool, isCreated: Bool) -> String {
        func isIdentifier(_ part: Substring, anyLength: Bool) -> Bool {
            part.utf8.contains(where: \.isDigit) && (anyLength || part.utf8.count >= identifierLength)
        }
        let path = url.prefix { $0 != "?" }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let erased = segments.enumerated().map { place, segment in
            let isLast = place == segments.count - 1
            // A short word before the end, such as `v1`, may be the name of a version.
            let isNew = isLast && isCreated && !segment.isEmpty || isIdentifier(segment, anyLength: isLast)
            return isUnsafe && isNew ? "#" : segment
        }
        let items = url.dropFirst(path.count + 1).split(separator: "&").map { item in
            let name = item.prefix { $0 != "=" }
            return isIdentifier(item.dropFirst(name.count + 1), anyLength: isUnsafe) ? name + "=#" : item
        }
        return erased.joined(separator: "/") + "?" + items.joined(separator: "&")
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

    var location: String? {
        guard let reference = response?.fields[.location] else { return nil }
        let url = URL(string: request.url).flatMap { URL(string: reference, relativeTo: $0)?.absoluteString }
        return String((url ?? reference).prefix { $0 != "#" })
    }
}

extension RecordedResponse {
    var mediaType: String? { fields[.contentType]?.mediaTypeEssence }
}

indirect enum JSONShape: Hashable {
    case null
    case bool
    case number
    case string
    /// The merged shape of the elements; nil for an empty array.
    case array(JSONShape?)
    /// The merged shapes of members, and the names of members that some of the merged objects lack.
    case object([String: JSONShape], absent: Set<String>)
    /// Values of different kinds in the elements of one array, one of each kind.
    case mixed(Set<JSONShape>)

    init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool: self = .bool
        case .number: self = .number
        case .string: self = .string
        case .array(let elements):
            let shapes = elements.map(JSONShape.init)
            self = .array(shapes.dropFirst().reduce(shapes.first) { $0?.united(with: $1) })
        case .object(let members):
            self = .object(Dictionary(members.map { ($0.name, JSONShape($0.value)) }) { first, _ in first }, absent: [])
        }
    }

    init?(of content: Data) {
        guard let value = try? JSONValue(parsing: Array(content)) else { return nil }
        self.init(value)
    }

    /// The merged shape of the data of the events in a stream, as an array; nil unless an event has JSON.
    init?(ofEvents stream: Data) {
        let values = EventLines.data(in: Array(stream)).compactMap { try? JSONValue(parsing: $0) }
        guard !values.isEmpty else { return nil }
        self.init(.array(values))
    }

    private func united(with other: JSONShape) -> JSONShape {
        switch (self, other) {
        case (let shape, other) where shape == other: return self
        case (.object(let old, let oldAbsent), .object(let new, let newAbsent)):
            let absent = Set(old.keys).symmetricDifference(new.keys)
            return .object(
                old.merging(new) { $0.united(with: $1) }, absent: absent.union(oldAbsent).union(newAbsent))
        case (.array(let old), .array(let new)):
            return .array(old.map { old in new.map { old.united(with: $0) } ?? old } ?? new)
        default:
            let shapes = kinds.merging(other.kinds) { $0.united(with: $1) }
            return .mixed(Set(shapes.values))
        }
    }

    private var kinds: [String: JSONShape] {
        guard case .mixed(let shapes) = self else { return [name: self] }
        return Dictionary(shapes.map { ($0.name, $0) }) { $0.united(with: $1) }
    }

    func drift(to live: JSONShape, path: String = "$") -> [String] {
        switch (self, live) {
        case (let shape, live) where shape == live: return []
        case (.object(let old, let oldAbsent), .object(let new, let newAbsent)):
            let lost = newAbsent.subtracting(oldAbsent)
            return Set(old.keys).union(new.keys).sorted().flatMap { name in
                let path = "\(path).\(name)"
                guard let old = old[name] else { return ["\(path)  is new: \(new[name]?.name ?? "")"] }
                guard let new = new[name] else { return ["\(path)  is missing: was \(old.name)"] }
                return (lost.contains(name) ? ["\(path)  is missing in some elements: was in all"] : [])
                    + old.drift(to: new, path: path)
            }
        case (.array(let old?), .array(let new?)): return old.drift(to: new, path: "\(path)[*]")
        // An empty array matches the shape of any array.
        case (.array, .array): return []
        case (.mixed, .mixed) where name == live.name:
            let new = live.kinds
            return kinds.sorted { $0.key < $1.key }.flatMap { name, shape in
                new[name].map { shape.drift(to: $0, path: path) } ?? []
            }
        default: return ["\(path)  was \(name), is \(live.name)"]
        }
    }

    private var name: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        case .mixed(let shapes): shapes.map(\.name).sorted().joined(separator: " or ")
        }
    }
}
