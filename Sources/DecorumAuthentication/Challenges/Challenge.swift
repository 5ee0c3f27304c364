public import Decorum
public import HTTPTypes

/// A challenge of a server: a scheme of authentication, and its parameters.
///
/// ```swift
/// for challenge in response.challenges where challenge.scheme == "bearer" {
///     print(challenge["error"] ?? "no error")
/// }
/// ```
///
/// See RFC 9110, section 11.6.1.
public struct Challenge: Sendable, Hashable {
    struct Parameter: Sendable, Hashable {
        let name: String
        let value: String

        init(_ name: String, _ value: String) {
            self.name = name.lowercased()
            self.value = value
        }
    }

    /// The scheme, in lower case, as in `bearer`.
    public let scheme: String
    /// The single value of schemes such as `Negotiate`; nil for a challenge with parameters or nothing.
    public let token68: String?
    let parameters: [Parameter]

    init(scheme: String, token68: String? = nil, parameters: [Parameter] = []) {
        self.scheme = scheme.lowercased()
        self.token68 = token68
        self.parameters = parameters
    }

    /// The value of a parameter, without quotation marks and backslashes; nil if it is missing, or occurs more than once, which
    /// RFC 9110 forbids.
    ///
    /// - Parameter name: The name, in lower case.
    public subscript(_ name: String) -> String? {
        let values = parameters.filter { $0.name == name }
        return values.count == 1 ? values.first?.value : nil
    }

    /// The realm: the part of the server that the challenge is for.
    public var realm: String? { self["realm"] }
}

extension HTTPFields {
    /// The challenges of the fields `WWW-Authenticate`, in order.
    ///
    /// A field is read up to its first mistake, and a challenge with a mistake is left out. No more than 64 KiB and 64
    /// challenges of at most 64 parameters are read.
    public var challenges: [Challenge] {
        var challenges: [Challenge] = []
        var bytes = 0
        for value in self[values: .wwwAuthenticate] {
            bytes += value.utf8.count
            guard bytes <= ChallengeParser.byteLimit else { break }
            challenges += Challenge.parse(value)
        }
        return Array(challenges.prefix(ChallengeParser.challengeLimit))
    }
}

extension Challenge {
    /// Reads the challenges of one field value, up to the first mistake.
    static func parse(_ value: String) -> [Challenge] {
        var parser = ChallengeParser(value)
        return parser.challenges()
    }
}

extension Response {
    /// The challenges of the response, in order.
    public var challenges: [Challenge] { head.headerFields.challenges }
}

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

    /// Reads the name and the equals sign of a parameter, if one comes next.
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

    /// Reads a single value, which only the end of the member may follow, if one comes next.
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
