public import HTTPTypes

/// What a response is kept under: a method, a URI, and on whose behalf it was requested.
///
/// Two requests that have different principals, or differ in a field that holds credentials, have different keys. Such a
/// field is each one that ``Redaction/standard`` knows, such as `Authorization`, `Cookie` and `X-My-Token`, that
/// ``RequestOptions/secretFields`` names, that is marked as never to be indexed, or whose value has the shape of a token.
/// The same goes for `Host` and for fields that name a user, such as `From`, `X-User-Id` and `X-Tenant`. A key is not
/// described, since it holds those fields.
public struct ResponseKey: Sendable, Hashable {
    /// A URI without its fragment, in the parts that a request has.
    public struct URI: Sendable, Hashable {
        // In parts, since to put them together for each request takes longer than to look up the key.
        let scheme: String
        let authority: String
        let path: String

        /// Creates the URI that a request is for.
        ///
        /// - Parameter request: The head of a request with an origin; nil is returned for one without.
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
    /// On whose behalf the request is made.
    public let principal: Principal?
    // With them the fields by which a server may tell apart what the URI does not, such as Host.
    let credentials: [HTTPField]

    /// Creates the key of a request.
    ///
    /// - Parameters:
    ///   - request: A request with an origin; nil is returned for one without.
    ///   - method: The method to look for in place of the request's own, as a `HEAD` is answered with what a `GET` got.
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
            // Most fields of most requests say what the client can take, and no more.
            let counts =
                fields[index].indexingStrategy == .disallow || (!secretFields.isEmpty && secretFields.contains(name))
                || !NeutralFields.contains(name)
                    && (tellingFields.contains(name) || holdsToken(fields[index]))
            if counts { credentials.append(fields[index]) }
        }
        return credentials
    }

    /// Whether a value is a secret by itself, under a name that says nothing.
    private static func holdsToken(_ field: HTTPField) -> Bool {
        field.value.utf8.count >= 12 && Redaction.standard.isSecret(field, secretFields: [])
    }

    private static let tellingFields = SecretFieldNames(.standard, and: publicNames)

    // The fields that tell who asks, or whom, and hold no secret.
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

    /// Hashes what tells most keys apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(uri.authority)
        hasher.combine(uri.path)
        hasher.combine(principal)
        if !credentials.isEmpty { hasher.combine(credentials) }
    }

    /// Whether the request carries a secret itself, by which its responses are told apart.
    var holdsSecret: Bool {
        credentials.contains { !Self.publicFields.contains($0.name) }
    }

    /// The key of the same request from somebody who has no cookie; nil where there is none, or where there are
    /// other credentials.
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
    /// The method alone.
    public var description: String { "key of a \(method) request" }
    /// The method alone.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension ResponseKey.URI: CustomStringConvertible, CustomReflectable {
    /// The URI, without the secrets that ``Redaction/standard`` knows.
    public var description: String { Redaction.described("\(scheme)://\(authority)\(path)") }

    /// A mirror with the description alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
