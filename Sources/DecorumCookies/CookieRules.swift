/// The decision about a cookie that a server sets (RFC 6265bis, section 5.7).
enum CookieRules {
    /// The longest time that a cookie lives, in seconds: 400 days.
    static let longestAge: Int64 = 400 * 86_400

    /// Decides about a cookie of a request at a place, without regard to other cookies.
    static func cookie(
        _ set: SetCookie, from place: CookiePlace, at now: Int64, suffixes: PublicSuffixes
    ) -> Result<Cookie, CookieRefusal> {
        var domain = set.domain.flatMap { $0.isEmpty ? nil : $0 }
        if let wanted = domain {
            // A domain that is the host itself is allowed for addresses and suffixes, and then means the host alone. No list
            // has names with a dot at their end, such as `com.`, which are suffixes as well.
            if place.isAddress || wanted.utf8.last == UInt8(ascii: ".") || suffixes.isPublicSuffix(wanted) {
                guard wanted == place.host else {
                    return .failure(place.isAddress ? .domain : .publicSuffix)
                }
                domain = nil
            } else if !place.host.matches(domain: wanted) {
                return .failure(.domain)
            }
        }
        let cookie = Cookie(
            name: set.name, value: set.value, domain: domain ?? place.host, isHostOnly: domain == nil,
            path: set.path ?? place.defaultPath, isSecure: set.isSecure, isHTTPOnly: set.isHTTPOnly,
            sameSite: set.sameSite, end: end(of: set, at: now))
        guard !set.isSecure || place.isSecure else { return .failure(.notEncrypted) }
        guard set.sameSite != SetCookie.SameSite.none || set.isSecure else {
            return .failure(.sameSiteNone)
        }
        guard keepsPromise(cookie, hasRootPath: set.path == "/") else { return .failure(.prefix) }
        return .success(cookie)
    }

    /// The end of a cookie: that of `Max-Age`, else that of `Expires`, at most 400 days from now.
    private static func end(of set: SetCookie, at now: Int64) -> Int64? {
        if let age = set.maximumAge { return age > 0 ? now + min(Int64(age), longestAge) : .min }
        return set.expires.map { min(HTTPDate($0).seconds, now + longestAge) }
    }

    /// Whether the attributes keep the promise of the name's prefix, or of the prefix of a nameless cookie's value,
    /// which a server could not tell from a name.
    private static func keepsPromise(_ cookie: Cookie, hasRootPath: Bool) -> Bool {
        let name = ArraySlice((cookie.name.isEmpty ? cookie.value : cookie.name).utf8)
        let isHost = name.startsIgnoringCase(with: "__host-")
        guard isHost || name.startsIgnoringCase(with: "__secure-") else { return true }
        guard !cookie.name.isEmpty, cookie.isSecure else { return false }
        return !isHost || cookie.isHostOnly && hasRootPath
    }
}

/// The reason why a jar does not keep a cookie, as an open set.
public struct CookieRefusal: Error, Hashable, CustomStringConvertible {
    /// The name of the reason, suitable for a metric.
    public let description: String

    private init(_ description: String) {
        self.description = description
    }

    /// The field has a control character, is too long, is empty, or is not UTF-8.
    public static let invalid = CookieRefusal("invalid")
    /// The URL names no server.
    public static let invalidURL = CookieRefusal("invalidURL")
    /// The cookie is for another domain.
    public static let domain = CookieRefusal("domain")
    /// The domain is one under which anybody can register a name, such as `co.uk`.
    public static let publicSuffix = CookieRefusal("publicSuffix")
    /// The cookie is for https alone and came over http.
    public static let notEncrypted = CookieRefusal("notEncrypted")
    /// A cookie over http would hide one that is for https alone.
    public static let hidesSecure = CookieRefusal("hidesSecure")
    /// The cookie is for all sites (`SameSite=None`) and not for https alone.
    public static let sameSiteNone = CookieRefusal("sameSiteNone")
    /// The name begins with `__Secure-` or `__Host-`, and the attributes do not keep that promise.
    public static let prefix = CookieRefusal("prefix")
}
