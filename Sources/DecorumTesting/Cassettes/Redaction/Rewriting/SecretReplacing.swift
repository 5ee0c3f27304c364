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

    /// Whether there is a secret that is replaced in any place.
    var hasKnown: Bool { get }

    /// Replaces the known secrets in any place; nil when there are none.
    ///
    /// - Parameter text: The text.
    /// - Returns: The text without them.
    func replacingKnown(in text: [UInt8]) -> [UInt8]?
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
        if isNumber { return !Self.isLongNumber(bytes, named: name) }
        switch place {
        // The whole value of a listed field is a credential.
        case .field, .userinfo, .path: return false
        case .cookie, .item, .json, .text: return PlainWord.isHarmless(bytes, named: name)
        }
    }

    /// Whether the value is a placeholder whose mark no secret has by chance.
    var isMarkedPlaceholder: Bool {
        isNumber ? PseudonymForm.isMarked(bytes, isNumber: true) : Pseudonym.isPseudonym(bytes)
    }

    /// Whether the value has the form of a placeholder, which a short secret may have too.
    var mayBePlaceholder: Bool { PseudonymForm.number(of: bytes, isNumber: isNumber) != nil }

    /// A PIN, and the number that proves that a person has a card, are short.
    private static func isLongNumber(_ number: [UInt8], named name: [UInt8]) -> Bool {
        guard let first = number.first, first.isDigit || first == UInt8(ascii: "-") else { return false }
        return number.count(where: \.isDigit) >= (PlainWord.isChosen(name) ? 3 : 6)
    }
}
