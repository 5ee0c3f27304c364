import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The lines that describe the differences of two requests, as they may be shown to a person.
///
/// Requests are redacted before this. A secret without a name is masked here, in the whole text and before anything is
/// cut off.
struct RequestLines {
    private static let limit = 8

    let scanner: SecretScanner

    /// The lines for a rule by which the requests do not agree; the keys are those of the rule for the requests.
    func of(
        _ rule: MatchingRule, _ recorded: RecordedRequest, _ live: RecordedRequest, _ keys: ([UInt8], [UInt8])
    ) -> [String] {
        switch rule.subject {
        case .method: [change(recorded.method, live.method)]
        case .url: url(scanner.masked(recorded.url), scanner.masked(live.url))
        case .body: body(recorded, live)
        case .other: [change(masked(keys.0), masked(keys.1))]
        }
    }

    /// Both texts, masked and shortened.
    private func change(_ recorded: String, _ live: String) -> String {
        // Where the recorded text has a placeholder, the live one may still have the secret.
        let hidesSecret = recorded.contains(Pseudonym.erasedText) && !live.contains(Pseudonym.erasedText)
        return "\(excerpt(recorded))  →  \(hidesSecret || recorded == live ? "another text" : excerpt(live))"
    }

    private func excerpt(_ text: String) -> String {
        let shown = text.count > 60 ? "\(text.prefix(60))…" : text
        return text.isEmpty ? "nothing" : shown.withoutControls
    }

    private func masked(_ bytes: [UInt8]) -> String {
        String(decoding: scanner.masked(bytes) ?? bytes, as: UTF8.self)
    }

    private func url(_ recorded: String, _ live: String) -> [String] {
        let parts = (recorded.split(separator: "?", maxSplits: 1), live.split(separator: "?", maxSplits: 1))
        guard parts.0.first == parts.1.first, recorded != live else { return [change(recorded, live)] }
        let items = (items(parts.0), items(parts.1))
        let known = (Set(items.0), Set(items.1))
        let gone = items.0.filter { !known.1.contains($0) }.map { "recorded  \(excerpt($0))" }
        let new = items.1.filter { !known.0.contains($0) }.map { "now       \(excerpt($0))" }
        return Array((gone + new).prefix(Self.limit))
    }

    private func items(_ parts: [Substring]) -> [String] {
        parts.count < 2 ? [] : parts[1].split(separator: "&").map(String.init)
    }

    private func body(_ recorded: RecordedRequest, _ live: RecordedRequest) -> [String] {
        let contents = (Array(recorded.body.bytes), Array(live.body.bytes))
        if let old = try? JSONValue(parsing: contents.0), let new = try? JSONValue(parsing: contents.1) {
            return JSONDifference.all(old, new, limit: Self.limit).map { $0.line(masking: scanner) }
        }
        let offset = commonLength(contents.0, contents.1)
        let counts = "\(contents.0.count) bytes  →  \(contents.1.count) bytes, different from byte \(offset) on"
        // Coded content cannot be searched for secrets.
        if recorded.fields.contains(.contentEncoding) || live.fields.contains(.contentEncoding) { return [counts] }
        let texts = (scanner.masked(contents.0) ?? contents.0, scanner.masked(contents.1) ?? contents.1)
        guard !String(decoding: texts.0, as: UTF8.self).contains(Pseudonym.erasedText) else {
            return [counts, "not shown, since a secret stands in the recorded one"]
        }
        let start = commonLength(texts.0, texts.1)
        return [counts, change(excerpt(texts.0, from: start), excerpt(texts.1, from: start))]
    }

    private func commonLength(_ one: [UInt8], _ other: [UInt8]) -> Int {
        zip(one, other).prefix { $0 == $1 }.count
    }

    private func excerpt(_ content: [UInt8], from offset: Int) -> String {
        String(decoding: content.dropFirst(offset).prefix(40), as: UTF8.self)
    }
}

extension String {
    /// The text with an escape in place of each character that would break a line or control a terminal.
    fileprivate var withoutControls: String {
        unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned: scalar.escaped(asASCII: true)
            default: String(scalar)
            }
        }.joined()
    }
}
