import Synchronization

/// The secrets of one cassette and their pseudonyms.
///
/// The same secret has the same pseudonym in each place, encoded or not: a token in the answer to a login, and the same
/// token in `Authorization` afterwards, are both `__access-token-1__`. The name comes from the first place where the
/// secret is seen; the number counts the secrets of that name. So the pseudonyms depend on the order in which texts are
/// redacted, and a cassette is written in the order of its interactions.
///
/// A secret of at least 12 bytes is also replaced where no name marks it, such as in a path or in plain text; a shorter
/// text might be equal by chance. A secret in an earlier text is missed if a name marks it only in a later text. To
/// replace it there too, redact everything a second time with the same pseudonyms; this changes nothing else.
public final class Pseudonyms: Sendable {
    private struct Key: Hashable {
        let secret: [UInt8]
        /// Nil when the secret is so long that it is the same secret under any name.
        let name: String?
    }

    private struct State {
        var texts: [Key: String] = [:]
        var numbers: [String: Int] = [:]
        var known = NeedleSearch()
        var knownTexts: [String] = []
    }

    /// The length from which equal bytes under another name are the same secret, and not equal by chance.
    private static let identityLength = 6
    /// The length from which a secret is replaced in any place.
    private static let verbatimLength = 12

    private let state = Mutex(State())

    /// Creates an empty set of pseudonyms.
    public init() {}

    /// Returns the pseudonym of a secret; a new secret gets a new pseudonym.
    ///
    /// - Parameters:
    ///   - secret: The bytes of the secret, without the encoding of its place.
    ///   - name: The name of its place, such as `access_token`.
    /// - Returns: The pseudonym; if the bytes are already a pseudonym, the bytes as they are.
    @discardableResult
    public func pseudonym(for secret: [UInt8], named name: some Sequence<UInt8>) -> String {
        if Pseudonym.isPseudonym(secret) {
            reserve(in: secret)
            return String(decoding: secret, as: UTF8.self)
        }
        let name = Pseudonym.normalizedName(name)
        return state.withLock { state in
            let key = Key(secret: secret, name: secret.count < Self.identityLength ? name : nil)
            if let text = state.texts[key] { return text }
            let number = state.numbers[name, default: 0] + 1
            let text = Pseudonym.text(name: name, number: number)
            state.numbers[name] = number
            state.texts[key] = text
            Self.remember(secret, as: text, in: &state)
            return text
        }
    }

    /// Adds a secret that no name marks, such as a key in a path.
    ///
    /// - Parameters:
    ///   - secret: The secret.
    ///   - name: The name for its pseudonym.
    public func learn(_ secret: String, named name: String) {
        guard !secret.isEmpty else { return }
        pseudonym(for: Array(secret.utf8), named: name.utf8)
    }

    /// Reserves the pseudonyms in a text, such as a cassette to be continued, so that other secrets do not get them.
    ///
    /// - Parameter text: The text.
    public func reserve(in text: [UInt8]) {
        let found = Pseudonym.all(in: text)
        guard !found.isEmpty else { return }
        state.withLock { state in
            for pseudonym in found {
                state.numbers[pseudonym.name] = max(state.numbers[pseudonym.name, default: 0], pseudonym.number)
            }
        }
    }

    /// Whether there is a secret that is replaced in any place.
    var hasKnown: Bool { state.withLock { !$0.known.isEmpty } }

    /// Replaces the known secrets in any place; nil when there are none.
    func replacingKnown(in text: [UInt8]) -> [UInt8]? {
        let (matches, texts) = known(in: text)
        guard !matches.isEmpty else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var copied = 0
        for match in matches {
            output += text[copied..<match.range.lowerBound]
            output += texts[match.tag].utf8
            copied = match.range.upperBound
        }
        return output + text[copied...]
    }

    /// Finds the known secrets that a text still holds, such as one that cannot be redacted.
    ///
    /// - Parameter text: The text, or any other bytes.
    /// - Returns: The ranges of the secrets, from the left.
    public func knownSecrets(in text: [UInt8]) -> [Range<Int>] {
        known(in: text).matches.map(\.range)
    }

    private func known(in text: [UInt8]) -> (matches: [NeedleSearch.Match], texts: [String]) {
        let (matches, texts) = state.withLock { ($0.known.matches(in: text), $0.knownTexts) }
        guard !matches.isEmpty else { return ([], texts) }
        // A secret may equal a part of a pseudonym.
        var pseudonyms = Pseudonym.all(in: text).map(\.range)[...]
        let own = matches.filter { match in
            while let first = pseudonyms.first, first.upperBound <= match.range.lowerBound { pseudonyms.removeFirst() }
            return pseudonyms.first.map { !$0.overlaps(match.range) } ?? true
        }
        return (own, texts)
    }

    private static func remember(_ secret: [UInt8], as text: String, in state: inout State) {
        guard secret.count >= verbatimLength, isUnmistakable(secret) else { return }
        let tag = state.knownTexts.count
        state.knownTexts.append(text)
        for spelling in SecretSpelling.all(of: secret) {
            state.known.insert(spelling, tag: tag)
        }
    }

    /// Returns whether a secret can be searched for in any text: its bytes neither break a JSON string nor are a JSON
    /// number.
    private static func isUnmistakable(_ secret: [UInt8]) -> Bool {
        secret.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 != 0x7F }
            && !secret.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    }
}
