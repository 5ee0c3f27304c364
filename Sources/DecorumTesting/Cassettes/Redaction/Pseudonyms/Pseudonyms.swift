import Synchronization

/// The strategy of a recording: each secret gets a pseudonym that keeps its format.
///
/// The same secret has the same pseudonym in each place, encoded or not: a token in the answer to a login, and the same
/// token in `Authorization` afterwards. The number in it counts the secrets of that format, so the pseudonyms depend on
/// the order in which texts are redacted, and a cassette is written in the order of its interactions.
///
/// A secret in an earlier text is missed if a name marks it only in a later text. To replace it there too, redact
/// everything a second time with the same pseudonyms; this changes nothing else.
package final class Pseudonyms: SecretReplacing {
    private struct Key: Hashable {
        let secret: [UInt8]
        /// Nil when the secret is so long that it is the same secret under any name.
        let name: [UInt8]?
    }

    private struct State {
        var texts: [Key: [UInt8]] = [:]
        var numbers: [PseudonymForm: Int] = [:]
        /// The texts that are not assigned: those of a file to be continued, and all secrets of the recording.
        var taken: Set<[UInt8]> = []
        /// The texts whose pseudonyms are not in ``taken`` yet.
        var reserved: [[UInt8]] = []
        var assigned: Set<[UInt8]> = []
        var known = KnownSecrets()
        var left: Set<[UInt8]> = []
        var list: [SecretReplacement] = []
        var places: [[UInt8]: Int] = [:]
    }

    /// The length from which equal bytes under another name are the same secret, and not equal by chance.
    private static let identityLength = 6
    private static let tokenForm = PseudonymForm(of: "token".utf8)

    package let readsPaths: Bool
    private let state = Mutex(State())

    /// Creates an empty set of pseudonyms.
    ///
    /// - Parameter readsPaths: Whether ``list`` names the paths of places in JSON.
    package init(readsPaths: Bool = false) {
        self.readsPaths = readsPaths
    }

    package func replacement(of secret: NamedSecret) -> [UInt8]? {
        guard !secret.isHarmless else { return nil }
        let isMarked = secret.isMarkedPlaceholder
        return state.withLock { state in
            if isMarked {
                state.taken.insert(secret.bytes)
                return nil
            }
            // No secret of the recording has this text, since those are avoided.
            if state.assigned.contains(secret.bytes) { return nil }
            let key = Key(
                secret: secret.bytes, name: secret.bytes.count < Self.identityLength ? secret.name : nil)
            let text = state.texts[key] ?? Self.newText(for: secret, in: &state)
            state.texts[key] = text
            Self.list(secret, as: text, in: &state)
            return text
        }
    }

    package func leave(_ secret: NamedSecret) {
        state.withLock { state in
            state.left.insert(secret.bytes)
            // The search before a file is written finds the password alone.
            if secret.place == .userinfo, let colon = secret.bytes.firstIndex(of: UInt8(ascii: ":")) {
                state.left.insert(Array(secret.bytes[(colon + 1)...]))
            }
        }
    }

    /// The values that the rules have left.
    var left: Set<[UInt8]> { state.withLock { $0.left } }

    /// The values that were replaced, in the order in which they were found.
    package var list: [SecretReplacement] { state.withLock { $0.list } }

    /// Reserves the pseudonyms in a text, such as a cassette to be continued, so that other secrets do not get them.
    ///
    /// The text is searched when the first secret gets a pseudonym: that of a large file takes long, and what is added
    /// may hold no secret.
    ///
    /// - Parameter text: The text.
    package func reserve(in text: [UInt8]) {
        state.withLock { $0.reserved.append(text) }
    }

    /// Reserves secrets, so that none of them equals a pseudonym, which would be taken for one.
    ///
    /// - Parameter secrets: All secrets of a recording.
    func avoid(_ secrets: [NamedSecret]) {
        state.withLock { state in
            for secret in secrets { state.taken.insert(secret.bytes) }
        }
    }

    package var hasKnown: Bool { state.withLock { !$0.known.isEmpty } }

    package func replacingKnown(in text: [UInt8]) -> [UInt8]? {
        let known = state.withLock { $0.known }
        return known.replacing(in: text)
    }

    /// Finds the known secrets that a text still holds, such as one that cannot be redacted.
    ///
    /// - Parameter text: The text, or any other bytes.
    /// - Returns: The ranges of the secrets, and of Base64 with one, from the left.
    package func knownSecrets(in text: [UInt8]) -> [Range<Int>] {
        let known = state.withLock { $0.known }
        return known.places(in: text)
    }

    private static func newText(for secret: NamedSecret, in state: inout State) -> [UInt8] {
        for text in state.reserved {
            for range in PseudonymPlaces.all(in: text) { state.taken.insert(Array(text[range])) }
        }
        state.reserved = []
        let isToken = !secret.isNumber && TokenPseudonym.text(for: secret.bytes, number: 1) != nil
        let form =
            isToken
            ? tokenForm
            : secret.isNumber ? PseudonymForm(ofNumber: secret.bytes) : PseudonymForm(of: secret.bytes)
        var text: [UInt8]
        repeat {
            let number = state.numbers[form, default: 0] + 1
            state.numbers[form] = number
            text = isToken ? TokenPseudonym.text(for: secret.bytes, number: number) ?? [] : form.text(number: number)
        } while (text == secret.bytes || state.taken.contains(text))
            && state.numbers[form, default: 0] <= state.taken.count + 1
        state.taken.insert(text)
        state.assigned.insert(text)
        if !secret.isNumber { state.known.insert(secret.bytes, replacedBy: text) }
        return text
    }

    private static func list(_ secret: NamedSecret, as text: [UInt8], in state: inout State) {
        if let index = state.places[text] {
            state.list[index].count += 1
        } else {
            state.places[text] = state.list.count
            state.list.append(SecretReplacement(secret, text))
        }
    }
}
