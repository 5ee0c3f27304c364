public import Foundation
public import HTTPTypes

/// A cookie in a jar: its value, and the requests that it goes with (RFC 6265bis, section 5.7).
///
/// Descriptions and reflection show no value.
public struct Cookie: Sendable, Hashable {
    /// The name, which may be empty.
    public let name: String
    /// The value.
    public let value: String
    /// The host, or the domain whose hosts all get the cookie.
    public let domain: String
    /// Whether only ``domain`` itself gets the cookie, and no host below it.
    public let isHostOnly: Bool
    /// The path below which the cookie goes with requests.
    public let path: String
    /// The point in time at which the cookie ends; nil for a cookie of a session.
    public var expires: Date? { end.map { Date(timeIntervalSince1970: Double($0)) } }
    /// Whether the cookie goes over https alone.
    public let isSecure: Bool
    /// Whether scripts of a page do not see the cookie.
    public let isHTTPOnly: Bool
    /// The kinds of requests; nil if the server has said nothing.
    public let sameSite: SetCookie.SameSite?

    /// The end in seconds since 1970.
    let end: Int64?

    /// Whether the cookie has ended.
    func hasEnded(at now: Int64) -> Bool { end.map { $0 <= now } ?? false }

    /// Whether both are the same cookie, perhaps with another value.
    func isSame(as other: Cookie) -> Bool {
        name == other.name && domain == other.domain && isHostOnly == other.isHostOnly && path == other.path
    }

    /// Whether the cookie goes with requests to a place.
    func goes(to place: CookiePlace) -> Bool {
        let reaches = isHostOnly ? domain == place.host : place.host.matches(domain: domain)
        return reaches && (!isSecure || place.isSecure) && place.path.matches(path: path)
    }

    /// The pair that is sent.
    var pair: CookiePair { CookiePair(name: name, value: value) }
}

extension Cookie: SecretHolder {
    /// The name, the domain and the path, without the value.
    public var description: String { "\(name.debugDescription) for \(domain)\(path)" }
}

/// The parts of a URL by which cookies are chosen.
struct CookiePlace: Sendable {
    let host: String
    let path: String
    let isSecure: Bool
    let isAddress: Bool
    /// The domain whose hosts may share cookies, or the host without one.
    let site: String

    init(_ origin: Origin, path: String?, suffixes: PublicSuffixes) {
        host = origin.host
        let path = path ?? "/"
        let end = path.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? path.endIndex
        self.path = path.utf8.first == UInt8(ascii: "/") ? String(path[..<end]) : "/"
        isSecure = origin.scheme == "https"
        isAddress = origin.hasAddress
        site = suffixes.site(of: origin)
    }

    /// The path of a cookie that names none (RFC 6265bis, section 5.1.4).
    var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}

extension String {
    /// Whether a host is a domain or one below it; the caller knows that it is no address.
    func matches(domain: String) -> Bool {
        guard utf8.count > domain.utf8.count else { return self == domain }
        return hasSuffix(domain)
            && utf8[utf8.index(utf8.endIndex, offsetBy: -domain.utf8.count - 1)] == UInt8(ascii: ".")
    }

    /// Whether the path of a request is that of a cookie or below it (RFC 6265bis, section 5.1.4).
    func matches(path: String) -> Bool {
        guard utf8.starts(with: path.utf8) else { return false }
        return utf8.count == path.utf8.count || path.utf8.last == UInt8(ascii: "/")
            || utf8[utf8.index(utf8.startIndex, offsetBy: path.utf8.count)] == UInt8(ascii: "/")
    }
}

/// A cookie as a client sends it: one pair in a `Cookie` field (RFC 6265bis, sections 4.2 and 5.8.3).
///
/// Descriptions and reflection show no value.
public struct CookiePair: Sendable, Hashable {
    /// The name; empty for a pair without an equals sign.
    public var name: String
    /// The value; quotation marks are a part of it.
    public var value: String

    /// Parses the value of a `Cookie` field.
    static func all(in field: String) -> [CookiePair] {
        field.utf8.split(separator: UInt8(ascii: ";")).compactMap { part in
            let (first, second) = ArraySlice(part).halves
            guard !first.isEmpty || second.map({ !$0.isEmpty }) ?? false, !part.contains(where: \.isControl) else {
                return nil
            }
            guard let second else { return first.string.map { CookiePair(name: "", value: $0) } }
            guard let name = first.string, let value = second.string else { return nil }
            return CookiePair(name: name, value: value)
        }
    }

    /// Parses all `Cookie` fields of a request; HTTP/2 allows several.
    ///
    /// The order stays, and a name may be there more than once: a client puts the cookie with the longer path first. Parts
    /// that are empty, that have a control character or that are not UTF-8 are left out.
    ///
    /// - Parameter fields: The fields of the request.
    /// - Returns: The pairs, in order.
    public static func all(in fields: HTTPFields) -> [CookiePair] {
        fields[values: .cookie].flatMap { all(in: $0) }
    }

    /// The pair as it is sent; a cookie without a name is its value alone.
    var text: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// Whether the value can be sent as it is (RFC 6265bis, section 4.1.1).
    var isSendable: Bool {
        let bytes = ArraySlice(value.utf8)
        let isQuoted = bytes.count >= 2 && bytes.first == 0x22 && bytes.last == 0x22
        return (isQuoted ? bytes.dropFirst().dropLast() : bytes).allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && !"\",;\\".utf8.contains(byte)
        }
    }
}

extension CookiePair: SecretHolder {
    /// The name, without the value.
    public var description: String { name.debugDescription }
}

extension UInt8 {
    /// Whether the byte may be in a token (RFC 9110, section 5.6.2).
    var isToken: Bool { isDigit || isLetter || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}

/// The bytes of a cookie or of one of its attributes, as a part of a field.
typealias CookieText = ArraySlice<UInt8>

extension CookieText {
    /// The text without blanks and tabs at both ends.
    var trimmed: CookieText {
        guard let first = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
            return []
        }
        return self[first...last]
    }

    /// The parts before and after the first equals sign; the second is nil without a sign.
    var halves: (first: CookieText, second: CookieText?) {
        guard let sign = firstIndex(of: UInt8(ascii: "=")) else { return (trimmed, nil) }
        return (self[..<sign].trimmed, self[(sign + 1)...].trimmed)
    }

    /// The text; nil if it is not UTF-8.
    var string: String? { String(validating: self, as: UTF8.self) }

    /// Whether the text equals an ASCII text in lower case, in any case.
    func equalsIgnoringCase(_ other: StaticString) -> Bool {
        count == other.utf8CodeUnitCount && startsIgnoringCase(with: other)
    }

    /// Whether the text begins with an ASCII text in lower case, in any case.
    func startsIgnoringCase(with other: StaticString) -> Bool {
        // A static string is a constant of the program, which lives as long as the program.
        let prefix = unsafe UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount)
        guard count >= prefix.count else { return false }
        return unsafe zip(self, prefix).allSatisfy { $0.inLowerCase == $1 }
    }
}

extension UInt8 {
    var isBlank: Bool { self == 0x20 || self == 0x09 }
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    /// Whether the byte ends the parsing of a cookie: a control character other than a tab.
    var isControl: Bool { self < 0x20 && self != 0x09 || self == 0x7F }
    fileprivate var inLowerCase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
