import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111, section 5.2).
struct CacheControl: Sendable {
    private var directives: [(name: String, argument: Substring?)] = []

    /// Reads the directives of a message; what cannot be understood is passed over.
    init(_ fields: HTTPFields) {
        guard fields.contains(.cacheControl) else { return }
        for field in fields where field.name == .cacheControl {
            for member in ListMembers(field.value) {
                let name = Substring(member.utf8.prefix { $0 != UInt8(ascii: "=") })
                let argument = name.endIndex == member.endIndex ? nil : member[name.endIndex...].dropFirst()
                directives.append((name.inLowerCase, argument))
            }
        }
    }

    /// Whether a directive is there, with or without an argument.
    func contains(_ name: String) -> Bool {
        directives.contains { $0.name == name }
    }

    /// The argument of a directive without quotation marks; nil where the directive is missing or has none.
    func argument(of name: String) -> Substring? {
        guard let argument = directives.first(where: { $0.name == name })?.argument else { return nil }
        return argument.unquoted
    }

    /// The seconds that a directive tells; nil where it is missing, and none where it does not tell a number.
    ///
    /// The first of several counts, and a number too large for a clock is 2³¹ (RFC 9111, sections 1.2.2 and 4.2.1).
    func seconds(of name: String) -> Double? {
        guard let directive = directives.first(where: { $0.name == name }) else { return nil }
        return directive.argument.flatMap { DeltaSeconds.parse($0.unquoted) } ?? 0
    }

    /// The names of fields that the arguments of a directive list.
    func fields(of name: String) -> [HTTPField.Name] {
        directives.filter { $0.name == name }.flatMap { Self.fields(in: $0.argument) }
    }

    /// Whether a directive stands without an argument that limits it to some fields.
    func isUnqualified(_ name: String) -> Bool {
        directives.contains { $0.name == name && Self.fields(in: $0.argument).isEmpty }
    }

    private static func fields(in argument: Substring?) -> [HTTPField.Name] {
        guard let argument else { return [] }
        return ListMembers(String(argument.unquoted)).compactMap { HTTPField.Name(String($0)) }
    }
}

/// A number of seconds in a field (RFC 9111, section 1.2.2).
enum DeltaSeconds {
    /// Parses digits and nothing else; what is larger than a clock can hold is 2³¹.
    static func parse(_ text: Substring) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Double(min(Int64(text) ?? .max, 1 << 31))
    }
}

extension Substring {
    /// The content of a quoted string whose escapes do not matter; all else as it is.
    fileprivate var unquoted: Substring {
        utf8.count > 1 && utf8.first == UInt8(ascii: "\"") && utf8.last == UInt8(ascii: "\"")
            ? dropFirst().dropLast() : self
    }
}
