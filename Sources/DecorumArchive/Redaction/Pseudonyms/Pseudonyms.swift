import Synchronization

/// The secrets of one cassette and the name that each has in it.
///
/// The same secret has the same name wherever it stands, encoded or not: the token that a login answers with and the one
/// in `Authorization` afterwards are both `__access-token-1__`. The first place where it is seen gives it its name; the
/// number counts the secrets of that name. Hence the names depend on the order in which texts are redacted, and a
/// cassette is written in the order of its interactions.
///
/// A secret of at least 12 bytes is also replaced where no name marks it, such as in a path or in plain text; a shorter
/// one might stand there by chance. One that is first marked later is missed by then: redacting everything a second time
/// with the same pseudonyms replaces it there too, and changes nothing else.
public final class Pseudonyms: Sendable {
    private struct Key: Hashable {
        let secret: [UInt8]
        /// Nil where the secret is long enough to be the same one under any name.
        let name: String?
    }

    private struct State {
        var texts: [Key: String] = [:]
        var numbers: [String: Int] = [:]
        var known = NeedleSearch()
        var knownTexts: [String] = []
    }

    /// The bytes from which on a secret under another name is the same one and not the same by chance.
    private static let identityLength = 6
    /// The bytes from which on a secret is replaced wherever it stands.
    private static let verbatimLength = 12

    private let state = Mutex(State())

    /// Creates an empty set of pseudonyms.
    public init() {}

    /// Gives a secret its pseudonym, the same as before if it has one.
    ///
    /// - Parameters:
    ///   - secret: The bytes of the secret, without the coding of the place where it stands.
    ///   - name: What the place is called, such as `access_token`.
    /// - Returns: The pseudonym; the bytes as they are where they are one already.
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

    /// Makes known a secret that no name marks, such as a key that stands in a path.
    ///
    /// - Parameters:
    ///   - secret: The secret.
    ///   - name: What it is called.
    public func learn(_ secret: String, named name: String) {
        guard !secret.isEmpty else { return }
        pseudonym(for: Array(secret.utf8), named: name.utf8)
    }

    /// Keeps the pseudonyms of a text, such as a cassette to be continued, from being given to other secrets.
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

    /// Whether there is any secret to be replaced wherever it stands.
    var hasKnown: Bool { state.withLock { !$0.known.isEmpty } }

    /// Replaces the known secrets wherever they stand; nil where there is none.
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
    /// - Returns: Where they stand, from the left.
    public func knownSecrets(in text: [UInt8]) -> [Range<Int>] {
        known(in: text).matches.map(\.range)
    }

    private func known(in text: [UInt8]) -> (matches: [NeedleSearch.Match], texts: [String]) {
        let (matches, texts) = state.withLock { ($0.known.matches(in: text), $0.knownTexts) }
        guard !matches.isEmpty else { return ([], texts) }
        // A secret may be spelled as a part of a pseudonym is.
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

    /// Tells whether a secret can be sought in any text: it neither breaks a string of JSON apart nor is a number in it.
    private static func isUnmistakable(_ secret: [UInt8]) -> Bool {
        secret.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 != 0x7F }
            && !secret.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    }
}
