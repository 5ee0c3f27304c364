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

    /// The similarity of a recorded request to a live one with its keys.
    func nearness(_ ordinal: Int, _ live: RecordedRequest, _ keys: [[UInt8]]) -> RequestNearness {
        let agreeing = zip(self.keys[ordinal], keys).count { KeyTemplates.agree(recorded: $0, $1) }
        return RequestNearness(requests[ordinal].url, live.url, agreeing: agreeing)
    }

    /// Whether a recorded request matches one with these keys.
    func matches(_ ordinal: Int, _ keys: [[UInt8]]) -> Bool {
        zip(self.keys[ordinal], keys).allSatisfy { KeyTemplates.agree(recorded: $0, $1) }
    }

    func shown(_ ordinal: Int) throws -> RecordedRequest { redactor.shown(try content.request(at: ordinal)) }

    func difference(_ ordinal: Int, _ live: RecordedRequest) throws -> RequestDifference {
        RequestDifference(requests[ordinal], live, rules: rules, masking: scanner, shown: try shown(ordinal))
    }
}

/// The differences between a request and a recorded one, rule by rule.
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

    /// The rules that do not agree, each with lines that give the reason.
    var lines: [String] {
        disagreements.flatMap { rule, lines in ["\(rule)  differs"] + lines.map { "  \($0)" } }
    }

    /// All rules behind a heading, first the rules that agree.
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

/// The items in the query of a URL, in their order.
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

    /// The words for a live text in place of a secret.
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
