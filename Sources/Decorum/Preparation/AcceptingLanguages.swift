import Foundation
import HTTPTypes

extension Connection {
    /// Asks for content in one of several languages, best first.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .acceptingLanguages(["de-CH", "de", "en"])
    /// // Accept-Language: de-CH, de;q=0.9, en;q=0.8
    /// ```
    ///
    /// A language that is named twice counts once. At most six languages are sent: a longer list tells more about a
    /// user than a server needs. A request that has an `Accept-Language` passes unchanged. Place it outside of everything
    /// that reads the fields, above all the cache.
    ///
    /// - Parameter languages: Language tags of BCP 47, such as `pt-BR`, or `*` for any language.
    /// - Returns: A connection that adds the field.
    /// - Throws: ``InvalidRequestError`` for an empty list, or for text that is not a tag, such as `pt_BR`.
    public func acceptingLanguages(_ languages: [String]) throws(InvalidRequestError) -> some Connection {
        guard !languages.isEmpty, languages.allSatisfy(\.isLanguageRange) else {
            throw InvalidRequestError(
                .invalidField, "The languages to accept have no member, or one that is not a tag of BCP 47, as pt-BR.")
        }
        return accepting(languages)
    }

    /// Asks for content in the languages that the user prefers, by the settings of the system.
    ///
    /// The settings are read once, when the stack is composed. If they have no language that can be sent, no field is
    /// added.
    ///
    /// - Returns: A connection that adds the field.
    public func acceptingLanguages() -> some Connection {
        accepting(Locale.preferredLanguages.filter(\.isLanguageRange))
    }

    private func accepting(_ languages: [String]) -> FieldsConnection<Self> {
        let value = languages.acceptLanguage
        return FieldsConnection(
            base: self, name: "acceptingLanguages", settings: [Layer.Setting("languages", value)],
            source: .fixed(value.isEmpty ? [:] : [.acceptLanguage: value]))
    }
}

extension [String] {
    /// The value of `Accept-Language` for languages, best first; empty without a language.
    var acceptLanguage: String {
        var languages: [String] = []
        for tag in self where languages.count < 6 {
            let isKnown = languages.contains { $0.caseInsensitiveCompare(tag) == .orderedSame }
            if !isKnown { languages.append(tag) }
        }
        return languages.enumerated()
            .map { index, language in index == 0 ? language : "\(language);q=0.\(10 - index)" }
            .joined(separator: ", ")
    }
}

extension String {
    /// Whether this is a basic language range (RFC 4647, section 2.1); each tag of BCP 47 is one.
    var isLanguageRange: Bool {
        let subtags = utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return self == "*"
            || subtags.enumerated().allSatisfy { index, subtag in
                (1...8).contains(subtag.count)
                    && subtag.allSatisfy { $0.isASCIILetter || (index > 0 && $0.isASCIIDigit) }
            }
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool { (0x61...0x7A).contains(self | 0x20) }

    fileprivate var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
}
