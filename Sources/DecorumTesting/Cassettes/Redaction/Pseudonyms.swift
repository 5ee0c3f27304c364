import Decorum
import Synchronization

/// A secret that a name marks.
package struct NamedSecret: Sendable {
    /// The kind of a place, by which a rule can leave the secret.
    package enum Place: Sendable, Hashable {
        case field
        case cookie
        /// An item of a URL or a form, or a part of a multipart form.
        case item
        /// A value of JSON, with the pattern of its path if that is known.
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
    fileprivate var isHarmless: Bool {
        if isNumber {
            // A PIN, and the number that proves that a person has a card, are short.
            let isLong = bytes.count(where: \.isDigit) >= (PlainWord.isChosen(name) ? 3 : 6)
            return !isLong || bytes.first.map { !$0.isDigit && $0 != UInt8(ascii: "-") } ?? true
        }
        switch place {
        // The whole value of a listed field is a credential.
        case .field, .userinfo, .path: return false
        case .cookie, .item, .json, .text: return !PlainWord.isChosen(name) && PlainWord.isPlain(bytes)
        }
    }

    /// Whether the value is a placeholder whose mark no secret has by chance.
    var isMarkedPlaceholder: Bool {
        guard isNumber else { return Pseudonym.isPseudonym(bytes) }
        return bytes.split { !$0.isDigit }.contains(where: PseudonymForm.isMarkedNumber)
    }

    /// The word for the kind of the secret.
    fileprivate var kind: String {
        switch place {
        case .cookie: return "cookie"
        case .userinfo: return "credentials"
        case .path: return "path"
        case .field, .item, .json, .text:
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

/// The texts in place of the secrets that ``SecretRewriting`` finds.
package final class Pseudonyms: Sendable {
    /// What the texts are for.
    package enum Purpose: Sendable {
        /// A file: each secret gets a pseudonym, which counts the secrets of its kind.
        ///
        /// The same secret has the same pseudonym in each place, encoded or not, so the pseudonyms depend on the order in
        /// which texts are redacted. A secret in an earlier text is missed if a name marks it only in a later text; so
        /// everything is redacted a second time with the same pseudonyms, which changes nothing else.
        case recording
        /// Comparing requests: every secret becomes the same text.
        ///
        /// A word that a recording leaves as it is stays here too, so that `?code=de` and `?code=fr` are two requests.
        case matching
        /// A message about a file: the same, but the placeholders of the file stay.
        case showing
        /// A list of the secrets, without the words under their names; nothing is replaced.
        case noting
    }

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
        /// The texts whose pseudonyms are not in `taken` yet.
        var reserved: [[UInt8]] = []
        var known = KnownSecrets()
        var left: Set<[UInt8]> = []
        var noted: [NamedSecret] = []
        var list: [SecretReplacement] = []
        /// The index in the list of each text that is assigned.
        var places: [[UInt8]: Int] = [:]
    }

    /// The length from which equal bytes under another name are the same secret, and not equal by chance.
    private static let identityLength = 6
    private static let erased = Array(Pseudonym.erasedText.utf8)

    private let purpose: Purpose
    private let state = Mutex(State())

    package init(for purpose: Purpose = .recording) {
        self.purpose = purpose
    }

    /// Whether ``list`` needs the paths of places in JSON, which take time to find.
    var readsPaths: Bool { if case .recording = purpose { true } else { false } }

    /// The text in place of a secret that is not empty; nil for a secret that stays.
    ///
    /// The text does not have the encoding of the place. In place of a number of JSON, it is a number.
    func replacement(of secret: NamedSecret) -> [UInt8]? {
        let isHarmless = secret.isHarmless
        switch purpose {
        case .noting:
            if !isHarmless { state.withLock { $0.noted.append(secret) } }
            return nil
        case .recording: return isHarmless ? nil : pseudonym(of: secret)
        case .matching, .showing:
            guard !isHarmless, secret.bytes != Self.erased else { return nil }
            if case .showing = purpose, secret.isMarkedPlaceholder || PseudonymForm.isNumber(secret.bytes[...]) {
                return nil
            }
            if secret.isNumber { return [UInt8(ascii: "0")] }
            state.withLock { $0.known.insert(secret.bytes, replacedBy: Self.erased) }
            return Self.erased
        }
    }

    private func pseudonym(of secret: NamedSecret) -> [UInt8]? {
        let isMarked = secret.isMarkedPlaceholder
        return state.withLock { state in
            if isMarked {
                state.taken.insert(secret.bytes)
                return nil
            }
            // No secret of the recording has this text, since those are avoided.
            if state.places[secret.bytes] != nil { return nil }
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

    private static func newText(for secret: NamedSecret, in state: inout State) -> [UInt8] {
        for text in state.reserved { state.taken.formUnion(PseudonymPlaces.all(in: text).map { Array(text[$0]) }) }
        state.reserved = []
        let form = PseudonymForm(of: secret.bytes, kind: secret.kind, isNumber: secret.isNumber)
        var (text, number) = (secret.bytes, state.numbers[form] ?? 0)
        repeat {
            number += 1
            text = form.text(number: number, for: secret.bytes)
        } while (text == secret.bytes || state.taken.contains(text)) && number <= state.taken.count + 1
        state.numbers[form] = number
        state.taken.insert(text)
        if !secret.isNumber { state.known.insert(secret.bytes, replacedBy: text) }
        return text
    }

    /// Notes that the rules leave a secret.
    func leave(_ secret: NamedSecret) {
        guard case .recording = purpose else { return }
        state.withLock { state in
            state.left.insert(secret.bytes)
            // The search before a file is written finds the password alone.
            if secret.place == .userinfo, let colon = secret.bytes.firstIndex(of: UInt8(ascii: ":")) {
                state.left.insert(Array(secret.bytes[(colon + 1)...]))
            }
        }
    }

    /// Reserves the pseudonyms in a text, such as a cassette to be continued, so that other secrets do not get them.
    ///
    /// The text is searched when the first secret gets a pseudonym: that of a large file takes long, and what is added
    /// may hold no secret.
    package func reserve(in text: [UInt8]) { state.withLock { $0.reserved.append(text) } }

    /// Reserves all secrets of a recording, so that none of them equals a pseudonym, which would be taken for one.
    func avoid(_ secrets: [NamedSecret]) { state.withLock { $0.taken.formUnion(secrets.map(\.bytes)) } }

    /// The secrets that are replaced in any place.
    var known: KnownSecrets { state.withLock { $0.known } }

    /// The values that the rules have left.
    var left: Set<[UInt8]> { state.withLock { $0.left } }

    /// The secrets that were noted, in the order in which they were found.
    var noted: [NamedSecret] { state.withLock { $0.noted } }

    /// The values that were replaced, in the order in which they were found.
    package var list: [SecretReplacement] { state.withLock { $0.list } }
}
