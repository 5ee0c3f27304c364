/// The reason why a jar does not keep a cookie, as an open set.
public struct CookieRefusal: Sendable, Hashable, CustomStringConvertible {
    /// The name of the reason, suitable for a metric.
    public let description: String

    /// Creates a custom reason.
    ///
    /// - Parameter description: The name of the reason.
    public init(_ description: String) {
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
