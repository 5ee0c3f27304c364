import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The recorded requests of a cassette as they are matched, with which a request is compared.
struct RecordedRequests: Sendable {
    let requests: [RecordedRequest]
    let scanner: SecretScanner
    private let keys: [[[UInt8]]]
    private let rules: [MatchingRule]
    private let content: CassetteContent
    private let redactor: CassetteRedactor

    init(of cassette: Cassette) throws {
        let (content, redactor, rules) = (cassette.content, cassette.redactor, cassette.rules.matching)
        let requests = try (0..<content.count).map { redactor.matchable(try content.request(at: $0)) }
        (self.content, self.redactor, self.rules, self.requests) = (content, redactor, rules, requests)
        keys = requests.map { request in rules.map { $0.key(request) } }
        scanner = SecretScanner(cassette.rules)
    }

    func keys(of live: RecordedRequest) -> [[UInt8]] { rules.map { $0.key(live) } }

    /// The request without a secret that has no name, which is recognized by its place in the URLs of recorded requests.
    func hidingSecrets(of live: RecordedRequest) -> RecordedRequest {
        var live = live
        live.url = KeyTemplates.hiding(live.url, as: requests.lazy.map(\.url))
        return live
    }

    func nearness(_ ordinal: Int, _ live: RecordedRequest, _ keys: [[UInt8]]) -> RequestNearness {
        let agreeing = zip(self.keys[ordinal], keys).count { KeyTemplates.agree(recorded: $0, $1) }
        return RequestNearness(requests[ordinal].url, live.url, agreeing: agreeing)
    }

    func matches(_ ordinal: Int, _ keys: [[UInt8]]) -> Bool {
        zip(self.keys[ordinal], keys).allSatisfy { KeyTemplates.agree(recorded: $0, $1) }
    }

    func shown(_ ordinal: Int) throws -> RecordedRequest { redactor.shown(try content.request(at: ordinal)) }

    func difference(_ ordinal: Int, _ live: RecordedRequest) throws -> RequestDifference {
        RequestDifference(requests[ordinal], live, rules: rules, masking: scanner, shown: try shown(ordinal))
    }
}

struct RequestDifference {
    let disagreements: [(rule: String, lines: [String])]
    let agreements: [String]

    /// Compares two requests, redacted as for matching; `shown` is the recorded one with the placeholders of its file.
    init(
        _ recorded: RecordedRequest, _ live: RecordedRequest, rules: [MatchingRule], masking scanner: SecretScanner,
        shown: RecordedRequest? = nil
    ) {
        let lines = RequestLines(scanner: scanner, shown: shown)
        var disagreements: [(String, [String])] = []
        var agreements: [String] = []
        // The contents of requests to two addresses with two methods often have nothing in common to compare.
        let isCompared = RequestNearness.haveSameAddress(recorded.url, live.url) || recorded.method == live.method
        for rule in rules {
            let keys = (rule.key(recorded), rule.key(live))
            if KeyTemplates.agree(recorded: keys.0, keys.1) {
                agreements.append(rule.name)
            } else {
                let isShown = isCompared || rule.subject != .body
                disagreements.append((rule.name, isShown ? lines.of(rule, recorded, live, keys) : []))
            }
        }
        self.disagreements = disagreements
        self.agreements = agreements
    }

    var ruleCount: Int { agreements.count + disagreements.count }

    var lines: [String] {
        disagreements.flatMap { rule, lines in ["\(rule)  differs"] + lines.map { "  \($0)" } }
    }

    func text(heading: String) -> String {
        (["\(heading), \(agreements.count) of \(ruleCount) rules agree"]
            + (agreements.map { "\($0)  same" } + lines).map { "  \($0)" }).joined(separator: "\n")
    }
}

/// The similarity of two requests: the number of rules that agree, and then the similarity of the URLs.
///
/// Two queries of one address are more similar than two addresses. The fewer items differ, the nearer a query is. An item
/// with another value, such as the number of a page, is a smaller difference than an item that only one of both has.
struct RequestNearness: Comparable {
    private let agreeing: Int
    private let rank: Int
    private let detail: Int

    init(_ recorded: String, _ live: String, agreeing: Int) {
        self.agreeing = agreeing
        guard Self.haveSameAddress(recorded, live) else {
            rank = 0
            // A path may have changed at its start, as from `/items` to `/v2/items`, and at its end.
            let start = zip(recorded.utf8, live.utf8).prefix { $0 == $1 }.count
            let end = zip(recorded.utf8.reversed(), live.utf8.reversed()).prefix { $0 == $1 }.count
            detail = min(start + end, recorded.utf8.count, live.utf8.count)
            return
        }
        let (old, new) = (QueryItems(recorded[...]), QueryItems(live[...]))
        let (gone, added) = (old.names(notIn: new), new.names(notIn: old))
        rank = 1
        // The number of names in both lists, each as often as in the list that has it less often.
        var left = Dictionary(added.map { ($0, 1) }, uniquingKeysWith: +)
        let sharedCount = gone.count { name in
            guard let number = left[name], number > 0 else { return false }
            left[name] = number - 1
            return true
        }
        detail = 3 * sharedCount - 2 * (gone.count + added.count)
    }

    static func address(of url: String) -> Substring { url.prefix { $0 != "?" && $0 != "#" } }

    static func haveSameAddress(_ one: String, _ other: String) -> Bool { address(of: one) == address(of: other) }

    static func < (one: Self, other: Self) -> Bool {
        (one.agreeing, one.rank, one.detail) < (other.agreeing, other.rank, other.detail)
    }
}

struct QueryItems {
    let all: [Substring]
    private let known: Set<Substring>

    init(_ url: Substring) {
        let query = url.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
        all = query.split(separator: "&")
        known = Set(all)
    }

    func items(notIn other: QueryItems) -> [Substring] { all.filter { !other.known.contains($0) } }

    func names(notIn other: QueryItems) -> [Substring] { items(notIn: other).map(Self.name) }

    static func name(of item: Substring) -> Substring { item.prefix { $0 != "=" } }
}

/// The lines that describe the differences of two requests, as they may be shown to a person.
///
/// Requests are redacted before this. A secret without a name is masked here, in the whole text and before anything is
/// cut off.
struct RequestLines {
    static let limit = 8

    let scanner: SecretScanner
    /// The recorded request with the placeholders of its file; nil to show it as it is compared.
    var shown: RecordedRequest?

    /// The lines for a rule by which the requests do not agree; `keys` has the keys of the rule for both.
    func of(
        _ rule: MatchingRule, _ recorded: RecordedRequest, _ live: RecordedRequest, _ keys: ([UInt8], [UInt8])
    ) -> [String] {
        switch rule.subject {
        case .method: [change(recorded.method, live.method)]
        // The keys are URLs without the items that the rule ignores, and in one spelling.
        case .url: url(masked(keys.0), masked(keys.1))
        case .body: ContentLines(lines: self, ignoredPaths: rule.ignoredPaths).of(recorded, live)
        case .other: [change(masked(keys.0), masked(keys.1))]
        }
    }

    /// Both texts, masked and shortened; nil or an empty one is told as absent.
    func change(_ recorded: String?, _ live: String?) -> String {
        let recorded = recorded ?? ""
        let live = live ?? ""
        if recorded.isEmpty { return "the recording has none  →  \(excerpt(live))" }
        if live.isEmpty { return "\(excerpt(recorded))  →  this request has none" }
        // A live text may hold the secret of which the recorded one holds the placeholder, or look the same.
        let isHidden =
            recorded.contains(Pseudonym.erasedText) && !live.contains(Pseudonym.erasedText) || recorded == live
        return "\(excerpt(recorded))  →  \(isHidden ? Self.unshownSecret(live) : excerpt(live))"
    }

    /// The words for a live value of some kind, without a recorded one, that may be a secret.
    static func unshown(_ kind: String) -> String { "\(kind), not shown, as a secret stands beside it" }

    static func unshownSecret(_ live: String) -> String {
        "another text of \(live.count) characters, not shown, as the recording has a secret there"
    }

    func excerpt(_ text: String) -> String {
        let shown = text.count > 60 ? "\(text.prefix(60))…" : text
        return shown.isEmpty ? "\"\"" : shown.withoutControls
    }

    func masked(_ bytes: [UInt8]) -> String {
        String(decoding: scanner.masked(bytes) ?? bytes, as: UTF8.self)
    }

    private func url(_ recorded: String, _ live: String) -> [String] {
        guard RequestNearness.haveSameAddress(recorded, live), recorded != live else { return [change(recorded, live)] }
        let (old, new) = (QueryItems(recorded[...]), QueryItems(live[...]))
        let changed = Set(old.names(notIn: new)).intersection(new.names(notIn: old))
        func lines(_ items: [Substring], _ changedStart: String, _ otherStart: String) -> [String] {
            items.map { item in
                let text = excerpt(String(item))
                return changed.contains(QueryItems.name(of: item))
                    ? changedStart + text : "\(otherStart) \(text.debugDescription) in addition"
            }
        }
        let gone = lines(old.items(notIn: new), "recorded  ", "query     the recording has")
        let added = lines(new.items(notIn: old), "now       ", "query     now has")
        return Array((gone + added).prefix(Self.limit))
    }
}

extension String {
    /// The text with an escape in place of each character that would break a line or control a terminal.
    var withoutControls: String {
        unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned: scalar.escaped(asASCII: true)
            default: String(scalar)
            }
        }.joined()
    }
}

/// A difference between two JSON values, with a path such as `$.items[3].name`.
struct JSONDifference: Hashable {
    private let steps: [String]
    let recorded: JSONValue?
    let live: JSONValue?
    /// Whether the object or the array around the value holds a secret, so that a value without a recorded one may be one.
    let isBesideSecret: Bool

    /// The differences in the order of the recorded value, at most `limit` of them.
    ///
    /// Each value is compared once, so the time is linear in the number of values.
    static func all(_ recorded: JSONValue, _ live: JSONValue, limit: Int) -> [JSONDifference] {
        var comparison = Comparison(limit: limit)
        comparison.compare(recorded, live)
        return comparison.differences
    }

    private struct Comparison {
        let limit: Int
        var differences: [JSONDifference] = []
        var path: [String] = []

        mutating func compare(_ recorded: JSONValue, _ live: JSONValue?) {
            switch (recorded, live) {
            case (.object(let old), .object(let new)):
                let values = Dictionary(new.map { ($0.name, $0.value) }) { first, _ in first }
                let known = Set(old.map(\.name))
                for member in old {
                    compare(member.value, values[member.name], at: "." + member.name, in: recorded, live)
                }
                for member in new where !known.contains(member.name) {
                    compare(nil, member.value, at: "." + member.name, in: recorded, live)
                }
            case (.array(let old), .array(let new)):
                for index in 0..<max(old.count, new.count) {
                    let element = index < old.count ? old[index] : nil
                    compare(element, index < new.count ? new[index] : nil, at: "[\(index)]", in: recorded, live)
                }
            case (.string(let old), .string(let new)) where KeyTemplates.matches(recorded: old, new): break
            case (.number(let old), .number(let new)) where BodyKey.number(old) == BodyKey.number(new): break
            case (_, let live) where live != recorded: add(recorded, live, isBesideSecret: false)
            default: break
            }
        }

        private mutating func compare(
            _ recorded: JSONValue?, _ live: JSONValue?, at step: String, in around: JSONValue?...
        ) {
            guard differences.count < limit else { return }
            path.append(step)
            if let recorded {
                compare(recorded, live)
            } else {
                add(nil, live, isBesideSecret: around.contains { $0?.holdsSecret ?? false })
            }
            path.removeLast()
        }

        private mutating func add(_ recorded: JSONValue?, _ live: JSONValue?, isBesideSecret: Bool) {
            differences.append(
                JSONDifference(steps: path, recorded: recorded, live: live, isBesideSecret: isBesideSecret))
        }
    }

    /// The place and both values, as they may be shown to a person; `shown` is the whole recorded value with the placeholders of
    /// its file.
    func line(masking scanner: SecretScanner, shown document: JSONValue? = nil) -> String {
        let place = scanner.masked("$" + steps.joined())
        guard let recorded else {
            let value = isBesideSecret ? live?.unshown : nil
            return "\(place)  the recording has none  →  \(value ?? live?.excerpt(masking: scanner) ?? "")"
        }
        let hidesSecret = recorded.holdsSecret
        let old = ((hidesSecret ? document?.value(at: steps) : nil) ?? recorded).excerpt(masking: scanner)
        guard let live else { return "\(place)  \(old)  →  this request has none" }
        let new = live.excerpt(masking: scanner)
        // The live value may hold the secret, and two masked secrets would look the same.
        guard hidesSecret || old == new else { return "\(place)  \(old)  →  \(new)" }
        return "\(place)  \(old)  →  \(live.string.map(RequestLines.unshownSecret) ?? live.kind)"
    }
}

extension JSONValue {
    /// The value at the end of some steps; nil if nothing is there, or if an object repeats a name on the way.
    fileprivate func value(at steps: [String]) -> JSONValue? {
        steps.reduce(self as JSONValue?) { value, step in
            switch value {
            case .object(let members):
                members.count { "." + $0.name == step } == 1 ? members.first { "." + $0.name == step }?.value : nil
            case .array(let elements):
                Int(step.dropFirst().dropLast()).flatMap { $0 < elements.count ? elements[$0] : nil }
            default: nil
            }
        }
    }

    fileprivate var holdsSecret: Bool {
        switch self {
        case .null, .bool, .number: false
        case .string(let text): text.contains(Pseudonym.erasedText)
        case .array(let elements): elements.contains(where: \.holdsSecret)
        case .object(let members): members.contains { $0.value.holdsSecret }
        }
    }

    /// The words for a value that may be a secret; nil for another one, or for one that is never shown.
    fileprivate var unshown: String? {
        switch self {
        case .string, .number: RequestLines.unshown(kind)
        case .null, .bool, .array, .object: nil
        }
    }

    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a text"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The value in few characters, with secrets masked before anything is cut off.
    fileprivate func excerpt(masking scanner: SecretScanner) -> String {
        switch self {
        case .null: return "null"
        case .bool(let bool): return String(bool)
        case .number(let digits): return String(scanner.masked(digits).prefix(40))
        case .string(let text):
            let text = scanner.masked(text)
            return text.count > 40 ? "\"\(text.prefix(40))…\"" : "\"\(text)\""
        case .array(let elements): return "[\(elements.count) elements]"
        case .object(let members): return "{\(members.count) members}"
        }
    }
}

/// The lines that describe the differences of two contents, by their kind: JSON by its members, a form by its fields, a
/// multipart body by its parts, text by its first line that differs, and all else by its length or by the number of bytes that
/// differ.
struct ContentLines {
    /// The content of a request or of a part of one.
    private struct Content {
        let bytes: [UInt8]
        let mediaType: String?
        /// The fields of a part, and the parameters of its `Content-Disposition`, without its name.
        var fields: [(name: String, value: String)] = []
        /// The recorded content with the placeholders of its file; nil to show it as it is compared.
        var shown: [UInt8]?

        init(_ bytes: some Sequence<UInt8>, _ mediaType: String?) {
            self.bytes = Array(bytes)
            self.mediaType = mediaType
        }

        var kind: ContentKind { ContentKind(mediaType: mediaType) }

        /// The content as text; nil for bytes that are no text, or of a kind in which no secret is found.
        var text: String? {
            let isShown = !bytes.contains(0) && !UnsearchedContent.includes(bytes, mediaType: mediaType)
            return isShown ? String(validating: bytes, as: UTF8.self) : nil
        }

        var holdsSecret: Bool { text?.contains(Pseudonym.erasedText) ?? false }
    }

    /// A field of a form, or a part of a multipart body.
    private typealias Item = (name: String, content: Content)

    let lines: RequestLines
    let ignoredPaths: Redaction

    func of(_ recorded: RecordedRequest, _ live: RecordedRequest) -> [String] {
        var (old, new) = (
            Content(recorded.body.bytes, recorded.fields[.contentType]),
            Content(live.body.bytes, live.fields[.contentType])
        )
        old.shown = lines.shown.map { Array($0.body.bytes) }
        // Coded content cannot be searched for secrets.
        if recorded.fields.contains(.contentEncoding) || live.fields.contains(.contentEncoding) {
            return mediaTypes(old, new) + [counted(old, new)]
        }
        let found = json(old, new, ignoring: ignoredPaths) ?? Array(differences(old, new).prefix(RequestLines.limit))
        return mediaTypes(old, new) + found
    }

    private func mediaTypes(_ recorded: Content, _ live: Content) -> [String] {
        guard !recorded.bytes.isEmpty, !live.bytes.isEmpty, let old = recorded.mediaType?.mediaTypeEssence,
            let new = live.mediaType?.mediaTypeEssence, old != new
        else { return [] }
        return ["media type  \(lines.change(lines.scanner.masked(old), lines.scanner.masked(new)))"]
    }

    private func differences(_ recorded: Content, _ live: Content) -> [String] {
        if recorded.bytes.isEmpty { return ["the recording has none  →  \(summary(of: live))"] }
        if live.bytes.isEmpty { return ["\(summary(of: recorded))  →  this request has none"] }
        if recorded.kind == live.kind, recorded.kind == .form { return named("field", recorded, live, Self.fields) }
        if recorded.kind == live.kind, recorded.kind == .multipart { return multipart(recorded, live) }
        if let json = json(recorded, live, ignoring: .none) { return json }
        guard let old = recorded.text, let new = live.text else { return [counted(recorded, live)] }
        let shown = recorded.shown.map { lines.masked($0) }
        return [text(lines.masked(Array(old.utf8)), lines.masked(Array(new.utf8)), shown: shown)]
    }

    private func json(_ recorded: Content, _ live: Content, ignoring paths: Redaction) -> [String]? {
        func value(_ content: Content) -> JSONValue? {
            guard content.kind != .form else { return nil }
            return try? JSONValue(parsing: Array(BodyKey.json(Data(content.bytes), ignoring: paths)))
        }
        guard let old = value(recorded), let new = value(live) else { return nil }
        let shown = recorded.shown.flatMap { try? JSONValue(parsing: $0) }
        return JSONDifference.all(old, new, limit: RequestLines.limit).map {
            $0.line(masking: lines.scanner, shown: shown)
        }
    }

    private func summary(of content: Content) -> String {
        guard let text = content.text, content.kind != .multipart else { return "\(content.bytes.count) bytes" }
        return lines.excerpt(lines.masked(content.shown ?? Array(text.utf8)))
    }

    private func counted(_ recorded: Content, _ live: Content) -> String {
        let length = recorded.bytes.count
        let offset = zip(recorded.bytes, live.bytes).prefix { $0 == $1 }.count
        guard length == live.bytes.count else {
            return "\(length) bytes  →  \(live.bytes.count) bytes, which differ from byte \(offset + 1) on"
        }
        switch zip(recorded.bytes, live.bytes).count(where: { $0 != $1 }) {
        case 0: return "\(length) bytes, which are the same"
        case 1: return "1 of \(length) bytes differs, byte \(offset + 1)"
        case let count: return "\(count) of \(length) bytes differ, the first is byte \(offset + 1)"
        }
    }

    private func text(_ recorded: String, _ live: String, shown: String?) -> String {
        func split(_ text: String) -> [String] {
            text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
        }
        let (old, new) = (split(recorded), split(live))
        let number = zip(old, new).prefix { $0 == $1 }.count
        let pair = [old, new].map { number < $0.count ? $0[number] : nil }
        let place = old.count > 1 || new.count > 1 ? "line \(number + 1)  " : ""
        let holdsSecret = recorded.contains(Pseudonym.erasedText)
        guard let first = pair[0], let second = pair[1] else {
            let counts = "\(old.count) lines  →  \(new.count) lines"
            return holdsSecret ? counts : "\(counts), line \(number + 1)  \(lines.change(pair[0], pair[1]))"
        }
        // Where the recorded text has a placeholder, the live one may have the secret in any line.
        guard !holdsSecret else {
            let written = shown.map(split) ?? []
            let text = written.count == old.count ? written[number] : first
            return "\(place)\(lines.excerpt(text))  →  \(RequestLines.unshownSecret(second))"
        }
        // The start of long lines may be the same.
        let common = zip(first, second).prefix { $0 == $1 }.count
        guard common > 40 else { return place + lines.change(first, second) }
        return place + lines.change("…" + first.dropFirst(common - 10), "…" + second.dropFirst(common - 10))
    }

    private static func fields(of form: Content) -> [Item] {
        form.bytes.split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = PercentCoding.decode(item.dropFirst(name.count + 1), plusIsBlank: true)
            let decoded = PercentCoding.decode(name, plusIsBlank: true)
            return (String(decoding: decoded, as: UTF8.self), Content(value, "text/plain"))
        }
    }

    private static func parts(of body: Content) -> [Item] {
        guard let layout = MultipartLayout(body.bytes, mediaType: body.mediaType ?? "") else { return [] }
        return layout.parts(of: body.bytes).enumerated().map { index, part in
            var (name, mediaType) = ("", nil as String?)
            var fields: [(name: String, value: String)] = []
            for line in String(decoding: body.bytes[part.fields], as: UTF8.self).split(whereSeparator: \.isNewline) {
                guard let (field, value) = pair(line, ":") else { continue }
                if field == "content-type" { mediaType = value }
                guard field == "content-disposition" else {
                    fields.append((field, value))
                    continue
                }
                for (parameter, value) in value.split(separator: ";").dropFirst().compactMap({ pair($0, "=") }) {
                    if parameter == "name" { name = value } else { fields.append((parameter, value)) }
                }
            }
            var content = Content(body.bytes[part.content], mediaType)
            // Comparing nested bodies would take a time that grows with the square of their number.
            if content.kind == .multipart { content = Content(content.bytes, "text/plain") }
            content.fields = fields
            return (name.isEmpty ? "\(index + 1)" : name, content)
        }
    }

    /// The name before a separator, in lower case, and the value behind it without blanks and quotation marks.
    private static func pair(_ text: Substring, _ separator: Character) -> (name: String, value: String)? {
        guard let index = text.firstIndex(of: separator) else { return nil }
        let blanks = CharacterSet.whitespaces
        return (
            text[..<index].trimmingCharacters(in: blanks).lowercased(),
            text[text.index(after: index)...].trimmingCharacters(in: separator == "=" ? blanks.union(["\""]) : blanks)
        )
    }

    private func multipart(_ recorded: Content, _ live: Content) -> [String] {
        let names = [recorded, live].map { Self.parts(of: $0).map(\.name) }
        guard !names[0].isEmpty, !names[1].isEmpty else { return [counted(recorded, live)] }
        let differences = named("part", recorded, live, Self.parts)
        guard differences.isEmpty else { return differences }
        return [names[0] != names[1] ? "the order of the parts differs" : counted(recorded, live)]
    }

    /// The differences of fields or parts that have names; equal names are compared in their order.
    private func named(_ kind: String, _ recorded: Content, _ live: Content, _ split: (Content) -> [Item]) -> [String] {
        var (old, new) = (split(recorded), split(live))
        let shown = recorded.shown.map { split(Content($0, recorded.mediaType)) } ?? []
        if shown.count == old.count {
            for index in old.indices { old[index].content.shown = shown[index].content.bytes }
        }
        var rest = Dictionary(grouping: new) { $0.name }.mapValues { $0.map(\.content)[...] }
        func line(_ name: String, _ text: String) -> String { "\(kind) \(lines.scanner.masked(name))  \(text)" }
        var found: [String] = []
        for (name, old) in old {
            guard let new = rest[name]?.popFirst() else {
                found.append(line(name, "\(summary(of: old))  →  this request has none"))
                continue
            }
            let values = [old, new].map { Dictionary($0.fields.map { ($0.name, $0.value) }) { first, _ in first } }
            var seen: Set<String> = []
            for field in (old.fields + new.fields).map(\.name)
            where seen.insert(field).inserted && values[0][field] != values[1][field] {
                let pair = values.map { $0[field].map(lines.scanner.masked) }
                found.append(line(name + ":", "\(field)  \(lines.change(pair[0], pair[1]))"))
            }
            if old.bytes != new.bytes { found += differences(old, new).map { line(name, $0) } }
        }
        let isBesideSecret = (old + new).contains { $0.content.holdsSecret }
        for (name, _) in new {
            guard let new = rest[name]?.popFirst() else { continue }
            let isText = new.text != nil && new.kind != .multipart
            let value = isBesideSecret && isText ? RequestLines.unshown("a text") : summary(of: new)
            found.append(line(name, "the recording has none  →  \(value)"))
        }
        return found
    }
}
