import DecorumArchive
import Foundation
import HTTPTypes

/// The values in the answers of a run that stand in place of recorded ones, such as the identifier of a new item.
///
/// A server gives another one in each run, and requests repeat it in their paths, queries or contents. With the recorded
/// value in its place, such a request is the recorded one.
struct AnswerValues {
    /// Longer texts are no identifiers and no paths.
    private static let lengthLimit = 128

    /// The recorded values by the live ones.
    private var recorded: [[UInt8]: [UInt8]] = [:]

    /// Learns the values at the same places of a recorded answer and of the live one.
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

    /// Learns the words that differ between two texts, such as the last part of a path.
    private mutating func learn(from old: String, _ new: String) {
        guard old != new, old.utf8.count <= Self.lengthLimit, new.utf8.count <= Self.lengthLimit else { return }
        let (oldWords, newWords) = (Self.words(in: Array(old.utf8)), Self.words(in: Array(new.utf8)))
        guard oldWords.count == newWords.count else { return }
        for (old, new) in zip(oldWords, newWords) where old != new && Self.isIdentifier(old) && Self.isIdentifier(new) {
            recorded[Array(new)] = Array(old)
        }
    }

    /// Whether a word may be made by a server for one item: a word without a digit, such as a state, may also be one that the
    /// client chooses.
    private static func isIdentifier(_ word: ArraySlice<UInt8>) -> Bool { word.contains(where: \.isDigit) }

    /// A request with the recorded values in place of the live ones; nil if it has none of them.
    func applied(to request: RecordedRequest) -> RecordedRequest? {
        guard !recorded.isEmpty else { return nil }
        var request = request
        let url = replaced(in: Array(request.url.utf8))
        let content = request.fields.contains(.contentEncoding) ? nil : replaced(in: Array(request.body.bytes))
        guard url != nil || content != nil else { return nil }
        if let url { request.url = String(decoding: url, as: UTF8.self) }
        if let content { request.body.bytes = Data(content) }
        return request
    }

    private func replaced(in text: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = []
        var copied = 0
        for word in Self.words(in: text) {
            guard let value = recorded[Array(word)] else { continue }
            output += text[copied..<word.startIndex]
            output += value
            copied = word.endIndex
        }
        return copied == 0 ? nil : output + text[copied...]
    }

    private static func words(in text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.split { !$0.isLetterOrDigit && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
    }
}
