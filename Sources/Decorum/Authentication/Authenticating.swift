import Foundation
public import HTTPTypes

extension Connection {
    /// Adds credentials to the requests for the given origins.
    ///
    /// ```swift
    /// let api = try Origin("https://api.example.com")
    /// let connection = try SystemConnection()
    ///     .authenticating(with: .bearer(token), for: api)
    ///     .retrying()
    ///     .followingRedirects()
    /// ```
    ///
    /// A request to any other origin passes without them: another scheme, another host, even a subdomain, or another
    /// port. A request with ``RequestOptions/skipsAuthentication`` also passes without them. A request that already has
    /// one of the fields of the credentials passes unchanged, because the caller set that field for this request.
    ///
    /// An origin has a scheme. Credentials for an `http` origin are sent without encryption to any server that answers
    /// there; give such an origin only for a server on this machine.
    ///
    /// Place it innermost, just outside of the transport and of logs of each attempt. It belongs inside `retrying`, so
    /// that each attempt is signed again with a new date, and inside every layer that changes the request, since a
    /// signature covers the request as it is here. It belongs inside `followingRedirects` too, which sends each hop
    /// through it. A request that any other origin has redirected gets no credentials, even where it is redirected
    /// back: another server chose its URL.
    ///
    /// See RFC 9110, section 11.
    ///
    /// - Parameters:
    ///   - credentials: The credentials to add.
    ///   - origin: The origin that may see the credentials.
    ///   - others: Further origins that may see them.
    /// - Returns: A connection that adds the credentials.
    public func authenticating(
        with credentials: Credentials, for origin: Origin, _ others: Origin...
    ) -> some Connection {
        authenticating(with: credentials, for: Set(others).union([origin]))
    }

    /// Adds credentials to the requests for a set of origins, as with single origins.
    ///
    /// - Parameters:
    ///   - credentials: The credentials to add.
    ///   - origins: The origins that may see the credentials; with an empty set, no request gets them.
    /// - Returns: A connection that adds the credentials.
    public func authenticating(with credentials: Credentials, for origins: Set<Origin>) -> some Connection {
        AuthenticatingConnection(base: self, credentials: credentials, origins: origins)
    }
}

extension RequestOptions {
    /// Whether layers that add credentials leave the request unchanged; the default is false.
    public var skipsAuthentication: Bool {
        get { self[SkipsAuthenticationKey.self] }
        set { self[SkipsAuthenticationKey.self] = newValue }
    }
}

struct AuthenticatingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let credentials: Credentials
    let origins: Set<Origin>

    var layer: Layer {
        Layer(
            name: "authenticating",
            role: .authentication,
            settings: [
                Layer.Setting("with", credentials.kind),
                Layer.Setting("for", origins.map(\.description).sorted().joined(separator: ", ")),
            ],
            facts: credentials.facts,
            secretFields: credentials.secretFields
        )
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        // This also applies to fields that the caller set, and to other origins: the name already marks the field as
        // secret.
        request.options.declareSecret(credentials.secretFields)
        if let reason = reasonToSkip(request) { return try await send(request, unchangedBecause: reason) }
        try await credentials.write(to: &request)
        return try await base.send(request)
    }

    private func send(_ request: consuming Request, unchangedBecause reason: ReasonToSkip) async throws -> Response {
        request.options.callContext?.note(CallDecision(.skips, by: "authenticating", reason.rawValue))
        var response = try await base.send(request)
        if reason.isOrigin, response.status == .unauthorized { response.metadata.lacksCredentials = true }
        return response
    }

    /// The reason why a request gets no credentials; nil where it gets them.
    private func reasonToSkip(_ request: borrowing Request) -> ReasonToSkip? {
        let fields = request.head.headerFields
        if request.options.skipsAuthentication { return .option }
        if credentials.secretFields.contains(where: fields.contains) { return .ownCredentials }
        guard isForOrigin(of: request.head) else { return .origin }
        let redirectingOrigins = request.options.redirectingOrigins
        return redirectingOrigins.isEmpty || redirectingOrigins.isSubset(of: origins) ? nil : .redirectingOrigin
    }

    private func isForOrigin(of head: HTTPRequest) -> Bool {
        // Most heads have the origin in its plain form, which needs no parsing.
        if origins.contains(where: { $0.isPlainOrigin(of: head) }) { return true }
        return (try? Origin(head)).map(origins.contains) ?? false
    }
}

/// The reason why a request is sent without the credentials of a layer, in words for the history of the call.
private enum ReasonToSkip: String {
    case option = "the request skips authentication"
    case ownCredentials = "the request has its own credentials"
    case origin = "the credentials are for other origins"
    case redirectingOrigin = "an origin that the credentials are not for has redirected the request"

    /// Whether an origin is the reason, and not the caller.
    var isOrigin: Bool { self == .origin || self == .redirectingOrigin }
}

extension ResponseMetadata {
    /// Whether a layer has sent the request without its credentials, since they are not for its origin, and the answer is
    /// `401 Unauthorized`.
    public var lacksCredentials: Bool {
        get { self[LacksCredentialsKey.self] }
        set { self[LacksCredentialsKey.self] = newValue }
    }
}

private enum LacksCredentialsKey: ResponseMetadataKey {
    static let defaultValue = false
}

private enum SkipsAuthenticationKey: RequestOptionKey {
    static let travels = OptionTravel.all
    static let defaultValue = false
}

/// A proof of the user on whose behalf a request is made: a name and password, a token, a key, or a signature.
///
/// ```swift
/// let token = try Credentials.bearer(session.token)
/// let key = try Credentials.field(.init("X-API-Key")!, configuration.key)
/// ```
///
/// For a custom scheme, write a ``RequestSigner``. Credentials are checked when they are created. Descriptions and
/// reflection do not show their values.
public struct Credentials: Sendable {
    /// The same fields for every request, which share their storage, or the fields that a signer returns for each
    /// request.
    enum Source: Sendable {
        case fields(HTTPFields)
        case signer(any RequestSigner)
    }

    /// The kind of the credentials, as it is shown in ``Connection/layers``.
    let kind: String
    let source: Source
    let secretFields: Set<HTTPField.Name>

    /// Sends a user name and password with every request (RFC 7617).
    ///
    /// Both are sent in UTF-8 and Unicode's normalization form C. They are only encoded, not encrypted: use `https`.
    ///
    /// - Parameters:
    ///   - user: The user name, which may be empty and has no colon.
    ///   - password: The password, which may be empty.
    /// - Returns: Credentials for the `Authorization` field.
    /// - Throws: ``InvalidRequestError`` for a colon in the user name, or a control character in either.
    public static func basic(user: String, password: String) throws(InvalidRequestError) -> Credentials {
        guard !user.utf8.contains(UInt8(ascii: ":")) else { throw .colonInUserName }
        let pair = "\(user):\(password)"
        guard !pair.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .controlCharacterInPassword }
        let encoded = Data(pair.precomposedStringWithCanonicalMapping.utf8).base64EncodedString()
        return Credentials(kind: "basic", name: .authorization, value: "Basic \(encoded)")
    }

    /// Sends a bearer token with every request (RFC 6750, section 2.1).
    ///
    /// For tokens with other characters, use ``field(_:_:)``.
    ///
    /// - Parameter token: Letters, digits and any of `-._~+/`; `=` only at the end.
    /// - Returns: Credentials for the `Authorization` field.
    /// - Throws: ``InvalidRequestError`` for an empty token or any other character.
    public static func bearer(_ token: String) throws(InvalidRequestError) -> Credentials {
        guard token.utf8.isToken68 else { throw .invalidBearerToken }
        return Credentials(kind: "bearer", name: .authorization, value: "Bearer \(token)")
    }

    /// Sends a secret, such as an API key, in a separate field with every request.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The whole value of the field.
    /// - Returns: Credentials for that field.
    /// - Throws: ``InvalidRequestError`` for a value that is empty, starts or ends with a blank, or has a control
    ///   character, and for a name that is not a valid field name.
    public static func field(_ name: HTTPField.Name, _ value: String) throws(InvalidRequestError) -> Credentials {
        // A name that begins with a colon is a pseudo-header field of HTTP/2, and HTTPFields stops the program for it.
        guard !name.rawName.hasPrefix(":") else { throw .pseudoField }
        guard !value.isEmpty, HTTPField.isValidValue(value) else { throw .invalidSecretField }
        return Credentials(kind: "field", name: name, value: value)
    }

    /// Asks a signer for the fields of each attempt.
    ///
    /// - Parameter signer: Gets each request before it is sent, and returns the fields to set.
    /// - Returns: Credentials for the fields that the signer declares.
    public static func signer(_ signer: some RequestSigner) -> Credentials {
        Credentials(kind: "signer", source: .signer(signer), secretFields: signer.secretFields)
    }

    private init(kind: String, source: Source, secretFields: Set<HTTPField.Name>) {
        self.kind = kind
        self.source = source
        self.secretFields = secretFields
    }

    private init(kind: String, name: HTTPField.Name, value: String) {
        self.init(kind: kind, source: .fields([name: value]), secretFields: [name])
    }
}

extension Credentials {
    /// The facts of a layer that adds them.
    fileprivate var facts: Set<Layer.Fact> {
        switch source {
        case .fields: [.addsCredentials, .bindsToOrigins]
        case .signer: [.addsCredentials, .bindsToOrigins, .signs, .changesSignedParts, .variesPerSend]
        }
    }

    /// Writes the credentials into the fields of a request that does not have these fields.
    @inline(__always) func write(to request: inout Request) async throws {
        switch source {
        case .fields(let fields): for field in fields { request.head.headerFields.append(field) }
        case .signer(let signer): request.head.headerFields.override(with: try await signer.sign(request))
        }
    }
}

extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of the credentials, without their values.
    public var description: String { "\(kind) credentials" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror without children, so that `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Credentials.Source: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension InvalidRequestError.Reason {
    /// Credentials have characters that cannot be sent.
    public static let invalidCredentials = Self("invalidCredentials")
}

extension InvalidRequestError {
    fileprivate static let colonInUserName = Self(
        .invalidCredentials, "The user name has a colon, which Basic authentication cannot send.")
    fileprivate static let controlCharacterInPassword = Self(
        .invalidCredentials, "The user name or password has a line break or another control character.")
    fileprivate static let invalidBearerToken = Self(
        .invalidCredentials,
        "The bearer token is empty or has characters that no token has; look for a line break at its end, or use field(_:_:)."
    )
    fileprivate static let invalidSecretField = Self(
        .invalidCredentials,
        "The value of the secret field is empty, starts or ends with a blank, or has a control character.")
    fileprivate static let pseudoField = Self(.invalidField, "The name of a field does not start with a colon.")
}

extension String.UTF8View {
    /// Whether this is a `token68` (RFC 9110, section 11.2), which RFC 6750 calls `b64token`.
    fileprivate var isToken68: Bool {
        let end = lastIndex(where: { $0 != UInt8(ascii: "=") }).map(index(after:)) ?? startIndex
        return end > startIndex
            && self[..<end].allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~+/".utf8.contains(byte)
                }
            }
    }
}
