import Decorum
import Foundation

/// The lines that describe the differences of two requests, as they may be shown to a person.
///
/// Requests are redacted before this. A secret without a name is masked here, in the whole text and before anything is
/// cut off.
struct RequestLines {
    static let limit = 8

    let scanner: SecretScanner
    /// The recorded request with the placeholders of its file; nil to show it as it is compared.
    var shown: RecordedRequest?

    /// The lines for a rule by which the requests do not agree; the keys are those of the rule for the requests.
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
        return "\(excerpt(recorded))  →  \(hides(recorded, live) ? Self.unshownSecret(live) : excerpt(live))"
    }

    /// Whether a live text may hold the secret of which the recorded one holds the placeholder, or looks the same.
    func hides(_ recorded: String, _ live: String) -> Bool {
        recorded.contains(Pseudonym.erasedText) && !live.contains(Pseudonym.erasedText) || recorded == live
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
        let parts = (recorded.split(separator: "?", maxSplits: 1), live.split(separator: "?", maxSplits: 1))
        guard parts.0.first == parts.1.first, recorded != live else { return [change(recorded, live)] }
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
