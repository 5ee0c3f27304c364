/// A reader of the list of challenges in one field value (RFC 9110, sections 5.6, 11.2 and 11.6.1).
///
/// A comma separates challenges, and the parameters of a challenge too. A name with an equals sign behind it is a
/// parameter, and any other name begins a challenge.
struct ChallengeParser {
    static let byteLimit = 64 << 10
    static let challengeLimit = 64
    static let parameterLimit = 64

    private var rest: ArraySlice<UInt8>

    init(_ value: String) {
        let bytes = Array(value.utf8)
        rest = bytes.count <= Self.byteLimit ? bytes[...] : []
    }

    mutating func challenges() -> [Challenge] {
        var challenges: [Challenge] = []
        skipSeparators()
        while !rest.isEmpty, challenges.count < Self.challengeLimit, let challenge = challenge() {
            challenges.append(challenge)
        }
        return challenges
    }

    /// Reads a challenge with the separator behind it; nil for a mistake.
    private mutating func challenge() -> Challenge? {
        guard let scheme = token() else { return nil }
        guard isAtEndOfMember || rest.first == UInt8(ascii: " ") else { return nil }
        skipBlanks()
        if let value = token68() {
            skipSeparators()
            return Challenge(scheme: scheme, token68: value)
        }
        var parameters: [Challenge.Parameter] = []
        while let name = parameterName() {
            guard let value = value(), parameters.count < Self.parameterLimit else { return nil }
            skipBlanks()
            guard isAtEndOfMember else { return nil }
            skipSeparators()
            parameters.append(Challenge.Parameter(name, value))
        }
        if parameters.isEmpty {
            guard isAtEndOfMember else { return nil }
            skipSeparators()
        }
        return Challenge(scheme: scheme, parameters: parameters)
    }

    /// Reads the name and the equals sign of a parameter; reads nothing where there is none.
    private mutating func parameterName() -> String? {
        let start = rest
        if let name = token() {
            skipBlanks()
            if rest.first == UInt8(ascii: "=") {
                rest.removeFirst()
                skipBlanks()
                return name
            }
        }
        rest = start
        return nil
    }

    private mutating func value() -> String? {
        guard rest.first == UInt8(ascii: "\"") else { return token() }
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), escaped.isText else { return nil }
                bytes.append(escaped)
            default:
                guard byte.isText else { return nil }
                bytes.append(byte)
            }
        }
        return nil
    }

    /// Reads a single value, which only the end of the member may follow; reads nothing where there is none.
    private mutating func token68() -> String? {
        let characters = rest.prefix(while: \.isToken68)
        guard !characters.isEmpty else { return nil }
        let padding = rest[characters.endIndex...].prefix { $0 == UInt8(ascii: "=") }
        var behind = rest[padding.endIndex...]
        behind = behind.drop(while: \.isBlank)
        guard behind.isEmpty || behind.first == UInt8(ascii: ",") else { return nil }
        let value = String(decoding: rest[..<padding.endIndex], as: UTF8.self)
        rest = behind
        return value
    }

    private mutating func token() -> String? {
        let characters = rest.prefix(while: \.isTokenCharacter)
        guard !characters.isEmpty else { return nil }
        rest = rest[characters.endIndex...]
        return String(decoding: characters, as: UTF8.self)
    }

    private var isAtEndOfMember: Bool { rest.isEmpty || rest.first == UInt8(ascii: ",") }

    private mutating func skipBlanks() {
        rest = rest.drop(while: \.isBlank)
    }

    /// Skips commas and blanks, since a list may have empty members.
    private mutating func skipSeparators() {
        rest = rest.drop { $0.isBlank || $0 == UInt8(ascii: ",") }
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    fileprivate var isText: Bool { self == UInt8(ascii: "\t") || self >= 0x20 && self != 0x7F }

    private var isLetterOrDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x7A).contains(self | 0x20) }

    fileprivate var isTokenCharacter: Bool { isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }

    fileprivate var isToken68: Bool { isLetterOrDigit || "-._~+/".utf8.contains(self) }
}
