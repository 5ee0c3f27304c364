public import Foundation
public import HTTPTypes

/// A cookie as a server sets it: the value of a `Set-Cookie` field (RFC 6265bis, sections 4.1 and 5.6).
///
/// ```swift
/// let cookie = SetCookie("session=31d4d96e; Path=/; Secure; HttpOnly; SameSite=Lax")
/// print(cookie?.name ?? "", cookie?.sameSite == .lax)  // session true
/// ```
///
/// A server makes one with ``init(name:value:)``, sets its attributes, and sends its ``field``. Descriptions and
/// reflection show no value.
public struct SetCookie: Sendable, Hashable {
    /// The kinds of requests that a cookie goes with, by the site that asks for them.
    public enum SameSite: String, Sendable, Hashable, CaseIterable {
        /// Only with requests that its own site asks for.
        case strict = "Strict"
        /// Also with requests that another site leads to by a safe method.
        case lax = "Lax"
        /// With all requests; the cookie has to be ``SetCookie/isSecure``.
        case none = "None"
    }

    /// The name, which may be empty.
    public var name: String
    /// The value, which may be empty unless the name is; quotation marks are a part of it.
    public var value: String
    /// The domain whose hosts all get the cookie, in lower case and without a dot at its start; nil for the host alone.
    public var domain: String?
    /// The path below which the cookie goes with requests; nil for the folder of the request.
    public var path: String?
    /// The point in time at which the cookie ends; ``maximumAge`` is stronger.
    public var expires: Date?
    /// The seconds after which the cookie ends; with 0 or less, it ends at once.
    ///
    /// A cookie without this value and without ``expires`` belongs to a session.
    public var maximumAge: Int?
    /// Whether the cookie goes over https alone.
    public var isSecure = false
    /// Whether scripts of a page do not see the cookie, which has no effect here.
    public var isHTTPOnly = false
    /// The kinds of requests; nil if the server says nothing.
    public var sameSite: SameSite?

    /// The largest number of bytes of a name and its value together.
    static let sizeLimit = 4096
    /// The largest number of bytes of the value of an attribute.
    static let attributeLimit = 1024

    /// Creates a cookie without attributes.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Parses the value of a field.
    ///
    /// Unknown and faulty attributes are ignored, and so are attributes of more than 1024 bytes; of several with one name, the
    /// last one counts.
    ///
    /// - Parameter value: The value of one `Set-Cookie` field; nil for one with a control character, with more than 4096
    ///   bytes of name and value, with neither of them, or that is not UTF-8.
    public init?(_ value: String) {
        let bytes = ArraySlice(value.utf8)
        guard !bytes.contains(where: \.isControl), !value.unicodeScalars.contains("\u{FFFD}") else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        let halves = (parts.first ?? []).halves
        // Without an equals sign, the whole is the value of a cookie without a name.
        let (nameText, valueText) = halves.second.map { (halves.first, $0) } ?? ([], halves.first)
        guard nameText.count + valueText.count <= Self.sizeLimit, !nameText.isEmpty || !valueText.isEmpty,
            let name = nameText.string, let content = valueText.string
        else { return nil }
        self.init(name: name, value: content)
        for part in parts.dropFirst() { take(part) }
    }

    private mutating func take(_ attribute: CookieText) {
        let (name, second) = attribute.halves
        let value = second ?? []
        guard value.count <= Self.attributeLimit else { return }
        switch true {
        case name.equalsIgnoringCase("expires"): expires = CookieDate(value)?.date ?? expires
        case name.equalsIgnoringCase("max-age"): maximumAge = Self.seconds(of: value) ?? maximumAge
        case name.equalsIgnoringCase("domain"):
            let host = value.first == UInt8(ascii: ".") ? value.dropFirst() : value
            domain = host.isEmpty ? nil : host.string?.lowercased()
        case name.equalsIgnoringCase("path"):
            path = value.first == UInt8(ascii: "/") ? value.string : nil
        case name.equalsIgnoringCase("secure"): isSecure = true
        case name.equalsIgnoringCase("httponly"): isHTTPOnly = true
        case name.equalsIgnoringCase("samesite"):
            sameSite = SameSite.allCases.first { $0.rawValue.lowercased() == value.string?.lowercased() }
        default: break
        }
    }

    /// The seconds of `Max-Age`, at most the largest number; nil for a text that is no number.
    private static func seconds(of value: CookieText) -> Int? {
        let isNegative = value.first == UInt8(ascii: "-")
        let digits = isNegative ? value.dropFirst() : value
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        return isNegative ? -1 : Int(digits.string ?? "") ?? .max
    }
}

extension SetCookie {
    /// The field that sets the cookie; nil if a part of it has a character that would end that part.
    ///
    /// The name has to be a token, and the value has no blanks, commas, semicolons, quotation marks within or control
    /// characters (RFC 6265bis, section 4.1.1): encode other content, as in base64.
    public var field: HTTPField? {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isToken), CookiePair(name: name, value: value).isSendable,
            name.utf8.count + value.utf8.count <= Self.sizeLimit
        else { return nil }
        var parts = ["\(name)=\(value)"]
        for (label, text) in [("Domain", domain), ("Path", path)] {
            guard let text else { continue }
            guard text.utf8.count <= Self.attributeLimit, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x3B })
            else { return nil }
            parts.append("\(label)=\(text)")
        }
        if let expires { parts.append("Expires=\(HTTPDate(expires))") }
        if let maximumAge { parts.append("Max-Age=\(maximumAge)") }
        if isSecure { parts.append("Secure") }
        if isHTTPOnly { parts.append("HttpOnly") }
        if let sameSite { parts.append("SameSite=\(sameSite.rawValue)") }
        return HTTPField(name: .setCookie, value: parts.joined(separator: "; "))
    }
}

extension SetCookie: SecretHolder {
    /// The name and the domain, without the value.
    public var description: String { "\(name.debugDescription)" + (domain.map { " for \($0)" } ?? "") }
}

/// The date in the attribute `Expires`, which is read in nearly any form (RFC 6265bis, section 5.1.1).
///
/// A time, a day of the month, a month and a year are looked for in any order. Names of days and time zones are ignored:
/// the date is in UTC.
struct CookieDate {
    /// The seconds since 1970.
    let seconds: Int64

    init?(_ text: CookieText) {
        var parts = CookieDateParts()
        for token in text.split(whereSeparator: \.isDateDelimiter) { parts.take(token) }
        guard let seconds = parts.seconds else { return nil }
        self.seconds = seconds
    }

    var date: Date { Date(timeIntervalSince1970: Double(seconds)) }
}

private struct CookieDateParts {
    private static let months = Array("janfebmaraprmayjunjulaugsepoctnovdec".utf8)

    private var time: [Int]?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    /// Takes a token for the first part that it fits and that is not there yet.
    mutating func take(_ token: CookieText) {
        if time == nil, let time = Self.time(of: token) {
            self.time = time
        } else if day == nil, let day = Self.number(at: token, digits: 1...2) {
            self.day = day
        } else if month == nil, let month = Self.month(of: token) {
            self.month = month
        } else if year == nil, let year = Self.number(at: token, digits: 2...4) {
            self.year = year
        }
    }

    var seconds: Int64? {
        guard let time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 }
        if (0...69).contains(year) { year += 2000 }
        let date = CivilDate(
            year: year, month: month, day: day, hour: time[0], minute: time[1], second: time[2])
        guard year >= 1601, day >= 1, day <= date.daysInMonth, time[0] <= 23, time[1] <= 59, time[2] <= 59 else {
            return nil
        }
        return date.seconds
    }

    /// The number at the start of a token; nil if it has another count of digits.
    private static func number(at token: CookieText, digits: ClosedRange<Int>) -> Int? {
        let found = token.prefix(while: \.isDigit)
        guard digits.contains(found.count) else { return nil }
        return found.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func time(of token: CookieText) -> [Int]? {
        let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, fields[0].allSatisfy(\.isDigit), fields[1].allSatisfy(\.isDigit) else { return nil }
        let numbers = fields.compactMap { number(at: $0, digits: 1...2) }
        return numbers.count == 3 ? numbers : nil
    }

    private static func month(of token: CookieText) -> Int? {
        guard token.count >= 3 else { return nil }
        let name = token.prefix(3).map { $0 | 0x20 }
        return (0..<12).first { months[($0 * 3)..<($0 * 3 + 3)].elementsEqual(name) }.map { $0 + 1 }
    }
}

extension UInt8 {
    fileprivate var isDateDelimiter: Bool {
        switch self {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }
}
