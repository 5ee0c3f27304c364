import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111, section 5.2).
struct CacheControl: Sendable {
    private var directives: [(name: String, argument: Substring?)] = []

    /// Reads the directives of a message; invalid members are ignored.
    init(_ fields: HTTPFields) {
        guard fields.has(.cacheControl) else { return }
        for field in fields where field.name == .cacheControl {
            for member in ListMembers(field.value) {
                let bytes = member.utf8
                let equals = bytes.firstIndex(of: UInt8(ascii: "="))
                let name = Substring(bytes[..<(equals ?? bytes.endIndex)])
                directives.append((name.inLowerCase, equals.map { Substring(bytes[$0...].dropFirst()) }))
            }
        }
    }

    /// Whether a directive is present, with or without an argument.
    func contains(_ name: String) -> Bool {
        directives.contains { $0.name == name }
    }

    /// The argument of a directive without quotation marks; nil when the directive or its argument is absent.
    func argument(of name: String) -> Substring? {
        guard let argument = directives.first(where: { $0.name == name })?.argument else { return nil }
        return argument.unquoted
    }

    /// The seconds in the argument of a directive; nil when the directive is absent, and 0 when it has no number as its
    /// argument.
    ///
    /// Of several directives, the first is used. A number too large for a clock counts as 2³¹ (RFC 9111, sections 1.2.2
    /// and 4.2.1).
    func seconds(of name: String) -> Double? {
        guard let directive = directives.first(where: { $0.name == name }) else { return nil }
        return directive.argument.flatMap { DeltaSeconds.parse($0.unquoted) } ?? 0
    }

    /// The names of fields that the arguments of a directive list.
    func fields(of name: String) -> [HTTPField.Name] {
        directives.filter { $0.name == name }.flatMap { Self.fields(in: $0.argument) }
    }

    /// Whether a directive is present without an argument that limits it to some fields.
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
    /// Parses text that consists of digits only; a number larger than a clock can hold becomes 2³¹.
    static func parse(_ text: Substring) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Double(min(Int64(text) ?? .max, 1 << 31))
    }
}

extension Substring {
    /// The content of a quoted string, with its escapes unchanged; any other text as it is.
    fileprivate var unquoted: Substring {
        utf8.count > 1 && utf8.first == UInt8(ascii: "\"") && utf8.last == UInt8(ascii: "\"")
            ? dropFirst().dropLast() : self
    }
}

extension HTTPField.Name {
    /// The field before `Cache-Control` (RFC 9111, section 5.4).
    // Safe: the literal is a valid field name.
    // swift-format-ignore: NeverForceUnwrap
    static let pragma = HTTPField.Name("Pragma")!
}
