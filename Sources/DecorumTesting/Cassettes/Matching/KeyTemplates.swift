import Decorum
import DecorumArchive

/// Recorded keys with the placeholder of a secret, which keys with the secret in its place match.
///
/// A secret without a name, as in `/bot123456:ABC/getMe`, is recognized only when a name marks it somewhere else, which
/// may be later. The recording then has a placeholder there, and the replayed request still has the secret. The
/// placeholder therefore matches any one segment of a path, value of a query, or string.
struct KeyTemplates {
    /// The bytes that delimit a secret.
    private static let delimiters = Array("/?&\"\n\0".utf8)
    private static let placeholder = Array(Pseudonym.erasedText.utf8)

    /// For each set of parts that hold a placeholder, the keys by their other parts.
    private var keys: [(parts: Set<Int>, byRest: [[UInt8]: [[UInt8]]])] = []

    /// Creates templates of those keys that hold a placeholder.
    init(_ keys: some Sequence<[UInt8]>) {
        var numbers: [Set<Int>: Int] = [:]
        for key in keys where Self.holdsPlaceholder(key[...]) {
            let parts = Set(Self.parts(of: key).enumerated().filter { Self.holdsPlaceholder($1) }.map(\.offset))
            guard !parts.isEmpty, let rest = Self.rest(of: key, without: parts) else { continue }
            let number = numbers[parts, default: self.keys.count]
            if number == self.keys.count {
                numbers[parts] = number
                self.keys.append((parts, [:]))
            }
            self.keys[number].byRest[rest, default: []].append(key)
        }
    }

    /// The keys that become this one when a text of one byte or more replaces each placeholder.
    func matches(_ key: [UInt8]) -> [[UInt8]] {
        keys.flatMap { parts, byRest -> [[UInt8]] in
            guard let candidates = Self.rest(of: key, without: parts).flatMap({ byRest[$0] }) else { return [] }
            // Both have the same parts, except for the hidden ones.
            return candidates.filter { template in
                zip(Self.parts(of: template), Self.parts(of: key)).allSatisfy { part, other in
                    part.elementsEqual(other) || Self.matches(part: part, other)
                }
            }
        }
    }

    /// Whether two keys of one rule agree: they are the same, except for secrets in place of recorded placeholders.
    static func agree(recorded: [UInt8], _ live: [UInt8]) -> Bool {
        recorded == live || holdsPlaceholder(recorded[...]) && !KeyTemplates([recorded]).matches(live).isEmpty
    }

    /// Whether a text is equal to a recorded one, except for the secret in place of its placeholder.
    static func matches(recorded: String, _ live: String) -> Bool {
        let (recorded, live) = (Array(recorded.utf8), Array(live.utf8))
        return holdsPlaceholder(recorded[...]) && matches(part: recorded[...], live[...])
    }

    /// The text without possible secrets: each part that is not recorded, but matches one with a placeholder, is
    /// replaced by that one.
    static func hiding(_ text: String, as recorded: some Sequence<String>) -> String {
        let parts = Set(recorded.flatMap { Self.parts(of: Array($0.utf8)) })
        let templates = parts.filter { holdsPlaceholder($0) }
        guard !templates.isEmpty else { return text }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        for part in Self.parts(of: bytes) {
            let template = parts.contains(part) ? nil : templates.first { matches(part: $0, part) }
            output += template ?? part
            if part.endIndex < bytes.count { output.append(bytes[part.endIndex]) }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The key with some parts empty; nil if it has fewer parts.
    private static func rest(of key: [UInt8], without hidden: Set<Int>) -> [UInt8]? {
        var rest: [UInt8] = []
        rest.reserveCapacity(key.count)
        var number = 0
        var left = hidden.count
        for part in parts(of: key) {
            if hidden.contains(number) { left -= 1 } else { rest += part }
            if part.endIndex < key.count { rest.append(key[part.endIndex]) }
            number += 1
        }
        return left == 0 ? rest : nil
    }

    private static func parts(of key: [UInt8]) -> [ArraySlice<UInt8>] {
        key.split(omittingEmptySubsequences: false, whereSeparator: delimiters.contains)
    }

    private static func holdsPlaceholder(_ part: ArraySlice<UInt8>) -> Bool {
        place(of: placeholder, in: part) != nil
    }

    private static func matches(part template: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard var hole = place(of: placeholder, in: template) else { return template.elementsEqual(text) }
        guard text.starts(with: template[..<hole.lowerBound]) else { return false }
        var rest = text.dropFirst(hole.lowerBound - template.startIndex)
        while let next = place(of: placeholder, in: template[hole.upperBound...]) {
            guard let found = place(of: Array(template[hole.upperBound..<next.lowerBound]), in: rest.dropFirst()) else {
                return false
            }
            rest = rest[found.upperBound...]
            hole = next
        }
        let end = template[hole.upperBound...]
        return rest.count > end.count && rest.suffix(end.count).elementsEqual(end)
    }

    private static func place(of needle: [UInt8], in text: ArraySlice<UInt8>) -> Range<Int>? {
        guard let first = needle.first else { return text.startIndex..<text.startIndex }
        var rest = text
        while let start = rest.firstIndex(of: first) {
            if rest[start...].starts(with: needle) { return start..<start + needle.count }
            rest = rest[(start + 1)...]
        }
        return nil
    }
}
