public import HTTPTypes

/// The key of a stored response: a method, a URI, and the user on whose behalf it was requested.
///
/// Two requests with different principals, or with different values of a field that holds credentials, have different
/// keys. A field holds credentials if ``Redaction/standard`` knows it, such as `Authorization`, `Cookie` and
/// `X-My-Token`; if ``RequestOptions/secretFields`` names it; if it is marked as never indexed; or if its value has the
/// shape of a token. `Host` and fields that name a user, such as `From`, `X-User-Id` and `X-Tenant`, distinguish keys
/// too. A description of a key does not show these fields.
public struct ResponseKey: Sendable, Hashable {
    /// A URI without its fragment, in the parts that a request has.
    public struct URI: Sendable, Hashable {
        // The URI is kept in parts, since joining them for each request takes longer than looking up the key.
        let scheme: String
        let authority: String
        let path: String

        /// Creates the URI of a request.
        ///
        /// - Parameter request: The head of a request; the result is nil for a request without an origin.
        public init?(_ request: HTTPRequest) {
            guard let scheme = request.scheme, let authority = request.authority else { return nil }
            self.scheme = scheme
            self.authority = authority
            path = request.path ?? "/"
        }

        init(scheme: String, authority: String, path: String) {
            self.scheme = scheme
            self.authority = authority
            self.path = path
        }
    }

    /// The method of the request.
    public let method: HTTPRequest.Method
    /// The URI of the request.
    public let uri: URI
    /// The user on whose behalf the request is made.
    public let principal: Principal?
    // These include fields that select a resource in addition to the URI, such as Host.
    let credentials: [HTTPField]

    /// Creates the key of a request.
    ///
    /// - Parameters:
    ///   - request: A request; the result is nil for a request without an origin.
    ///   - method: The method to look for instead of the request's method, since a `HEAD` can be answered with the
    ///     response to a `GET`.
    public init?(_ request: borrowing Request, method: HTTPRequest.Method? = nil) {
        guard let scheme = request.head.scheme, let authority = request.head.authority else { return nil }
        self.method = method ?? request.head.method
        uri = URI(scheme: scheme, authority: authority, path: request.head.path ?? "/")
        principal = request.options.principal
        credentials = Self.credentials(in: request.head.headerFields, request.options.secretFields)
    }

    private init(method: HTTPRequest.Method, uri: URI, principal: Principal?, credentials: [HTTPField]) {
        self.method = method
        self.uri = uri
        self.principal = principal
        self.credentials = credentials
    }

    private static func credentials(in fields: HTTPFields, _ secretFields: Set<HTTPField.Name>) -> [HTTPField] {
        var credentials: [HTTPField] = []
        for index in fields.indices {
            let name = fields[index].name
            // Most fields of most requests only say what the client accepts.
            let counts =
                fields[index].indexingStrategy == .disallow || (!secretFields.isEmpty && secretFields.contains(name))
                || !NeutralFields.contains(name)
                    && (tellingFields.contains(name) || holdsToken(fields[index]))
            if counts { credentials.append(fields[index]) }
        }
        return credentials
    }

    /// Whether a value is a secret by itself, under a name that is not listed.
    private static func holdsToken(_ field: HTTPField) -> Bool {
        field.value.utf8.count >= 12 && Redaction.standard.isSecret(field, secretFields: [])
    }

    private static let tellingFields = SecretFieldNames(.standard, and: publicNames)

    // The fields that name the user or the server, and hold no secret.
    private static let publicFields = FieldNames(publicNames)

    private static let publicNames = Set(
        (["Host", "From", "X-Forwarded-User", "X-Remote-User"]
            + [
                "Account", "Account-Id", "Customer", "Customer-Id", "On-Behalf-Of", "Org-Id", "Organization",
                "Organization-Id", "Tenant", "Tenant-Id", "TenantId", "User", "User-Email", "User-Id", "User-Name",
                "UserId",
                "Username",
            ].flatMap { [$0, "X-" + $0] })
            .compactMap { HTTPField.Name($0) })

    /// Hashes the parts that distinguish most keys.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(uri.authority)
        hasher.combine(uri.path)
        hasher.combine(principal)
        if !credentials.isEmpty { hasher.combine(credentials) }
    }

    /// Whether the request itself has a secret, which separates its responses.
    var holdsSecret: Bool {
        credentials.contains { !Self.publicFields.contains($0.name) }
    }

    /// The key of the same request without a cookie; nil when it has no cookie, or when it has other credentials.
    var withoutCookie: ResponseKey? {
        guard !credentials.isEmpty, credentials.allSatisfy({ $0.name == .cookie }) else { return nil }
        return ResponseKey(method: method, uri: uri, principal: principal, credentials: [])
    }

    /// The bytes of the texts that the key holds.
    var byteCount: Int {
        credentials.reduce(uri.scheme.utf8.count + uri.authority.utf8.count + uri.path.utf8.count) {
            $0 + $1.name.rawName.utf8.count + $1.value.utf8.count
        }
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

extension ResponseKey.URI: CustomStringConvertible, CustomReflectable {
    /// The URI, without the secrets that ``Redaction/standard`` knows.
    public var description: String { Redaction.described("\(scheme)://\(authority)\(path)") }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
