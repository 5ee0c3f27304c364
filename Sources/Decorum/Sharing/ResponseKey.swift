public import HTTPTypes

/// The key of a stored response: a method, a URI, and the user on whose behalf it was requested.
///
/// Two requests with different principals, or with different values of a field that holds credentials, have different
/// keys. A field holds credentials if ``Redaction/standard`` knows it, such as `Authorization`, `Cookie` and
/// `X-My-Token`; if ``RequestOptions/secretFields`` names it; if it is marked as never indexed; or if its value has the
/// shape of a token. `Host` and fields that name a user, such as `From`, `X-User-Id` and `X-Tenant`, distinguish keys
/// too. The key of a `QUERY` holds the exact content of the request, and the fields that describe it. A description of a
/// key shows neither fields nor content.
///
/// A key that you create has the request's `Cookie`, so that it separates users in any store. A cache compares cookies by
/// itself, so the keys under which it stores do not have them: see ``StoredResponse/cookieDiffers(from:)``.
public struct ResponseKey: Sendable, Hashable {
    // Copies of a key share its parts: several tables hold the key of each request.
    private let parts: Parts

    /// The method of the request.
    public var method: HTTPRequest.Method { parts.method }
    /// The URI of the request.
    public var uri: URI { parts.uri }
    /// The user on whose behalf the request is made.
    public var principal: Principal? { parts.principal }
    // These include fields that select a resource in addition to the URI, such as Host.
    var credentials: [HTTPField] { parts.credentials }

    /// Creates the key of a request.
    ///
    /// - Parameters:
    ///   - request: A request; the result is nil for a request without an origin, and for a `QUERY` whose content is
    ///     not in memory or is larger than 64 KiB.
    ///   - method: The method to look for instead of the request's method, since a `HEAD` can be answered with the
    ///     response to a `GET`.
    public init?(_ request: borrowing Request, method: HTTPRequest.Method? = nil) {
        let telling = TellingFields(
            request.head.headerFields, declaredSecret: request.options.secretFields, countsCookie: true)
        self.init(request, method: method ?? request.head.method, telling)
    }

    /// Creates the key under which a cache stores the response to a request: without the cookie, which is kept with the
    /// response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - method: The method of the response.
    ///   - telling: The telling fields of the request, in which its cookie does not count.
    init?(storing request: borrowing Request, method: HTTPRequest.Method, _ telling: TellingFields) {
        self.init(request, method: method, telling)
    }

    private init?(_ request: borrowing Request, method: HTTPRequest.Method, _ telling: TellingFields) {
        guard let uri = URI(request.head) else { return nil }
        var content: RequestContent?
        if method == .query {
            content = RequestContent(request)
            if content == nil { return nil }
        }
        parts = Parts(
            method: method, uri: uri, principal: request.options.principal,
            credentials: telling.credentials, content: content)
    }

    private init(ofPrincipalIn other: ResponseKey) {
        parts = Parts(
            method: other.method, uri: URI(scheme: "", authority: "", path: ""), principal: other.principal,
            credentials: [], content: nil)
    }

    /// A key of no resource: only a removal of the principal's responses, or of all, withdraws its tickets.
    var ofPrincipalAlone: ResponseKey { ResponseKey(ofPrincipalIn: self) }

    // The fields that name the user or the server, and hold no secret.
    private static let publicFields = FieldNames(publicNames)

    static let publicNames = Set(
        (["Host", "From", "X-Forwarded-User", "X-Remote-User"]
            + [
                "Account", "Account-Id", "Customer", "Customer-Id", "On-Behalf-Of", "Org-Id", "Organization",
                "Organization-Id", "Tenant", "Tenant-Id", "TenantId", "User", "User-Email", "User-Id", "User-Name",
                "UserId",
                "Username",
            ].flatMap { [$0, "X-" + $0] })
            .compactMap { HTTPField.Name($0) })

    /// Returns whether all parts of both keys are the same.
    public static func == (lhs: ResponseKey, rhs: ResponseKey) -> Bool {
        lhs.parts === rhs.parts || lhs.parts == rhs.parts
    }

    /// Hashes the parts that distinguish most keys.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(parts.hash)
    }

    /// The hash of the parts that distinguish most keys.
    public var hashValue: Int { parts.hash }

    /// Whether the request itself has a secret, which separates its responses.
    ///
    /// The content of a request counts as a secret.
    var holdsSecret: Bool {
        parts.content != nil || credentials.contains { !Self.publicFields.contains($0.name) }
    }

    /// The bytes of the texts and of the content that the key holds.
    var byteCount: Int {
        credentials.reduce(uri.byteCount + (parts.content?.byteCount ?? 0)) {
            $0 + $1.name.rawName.utf8.count + $1.value.utf8.count
        }
    }
}

/// The parts of a key, and their hash.
private final class Parts: Sendable, Equatable {
    let method: HTTPRequest.Method
    let uri: ResponseKey.URI
    let principal: Principal?
    let credentials: [HTTPField]
    let content: RequestContent?
    // A request needs the hash several times.
    let hash: Int

    init(
        method: HTTPRequest.Method, uri: ResponseKey.URI, principal: Principal?, credentials: [HTTPField],
        content: RequestContent?
    ) {
        self.method = method
        self.uri = uri
        self.principal = principal
        self.credentials = credentials
        self.content = content
        guard principal != nil || !credentials.isEmpty || content != nil else {
            hash = uri.hashValue
            return
        }
        var hasher = Hasher()
        hasher.combine(uri)
        // An absent part need not be hashed: unequal keys may have one hash.
        if let principal { hasher.combine(principal) }
        if !credentials.isEmpty { hasher.combine(credentials) }
        if let content { hasher.combine(content.bytes) }
        hash = hasher.finalize()
    }

    static func == (lhs: Parts, rhs: Parts) -> Bool {
        lhs.hash == rhs.hash && lhs.uri == rhs.uri && lhs.method == rhs.method && lhs.principal == rhs.principal
            && lhs.credentials == rhs.credentials && lhs.content == rhs.content
    }
}

extension ResponseKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Only the method.
    public var description: String { "key of a \(method) request" }
    /// Only the method.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
