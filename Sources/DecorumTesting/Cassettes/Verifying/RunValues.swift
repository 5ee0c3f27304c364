import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The values in the answers of a run that stand in place of recorded ones, such as the identifier of a new item.
///
/// A server gives other identifiers in each run, and requests repeat them in their paths, queries or contents. With the
/// recorded value in its place, such a request is the recorded one.
struct RunValues {
    /// Longer texts hold no identifiers.
    private static let lengthLimit = 128

    /// The recorded words by the live ones.
    private var recorded: [[UInt8]: [UInt8]] = [:]

    /// Learns the words that differ at the same places of a recorded answer and of the live one: in `Location`, and in texts
    /// and numbers of JSON.
    mutating func learn(from recorded: RecordedResponse, _ live: RecordedResponse) {
        if let old = recorded.fields[.location], let new = live.fields[.location] { learn(from: old, new) }
        guard let old = try? JSONValue(parsing: Array(recorded.body.bytes)),
            let new = try? JSONValue(parsing: Array(live.body.bytes))
        else { return }
        learn(from: old, new)
    }

    private mutating func learn(from old: JSONValue, _ new: JSONValue) {
        switch (old, new) {
        case (.string(let old), .string(let new)), (.number(let old), .number(let new)): learn(from: old, new)
        case (.array(let old), .array(let new)): for (old, new) in zip(old, new) { learn(from: old, new) }
        case (.object(let old), .object(let new)):
            let members = Dictionary(new.map { ($0.name, $0.value) }) { first, _ in first }
            for member in old { members[member.name].map { learn(from: member.value, $0) } }
        default: break
        }
    }

    /// A value that was learned first stays.
    private mutating func learn(from old: String, _ new: String) {
        guard old != new, max(old.utf8.count, new.utf8.count) <= Self.lengthLimit else { return }
        let words = [old, new].map { Self.words(in: Array($0.utf8), isURL: true) }
        guard words[0].count == words[1].count else { return }
        for (old, new) in zip(words[0], words[1]) where old != new && recorded[Array(new)] == nil {
            recorded[Array(new)] = Array(old)
        }
    }

    /// A request with recorded values in place of live ones; nil if it has none of them.
    func recordedVersion(of request: RecordedRequest) -> RecordedRequest? {
        guard !recorded.isEmpty else { return nil }
        let url = replaced(in: Array(request.url.utf8), isURL: true)
        let isCoded = request.fields.contains(.contentEncoding)
        let content = isCoded ? nil : replaced(in: Array(request.body.bytes), isURL: false)
        guard url != nil || content != nil else { return nil }
        var request = request
        if let url { request.url = String(decoding: url, as: UTF8.self) }
        if let content { request.body.bytes = Data(content) }
        return request
    }

    /// A URL with recorded values in place of live ones; nil if it has none of them.
    func recordedVersion(of url: String) -> String? {
        replaced(in: Array(url.utf8), isURL: true).map { String(decoding: $0, as: UTF8.self) }
    }

    private func replaced(in text: [UInt8], isURL: Bool) -> [UInt8]? {
        var output: [UInt8] = []
        var copied = 0
        for word in Self.words(in: text, isURL: isURL) {
            guard let value = recorded[Array(word)] else { continue }
            output += text[copied..<word.startIndex]
            output += value
            copied = word.endIndex
        }
        return copied == 0 ? nil : output + text[copied...]
    }

    /// The words of a text; the scheme and the authority of a URL (RFC 3986, section 3) hold none.
    private static func words(in text: [UInt8], isURL: Bool) -> [ArraySlice<UInt8>] {
        var start = 0
        let scheme = text.prefix { $0.isLetterOrDigit }.count
        if isURL, text[scheme...].starts(with: "://".utf8) {
            start = text[(scheme + 3)...].firstIndex { "/?#".utf8.contains($0) } ?? text.count
        }
        return text[start...].split { !$0.isLetterOrDigit && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
    }
}
