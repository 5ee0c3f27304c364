import Decorum
import Foundation

/// How far a request agrees with a recorded one, rule by rule.
struct RequestDifference {
    /// The names of the rules that do not agree, each with lines that say why.
    let disagreements: [(rule: String, lines: [String])]
    let agreements: [String]

    private static let lineLimit = 8

    init(_ recorded: RecordedRequest, _ live: RecordedRequest, rules: [MatchingRule]) {
        var disagreements: [(String, [String])] = []
        var agreements: [String] = []
        for rule in rules {
            let keys = (rule.key(recorded), rule.key(live))
            if keys.0 == keys.1 {
                agreements.append(rule.name)
            } else {
                disagreements.append((rule.name, Self.lines(rule, recorded, live, keys)))
            }
        }
        self.disagreements = disagreements
        self.agreements = agreements
    }

    /// How near the two are; a rule that agrees counts more than any part of one.
    ///
    /// The keys are what each of the rules makes of the live request.
    static func nearness(
        _ recorded: RecordedRequest, _ live: RecordedRequest, rules: [MatchingRule], keys: [[UInt8]]
    ) -> Int {
        let agreeing = zip(rules, keys).count { $0.key(recorded) == $1 }
        let common = zip(recorded.url.utf8, live.url.utf8).prefix { $0 == $1 }.count
        return agreeing << 16 + min(common, 0xFFFF)
    }

    private static func lines(
        _ rule: MatchingRule, _ recorded: RecordedRequest, _ live: RecordedRequest, _ keys: ([UInt8], [UInt8])
    ) -> [String] {
        switch rule.subject {
        case .method: [change(recorded.method, live.method)]
        case .url: url(recorded.url, live.url)
        case .body: body(recorded, live)
        case .other: [change(String(decoding: keys.0, as: UTF8.self), String(decoding: keys.1, as: UTF8.self))]
        }
    }

    private static func change(_ recorded: String, _ live: String) -> String {
        // Where the recorded text has a placeholder, the live one may still have the secret.
        let hidesSecret = recorded.contains(Pseudonym.erasedText) && !live.contains(Pseudonym.erasedText)
        return "\(excerpt(recorded))  →  \(hidesSecret ? "another text" : excerpt(live))"
    }

    private static func excerpt(_ text: String) -> String {
        text.isEmpty ? "nothing" : text.count > 60 ? "\(text.prefix(60))…" : text
    }

    private static func url(_ recorded: String, _ live: String) -> [String] {
        let parts = (recorded.split(separator: "?", maxSplits: 1), live.split(separator: "?", maxSplits: 1))
        guard parts.0.first == parts.1.first else { return [change(recorded, live)] }
        let items = (items(parts.0), items(parts.1))
        let known = (Set(items.0), Set(items.1))
        let gone = items.0.filter { !known.1.contains($0) }.map { "recorded  \(excerpt($0))" }
        let new = items.1.filter { !known.0.contains($0) }.map { "now       \(excerpt($0))" }
        return Array((gone + new).prefix(lineLimit))
    }

    private static func items(_ parts: [Substring]) -> [String] {
        parts.count < 2 ? [] : parts[1].split(separator: "&").map(String.init)
    }

    private static func body(_ recorded: RecordedRequest, _ live: RecordedRequest) -> [String] {
        if let old = try? JSONValue(parsing: Array(recorded.body.bytes)),
            let new = try? JSONValue(parsing: Array(live.body.bytes))
        {
            return JSONDifference.all(old, new, limit: lineLimit).map(\.description)
        }
        let contents = (recorded.body.bytes, live.body.bytes)
        let offset = zip(contents.0, contents.1).prefix { $0 == $1 }.count
        return [
            "\(contents.0.count) bytes  →  \(contents.1.count) bytes, different from byte \(offset) on",
            contents.0.firstRange(of: Data(Pseudonym.erasedText.utf8)) == nil
                ? change(excerpt(contents.0, from: offset), excerpt(contents.1, from: offset))
                : "not shown, since a secret stands in the recorded one",
        ]
    }

    private static func excerpt(_ content: Data, from offset: Int) -> String {
        String(decoding: content.dropFirst(offset).prefix(40), as: UTF8.self).filter { !$0.isNewline }
    }
}
