import Foundation
public import HTTPTypes

/// A proof of the user on whose behalf a request is made: a name and password, a token, a key, or a signature.
///
/// ```swift
/// let token = try Credentials.bearer(session.token)
/// let key = try Credentials.field(.init("X-API-Key")!, configuration.key)
/// ```
///
/// For a custom scheme, write a ``RequestSigner``; for credentials that change, write a ``CredentialSource``. Credentials
/// are checked when they are created. Descriptions and reflection do not show their values.
public struct Credentials: Sendable {
    /// The same fields for every request, which share their storage, or a signer that makes the credentials of each
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
        let pair = "\(user):\(password)"
        let isSendable = !pair.utf8.contains { $0 < 0x20 || $0 == 0x7F }
        guard isSendable, !user.utf8.contains(UInt8(ascii: ":")) else {
            throw InvalidRequestError(
                .invalidCredentials, "The user name has a colon, or it or the password has a control character.")
        }
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
        guard token.utf8.isToken68 else {
            throw InvalidRequestError(
                .invalidCredentials,
                "The bearer token is empty, or has characters that no token has; look for a line break at its end, or use "
                    + "field(_:_:).")
        }
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
        guard !name.rawName.hasPrefix(":") else {
            throw InvalidRequestError(.invalidField, "The name of a field does not start with a colon.")
        }
        guard !value.isEmpty, HTTPField.isValidValue(value) else {
            throw InvalidRequestError(
                .invalidCredentials,
                "The value of the field \(name) is empty, starts or ends with a blank, or has a control character.")
        }
        return Credentials(kind: "field", name: name, value: value)
    }

    /// Sends an item of the query, such as an API key, with every request that has no item of its name.
    ///
    /// A field is better where the server takes one: logs of servers and proxies show queries. Ours do not show this item.
    ///
    /// - Parameters:
    ///   - name: The name of the item.
    ///   - value: Its value; both are encoded.
    /// - Returns: Credentials for that item.
    /// - Throws: ``InvalidRequestError`` for an empty name or value.
    public static func queryItem(_ name: String, _ value: String) throws(InvalidRequestError) -> Credentials {
        guard !name.isEmpty, !value.isEmpty else {
            throw InvalidRequestError(.invalidCredentials, "The name or the value of the query item is empty.")
        }
        let signer = QueryItemSigner(item: QueryItem(name, value))
        return Credentials(kind: "query item", source: .signer(signer), secretFields: [])
    }

    /// Has a signer sign each attempt.
    ///
    /// - Parameter signer: Gets each request before it is sent, and returns the signed request.
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
    /// The facts of a layer that adds them, beside the facts of its binding.
    var facts: Set<Layer.Fact> {
        switch source {
        case .fields: []
        case .signer(let signer) where signer is QueryItemSigner: [.changesSignedParts]
        case .signer(let signer):
            Set([.signs, .changesSignedParts, .variesPerSend, .readsStatus]).union(signer.facts)
        }
    }
}

private struct QueryItemSigner: RequestSigner {
    let item: QueryItem
    let secretFields: Set<HTTPField.Name> = []

    func sign(_ request: Request) -> Request {
        var request = request
        request.options.secretQueryItems.insert(item.name)
        request.head.path = request.head.path.map { $0.adding(defaults: [(item.name, item.text)]) }
        return request
    }
}

extension Credentials: SecretHolder {
    /// The kind of the credentials, without their values.
    public var description: String { "\(kind) credentials" }
}

extension Credentials.Source: SecretHolder {
    var description: String { "credentials" }
}

extension InvalidRequestError.Reason {
    package static let invalidCredentials = Self("invalidCredentials")
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
