import Foundation
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
        self.init(storing: request, method: method ?? request.head.method, telling)
    }

    /// Creates a key with telling fields; a cache leaves the cookie out of them, which it keeps with the response.
    init?(storing request: borrowing Request, method: HTTPRequest.Method, _ telling: TellingFields) {
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

    /// Creates a key from the parts that a store has kept.
    init(method: HTTPRequest.Method, uri: URI, principal: Principal?, credentials: [HTTPField]) {
        parts = Parts(method: method, uri: uri, principal: principal, credentials: credentials, content: nil)
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
    package var holdsSecret: Bool {
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
        (self.method, self.uri, self.principal, self.credentials) = (method, uri, principal, credentials)
        self.content = content
        guard principal != nil || !credentials.isEmpty || content != nil else {
            hash = uri.hashValue
            return
        }
        // Callers may choose these parts, so the hash has the seed of the process. Unequal keys may have one hash.
        var hasher = Hasher()
        hasher.combine(uri)
        if let principal { hasher.combine(principal) }
        for field in credentials { hasher.combine(field.value) }
        if let content { hasher.combine(content.bytes) }
        hash = hasher.finalize()
    }

    static func == (lhs: Parts, rhs: Parts) -> Bool {
        lhs.hash == rhs.hash && lhs.uri == rhs.uri && lhs.method == rhs.method && lhs.principal == rhs.principal
            && lhs.credentials == rhs.credentials && lhs.content == rhs.content
    }
}

extension ResponseKey: SecretHolder {
    /// Only the method.
    public var description: String { "key of a \(method) request" }
}

/// The content of a request whose response depends on it, such as a `QUERY`, with the fields that say how to read it.
struct RequestContent: Sendable, Equatable {
    let bytes: Data
    private let fields: [HTTPField]

    /// The largest content, in bytes, that is a part of a key.
    static let lengthLimit = 64 << 10

    /// The content of a request; nil if it is not in memory, or is above the limit.
    init?(_ request: borrowing Request) {
        guard let bytes = request.body.bytes, bytes.count <= Self.lengthLimit else { return nil }
        self.bytes = bytes
        fields = request.head.headerFields.filter { Self.describingFields.contains($0.name) }
    }

    var byteCount: Int {
        fields.reduce(bytes.count) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
    }

    private static let describingFields = FieldNames(
        Set(["Content-Type", "Content-Encoding", "Content-Language"].compactMap { HTTPField.Name($0) }))
}

extension ResponseKey {
    /// A URI without its fragment, in its normal form.
    ///
    /// Two spellings of one URI are the same value (RFC 3986, section 6.2): the scheme and the host are in lower case,
    /// the default port is left out, unreserved characters are not percent-encoded, escapes are in upper case, dot
    /// segments are removed, and an empty path is `/`.
    public struct URI: Sendable, Hashable {
        // The URI is kept in parts, since joining them for each request takes longer than looking up the key.
        let scheme: String
        let authority: String
        let path: String
        private let hash: Int

        /// Creates the URI of a request.
        ///
        /// - Parameter request: The head of a request; the result is nil for a request without an origin.
        public init?(_ request: HTTPRequest) {
            guard let scheme = request.scheme, let authority = request.authority else { return nil }
            self.init(scheme: scheme, authority: authority, path: request.path ?? "/")
        }

        init(scheme: String, authority: String, path: String) {
            let scheme = scheme == "https" ? scheme : scheme.inLowerCase
            self.scheme = scheme
            self.authority = NormalForm.authority(authority, scheme: scheme)
            self.path = NormalForm.path(path)
            var hasher = Hasher()
            hasher.combine(self.authority)
            hasher.combine(self.path)
            hash = hasher.finalize()
        }

        /// Returns whether all parts of both URIs are the same.
        public static func == (lhs: URI, rhs: URI) -> Bool {
            lhs.hash == rhs.hash && lhs.path == rhs.path && lhs.authority == rhs.authority && lhs.scheme == rhs.scheme
        }

        /// Hashes the authority and the path.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(hash)
        }

        /// The hash of the authority and the path.
        public var hashValue: Int { hash }

        /// Whether both URIs have one scheme, host and port.
        func hasSameOrigin(as other: URI) -> Bool {
            authority == other.authority && scheme == other.scheme
        }

        /// The origin; nil if the authority is that of none.
        package var origin: Origin? { try? Origin("\(scheme)://\(authority)") }

        var byteCount: Int { scheme.utf8.count + authority.utf8.count + path.utf8.count }
    }
}

extension ResponseKey.URI: SecretHolder {
    /// The URI, without the secrets that ``Redaction/standard`` knows.
    public var description: String { Redaction.described("\(scheme)://\(authority)\(path)") }
}

/// The normal forms of the parts of a URI (RFC 3986, section 6.2).
///
/// Nearly all parts are in this form already, which one pass over their bytes shows.
private enum NormalForm {
    /// The authority of the origin; one that cannot be sent to stays as it is.
    static func authority(_ authority: String, scheme: String) -> String {
        guard !authority.isPlainHost else { return authority }
        return (try? Origin(scheme: scheme, authority: authority))?.authority ?? authority
    }

    static func path(_ path: String) -> String {
        guard !path.isPlainPath else { return path }
        guard let first = path.utf8.first else { return "/" }
        let rooted = first == UInt8(ascii: "?") ? "/" + path : path
        let target = Target(scheme: nil, authority: nil, path: escapes(rooted) ?? rooted)
        return target.withoutDotSegments.path
    }

    /// Decodes unreserved characters and writes the other escapes in upper case; nil without
    /// an escape, or with an invalid one.
    private static func escapes(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.contains(UInt8(ascii: "%")) else { return nil }
        var normal: [UInt8] = []
        normal.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "%") else {
                normal.append(bytes[index])
                index += 1
                continue
            }
            guard index + 2 < bytes.count, let high = PercentCoding.hexDigit(bytes[index + 1]),
                let low = PercentCoding.hexDigit(bytes[index + 2])
            else { return nil }
            let byte = high << 4 | low
            // Encoding leaves unreserved characters as they are.
            normal += PercentCoding.encode(CollectionOfOne(byte))
            index += 3
        }
        return String(decoding: normal, as: UTF8.self)
    }
}

extension String {
    /// Whether this is an absolute path, perhaps with a query, without an escape and without a dot after a slash.
    fileprivate var isPlainPath: Bool {
        var previous: UInt8 = 0
        return utf8.first == UInt8(ascii: "/")
            && allUTF8 { byte in
                let mayChange =
                    byte == UInt8(ascii: "%") || byte == UInt8(ascii: ".") && previous == UInt8(ascii: "/")
                previous = byte
                return !mayChange
            }
    }
}

extension ResponseKey.URI {
    /// Creates the URI that a field of a response to a request refers to; nil for an invalid reference.
    init?(_ reference: String, relativeTo request: HTTPRequest) {
        let base = Target(scheme: request.scheme, authority: request.authority, path: request.path ?? "/")
        guard let target = try? Target.resolve(given: reference, against: base),
            let scheme = target.scheme, let authority = target.authority
        else { return nil }
        self.init(scheme: scheme, authority: authority, path: target.path)
    }
}

/// The stored responses that a response to an unsafe method invalidates (RFC 9111, section 4.4).
enum InvalidationRules {
    /// The URIs whose responses are removed: the URI of the request, and the URIs of the same origin that the response
    /// names; empty for a safe method, and for a response of the class 4xx or 5xx.
    static func invalidated(by response: HTTPResponse?, to request: HTTPRequest) -> [ResponseKey.URI] {
        guard !request.method.isSafe, let uri = ResponseKey.URI(request) else { return [] }
        guard let response else { return [uri] }
        guard (200..<400).contains(response.code) else { return [] }
        let named = [HTTPField.Name.location, .contentLocation]
            .compactMap { response.headerFields.firstValue(of: $0) }
            .compactMap { ResponseKey.URI($0, relativeTo: request) }
            .filter { $0.hasSameOrigin(as: uri) && $0 != uri }
        return [uri] + named
    }
}

/// The parts that two requests have to share to get one response: all parts by which the server could distinguish them,
/// and the options that decide how they are sent (``OptionTravel/comparedWhenShared``).
struct SharedRequestKey: Sendable, Hashable {
    let resource: ResponseKey
    private let method: HTTPRequest.Method
    /// The metadata of the response has the URL with its fragment.
    private let fragment: String?
    /// The fields of the request, of which some may be ignored.
    private let fields: HTTPFields
    private let ignoredFields: FieldNames
    private let options: TypedValues
    // The tables look at it more than once.
    private let hash: Int

    /// Creates the key of a request whose responses are stored under a key of any method.
    init(_ request: borrowing Request, at resource: ResponseKey, ignoring ignoredFields: FieldNames) {
        self.resource = resource
        method = request.head.method
        fragment = request.options.fragment
        fields = request.head.headerFields
        options = request.options.values
        self.ignoredFields = ignoredFields
        // The options and names hardly ever differ between two requests for one resource: where two hashes are equal, a
        // request is sent that could have been shared, and no harm is done.
        var hash = resource.hashValue &+ method.rawValue.utf8.count
        if let fragment { hash ^= fragment.hashValue }
        for index in fields.indices where !ignoredFields.ignores(fields[index].name) {
            hash &+= fields[index].value.hashValue
        }
        self.hash = hash
    }

    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.hash == rhs.hash && lhs.resource == rhs.resource && lhs.method == rhs.method
            && lhs.fragment == rhs.fragment && lhs.comparedFields.hasSame(as: rhs.comparedFields)
            && lhs.options.areSame(as: rhs.options, travelling: .comparedWhenShared)
    }

    /// The fields that distinguish the request; only equal hashes make them needed.
    private var comparedFields: HTTPFields { HTTPFields(fields.filter { !ignoredFields.ignores($0.name) }) }

    var hashValue: Int { hash }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}

extension HTTPFields {
    /// Whether both have the same values of each name, in any order of the names (RFC 9110, section 5.3).
    fileprivate func hasSame(as other: HTTPFields) -> Bool {
        guard count == other.count else { return false }
        return elementsEqual(other) || allSatisfy { hasSame($0.name, as: other) }
    }
}

extension FieldNames {
    /// Whether a name is ignored: a cookie may name the user, so it never is.
    fileprivate func ignores(_ name: HTTPField.Name) -> Bool { contains(name) && name != .cookie }
}

/// The fields of a request that decide which responses it may get, found in one pass over them.
struct TellingFields: Sendable {
    /// Whether the request has a field that a cache evaluates: a directive, a condition or a range.
    private(set) var hasCacheFields = false
    private(set) var hasCookie = false
    /// The fields by which a server distinguishes users.
    private(set) var credentials: [HTTPField] = []

    /// Finds the fields.
    init(_ fields: HTTPFields, declaredSecret secretFields: Set<HTTPField.Name>, countsCookie: Bool) {
        // Each access to a static value that is made at its first use takes a call.
        let (table, secretNames) = (FieldClasses.table, Redaction.standard.rules.fieldNames)
        let isSecret = { (value: String) in
            value.utf8.count >= Self.shortestToken && Redaction.standard.isSecret(value: value)
        }
        for index in fields.indices {
            let name = fields[index].name
            let classes = table.classes(of: name)
            if !classes.isDisjoint(with: [.cacheControls, .cookies]) {
                if classes.contains(.cookies) { hasCookie = true } else { hasCacheFields = true }
            }
            // Most fields of most requests only say what the client accepts.
            let counts =
                fields[index].indexingStrategy == .disallow || (!secretFields.isEmpty && secretFields.contains(name))
                || !classes.contains(.neutral)
                    && (classes.contains(.telling) || secretNames.mayBeSecret(name)
                        || isSecret(fields[index].value))
            if counts, countsCookie || !classes.contains(.cookies) { credentials.append(fields[index]) }
        }
    }

    // A short value holds no token.
    private static let shortestToken = 12
}

extension FieldClasses {
    /// The classes of each name; the endings of ``Redaction/fieldNames`` come in addition to them.
    static let table = FieldClassTable([
        (
            [
                .cacheControl, .pragma, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
            ], .cacheControls
        ),
        ([.cookie], .cookies),
        (NeutralFields.list, .neutral),
        (Redaction.standard.fields.union(ResponseKey.publicNames), .telling),
    ])
}

extension Request {
    /// Puts a collector into the request, to which every transport further in reports.
    ///
    /// Collectors of layers further out get the same reports.
    ///
    /// - Parameter clock: The clock that dates what is sent, for ``SentRequests/date``; nil if no date is needed.
    /// - Returns: The collector.
    public mutating func collectSent(datedBy clock: (any DatedClock)? = nil) -> SentRequests {
        let sent = SentRequests(for: self, datedBy: clock, isNeutral: NeutralFields.isNeutral)
        options.sentRequests = sent
        return sent
    }
}

/// The fields that tell the server nothing about the user.
enum NeutralFields {
    static let names = FieldNames(list)

    static let list = Set(
        [
            "Accept", "Accept-Encoding", "Cache-Control", "Connection", "Content-Length", "Date", "Expect",
            "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive",
            "Pragma", "Priority", "Range", "TE", "Trailer", "Transfer-Encoding", "User-Agent",
            "b3", "Idempotency-Key", "traceparent", "tracestate", "X-B3-Flags", "X-B3-ParentSpanId", "X-B3-Sampled",
            "X-B3-SpanId", "X-B3-TraceId", "X-Correlation-ID", "X-Request-ID",
        ].compactMap { HTTPField.Name($0) })

    /// Whether the name of a field is neutral with any value.
    static func contains(_ name: HTTPField.Name) -> Bool { names.contains(name) }

    /// Whether a field may differ between the request that was asked for and the one that was sent.
    ///
    /// `Proxy-Authorization` is for a proxy. A field that the request declares secret, or that holds a token, is not
    /// neutral.
    @Sendable static func isNeutral(_ field: HTTPField, secretFields: Set<HTTPField.Name>) -> Bool {
        field.name == .proxyAuthorization
            || names.contains(field.name) && !Redaction.standard.isSecret(field, secretFields: secretFields)
    }
}
