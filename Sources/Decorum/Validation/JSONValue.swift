import Foundation

/// A value within JSON that could not be decoded, of which only the shape is told.
struct JSONValue {
    private let value: Any?
    /// The path with the names that stand in the JSON, as far as there is one.
    let path: [any CodingKey]

    /// Finds a value; content that is not JSON, or that has no such value, has none.
    init(at path: [any CodingKey], in content: Data) {
        var value = try? JSONSerialization.jsonObject(with: content, options: .fragmentsAllowed)
        self.path = path.map { key in
            guard let index = key.intValue else {
                let name = Self.name(of: key.stringValue, in: value)
                value = name.flatMap { (value as? [String: Any])?[$0] }
                return name.map(JSONKey.init) ?? key
            }
            let array = value as? [Any]
            value = array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
            return key
        }
        self.value = value
    }

    /// The name of a member; after a conversion of keys, the path has the converted key.
    private static func name(of key: String, in value: Any?) -> String? {
        guard let object = value as? [String: Any] else { return nil }
        return object[key] == nil ? object.keys.sorted().first { SimilarKey($0, to: key) != nil } : key
    }

    /// The key of an object that differs from a name only in its case and in separators.
    func key(similarTo name: String) -> SimilarKey? {
        let keys = (value as? [String: Any])?.keys.sorted() ?? []
        return keys.lazy.compactMap { SimilarKey($0, to: name) }.first
    }

    /// Whether this is a string that begins with a date, as in `2026-11-22`.
    var isDate: Bool {
        guard let text = value as? String else { return false }
        let start = Array(text.utf8.prefix(10))
        return start.count == 10
            && start.indices.allSatisfy { index in
                index == 4 || index == 7 ? start[index] == UInt8(ascii: "-") : start[index].isDigit
            }
    }

    /// The members of an object that may hold a date in another format than that of ISO 8601: texts that begin with a digit
    /// or whose names sound like a date, or else its only text; none where they are more than three.
    var membersWithUnusualDate: [String] {
        let texts = (value as? [String: Any])?.compactMapValues { $0 as? String } ?? [:]
        let others = texts.filter { _, text in (try? Date(text, strategy: .iso8601)) == nil }
        let likely = others.filter { $1.utf8.first?.isDigit == true || Self.soundsLikeDate($0) }
        let members = likely.isEmpty && others.count == 1 ? others : likely
        return members.count <= 3 ? members.keys.sorted() : []
    }

    /// The places of the numbers that most types have no room for, as in `items[…].price`, or else of all numbers; none where
    /// they are more than three.
    var placesOfUnfitNumber: [String] {
        var (likely, all): (Set<String>, Set<String>) = ([], [])
        visitNumbers(value, at: "") { number, place in
            all.insert(place)
            if Int(exactly: number) == nil { likely.insert(place) }
        }
        let places = likely.isEmpty ? all : likely
        return places.count <= 3 ? places.sorted() : []
    }

    private func visitNumbers(_ value: Any?, at place: String, _ visit: (Double, String) -> Void) {
        switch value {
        case let object as [String: Any]:
            for (key, member) in object { visitNumbers(member, at: place.isEmpty ? key : "\(place).\(key)", visit) }
        case let array as [Any]:
            for element in array { visitNumbers(element, at: place + "[…]", visit) }
        // NSNumber also gives 0 and 1 as booleans, which fit every type.
        case let number as Double where !(value is Bool): visit(number, place.isEmpty ? "the top level" : place)
        default: break
        }
    }

    private static func soundsLikeDate(_ key: String) -> Bool {
        let name = key.lowercased()
        return name.contains("date") || ["time", "day"].contains(where: name.hasSuffix)
            || ["at", "on", "since", "until"].contains { name.hasSuffix("_\($0)") || key.hasSuffix($0.capitalized) }
    }
}

/// A name as it stands in JSON.
private struct JSONKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) { nil }
}

/// A key of JSON that differs from the name of a property only in its case and in separators, such as `user_name`.
struct SimilarKey: Sendable, Equatable {
    private let key: String
    /// The name that `.convertFromSnakeCase` makes of the key.
    private let converted: String
    private let name: String

    /// Returns nil for the name itself, and for a key that differs in more.
    init?(_ key: String, to name: String) {
        guard key != name, Self.letters(key) == Self.letters(name) else { return nil }
        self.key = key
        self.name = name
        converted = Self.convertFromSnakeCase(key)
    }

    private static func convertFromSnakeCase(_ key: String) -> String {
        let words = key.split(separator: "_")
        guard words.count > 1 else { return key }
        return words.dropFirst().reduce(words[0].lowercased()) { $0 + $1.capitalized }
    }

    /// The key that `.convertFromSnakeCase` turns into a name, if it is another one than the name; nil where no key is.
    static func snakeCase(_ name: String) -> String? {
        var isAfterLowercase = false
        let key = name.reduce(into: "") { key, letter in
            if letter.isUppercase, isAfterLowercase { key += "_" }
            isAfterLowercase = !letter.isUppercase
            key += letter.lowercased()
        }
        return key != name && convertFromSnakeCase(key) == name ? key : nil
    }

    private static func letters(_ text: String) -> String {
        text.lowercased().filter { $0 != "_" && $0 != "-" }
    }

    /// How to decode the key.
    var advice: String {
        let shown = Redaction.shownWords(key)
        guard converted != name else {
            return "It has “\(shown)”: set the decoder's `keyDecodingStrategy` to `.convertFromSnakeCase`."
        }
        let conversion =
            converted == key ? "" : ", which `.convertFromSnakeCase` turns into “\(Redaction.shownWords(converted))”"
        return "It has “\(shown)”\(conversion): give the property this name, or one in `CodingKeys`."
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
