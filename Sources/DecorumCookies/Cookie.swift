public import Foundation

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
    /// The kinds of requests; nil where the server has said nothing.
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

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, the domain and the path, without the value.
    public var description: String { "\(name.debugDescription) for \(domain)\(path)" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the value is a secret.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The parts of a URL by which cookies are chosen.
struct CookiePlace: Sendable {
    let host: String
    let path: String
    let isSecure: Bool
    let isAddress: Bool
    /// The domain whose hosts may share cookies, or the host where there is none.
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
