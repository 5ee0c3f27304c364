import Decorum
import Synchronization

/// A strategy that decides the text in place of each secret of a message.
///
/// ``SecretRewriting`` finds the secrets, and asks the strategy for each.
package protocol SecretReplacing: Sendable {
    /// Whether secrets need the path of their place, which takes time to find.
    var readsPaths: Bool { get }

    /// The text in place of a secret that a name marks; nil for a secret that stays.
    ///
    /// - Parameter secret: The secret, which is not empty.
    /// - Returns: The text, without the encoding of the place; of a number of JSON, a number.
    func replacement(of secret: NamedSecret) -> [UInt8]?

    /// Notes that the rules leave a secret.
    func leave(_ secret: NamedSecret)

    /// The secrets that are replaced in any place.
    var known: KnownSecrets { get }
}

extension SecretReplacing {
    package var readsPaths: Bool { false }

    package func leave(_ secret: NamedSecret) {}

    package var known: KnownSecrets { KnownSecrets() }
}

/// A secret that a name marks.
package struct NamedSecret: Sendable {
    /// The kind of a place, by which a rule can leave the secret.
    package enum Place: Sendable, Hashable {
        case field
        case cookie
        /// An item of a URL or a form, or a part of a multipart form.
        case item
        /// A value of JSON, with the pattern of its path where that is known.
        case json(pattern: String?)
        /// An element or an attribute, a line of text or a column.
        case text
        case userinfo
        /// A part of a path.
        case path
    }

    /// The bytes of the secret, without the encoding of its place.
    package let bytes: [UInt8]
    /// The name of its place, such as `access_token`.
    package let name: [UInt8]
    package let place: Place
    /// Whether it is a number of JSON.
    package let isNumber: Bool

    init(_ bytes: [UInt8], named name: some Sequence<UInt8>, at place: Place, isNumber: Bool = false) {
        self.bytes = bytes
        self.name = Array(name)
        self.place = place
        self.isNumber = isNumber
    }

    /// Whether the value is no secret, but a word that the API uses or a number that only counts something.
    var isHarmless: Bool {
        if isNumber {
            // A PIN, and the number that proves that a person has a card, are short.
            let isLong = bytes.count(where: \.isDigit) >= (PlainWord.isChosen(name) ? 3 : 6)
            return !isLong || bytes.first.map { !$0.isDigit && $0 != UInt8(ascii: "-") } ?? true
        }
        switch place {
        // The whole value of a listed field is a credential.
        case .field, .userinfo, .path: return false
        case .cookie, .item, .json, .text: return PlainWord.isHarmless(bytes, named: name)
        }
    }

    /// Whether the value is a placeholder whose mark no secret has by chance.
    var isMarkedPlaceholder: Bool {
        guard isNumber else { return Pseudonym.isPseudonym(bytes) }
        return bytes.split { !$0.isDigit }.contains(where: PseudonymForm.isMarkedNumber)
    }

    /// Whether the value is a number with the form of a placeholder, which a short secret may have too.
    var mayBePlaceholder: Bool { PseudonymForm.isNumber(bytes[...]) }

    /// The word for the kind of the secret.
    fileprivate var kind: String {
        switch place {
        case .cookie: return "cookie"
        case .userinfo: return "credentials"
        case .path: return "path"
        default:
            let name = String(decoding: name, as: UTF8.self).lowercased()
            return Self.kinds.first { name.contains($0.part) }?.kind ?? "secret"
        }
    }

    private static let kinds = [
        ("pass", "password"), ("pw", "password"), ("token", "token"), ("jwt", "token"), ("session", "session"),
        ("cookie", "cookie"), ("key", "key"), ("sig", "signature"), ("code", "code"), ("otp", "code"), ("pin", "code"),
        ("auth", "credentials"), ("credential", "credentials"),
    ].map { (part: $0, kind: $1) }
}

/// The strategy of a recording: each secret gets a pseudonym.
///
/// The same secret has the same pseudonym in each place, encoded or not: a token in the answer to a login, and the same
/// token in `Authorization` afterwards. The number in it counts the secrets of that kind, so the pseudonyms depend on
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
        /// The texts that are not assigned: the pseudonyms of a file to be continued, and all secrets of the recording.
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
            let key = Key(secret: secret.bytes, name: secret.bytes.count < Self.identityLength ? secret.name : nil)
            let text = state.texts[key] ?? Self.newText(for: secret, in: &state)
            state.texts[key] = text
            if let index = state.places[text] {
                state.list[index].count += 1
            } else {
                state.places[text] = state.list.count
                state.list.append(SecretReplacement(secret, text))
            }
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

    package var known: KnownSecrets { state.withLock { $0.known } }

    /// Reserves the pseudonyms in a text, such as a cassette to be continued, so that other secrets do not get them.
    ///
    /// The text is searched when the first secret gets a pseudonym: that of a large file takes long, and what is added
    /// may hold no secret.
    package func reserve(in text: [UInt8]) {
        state.withLock { $0.reserved.append(text) }
    }

    /// Reserves all secrets of a recording, so that none of them equals a pseudonym, which would be taken for one.
    func avoid(_ secrets: [NamedSecret]) {
        state.withLock { state in
            for secret in secrets { state.taken.insert(secret.bytes) }
        }
    }

    private static func newText(for secret: NamedSecret, in state: inout State) -> [UInt8] {
        for text in state.reserved {
            for range in PseudonymPlaces.all(in: text) { state.taken.insert(Array(text[range])) }
        }
        state.reserved = []
        let form = PseudonymForm(of: secret.bytes, kind: secret.kind, isNumber: secret.isNumber)
        var text: [UInt8]
        repeat {
            state.numbers[form, default: 0] += 1
            text = form.text(number: state.numbers[form, default: 1], for: secret.bytes)
        } while (text == secret.bytes || state.taken.contains(text))
            && state.numbers[form, default: 0] <= state.taken.count + 1
        state.taken.insert(text)
        state.assigned.insert(text)
        if !secret.isNumber { state.known.insert(secret.bytes, replacedBy: text) }
        return text
    }
}

/// The strategy of matching, and of messages about a file: every secret becomes the same text.
///
/// So requests with other secrets are equal. A message leaves the placeholders of its file, which tell which secret is meant.
///
/// A word that a recording leaves as it is stays here too, so that `?code=de` and `?code=fr` are two requests. A test
/// that replays with a word in place of a token is answered by the placeholder, which matches any text.
final class ErasedSecrets: SecretReplacing {
    private static let text = Array(Pseudonym.erasedText.utf8)

    private let leavesPlaceholders: Bool
    private let state = Mutex(KnownSecrets())

    init(leavingPlaceholders leavesPlaceholders: Bool = false) {
        self.leavesPlaceholders = leavesPlaceholders
    }

    func replacement(of secret: NamedSecret) -> [UInt8]? {
        guard !secret.isHarmless, secret.bytes != Self.text else { return nil }
        if leavesPlaceholders, secret.isMarkedPlaceholder || secret.mayBePlaceholder { return nil }
        if secret.isNumber { return [UInt8(ascii: "0")] }
        state.withLock { $0.insert(secret.bytes, replacedBy: Self.text) }
        return Self.text
    }

    var known: KnownSecrets { state.withLock { $0 } }
}

/// The strategy that notes the secrets of a message, and replaces nothing.
final class NotedSecrets: SecretReplacing {
    private let noted = Mutex<[NamedSecret]>([])
    /// Whether the words under the names of secrets are noted too, which are no secrets.
    private let notesWords: Bool

    init(notesWords: Bool = false) {
        self.notesWords = notesWords
    }

    /// The secrets, in the order in which they were found.
    var secrets: [NamedSecret] { noted.withLock { $0 } }

    func replacement(of secret: NamedSecret) -> [UInt8]? {
        if notesWords || !secret.isHarmless { noted.withLock { $0.append(secret) } }
        return nil
    }
}
