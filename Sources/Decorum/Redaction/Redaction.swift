public import HTTPTypes

/// The secrets that are kept out of everything that is written: logs, cassettes, events and errors.
///
/// A redaction keeps names and replaces values: `?token=abc` becomes `?token=REDACTED`. Bytes that are not replaced
/// stay exactly as they are. The standard redaction is applied by default wherever Decorum writes; to extend it, change
/// a copy.
///
/// ```swift
/// var redaction = Redaction.standard
/// redaction.queryItems.insert("invitation")
/// redaction.jsonPaths.insert("user.email")
/// let connection = transport.logging(to: .standardError, redacting: redaction)
/// ```
///
/// A redaction finds secrets by their names, and tokens by their shapes: see ``masksTokens``, ``secretPaths`` and
/// ``opaqueNames``. It does not find any other secret in a path, in plain text or under a name that is not listed. The
/// standard redaction also treats every text as secret whose name ends like the name of a secret; see ``SecretNames``.
public struct Redaction: Sendable, Hashable {
    package private(set) var rules = SecretRules()

    /// The fields whose values are replaced.
    public var fields: Set<HTTPField.Name> {
        get { rules.fields }
        set { rules.fields = newValue }
    }

    /// The names of further fields whose values are replaced, as in `*-token`.
    public var fieldNames: SecretNames {
        get { SecretNames(rules.fieldNames) }
        set { rules.fieldNames = newValue.set }
    }

    /// The names of query items, fragment items and path parameters whose values are replaced, also percent-encoded.
    ///
    /// URLs are also found in every field with a URL, such as `Location`, in the strings of JSON, and percent-encoded in the
    /// value of another item.
    public var queryItems: SecretNames {
        get { SecretNames(rules.queryItems) }
        set { rules.queryItems = newValue.set }
    }

    /// The places in JSON whose values, of any type, are replaced by a string.
    ///
    /// Names at any depth, as in `**.password`, also count as the names of elements and attributes in XML and HTML.
    public var jsonPaths: Set<JSONPattern> {
        get { Set(rules.json.paths.map { JSONPattern($0) }) }
        set { rules.json = JSONMatcher(Set(newValue.map(\.path))) }
    }

    /// The names in forms whose values are replaced, whether the form is URL-encoded or multipart.
    public var formNames: SecretNames {
        get { SecretNames(rules.formNames) }
        set { rules.formNames = newValue.set }
    }

    /// Whether the user name and password of a URL are replaced.
    public var userinfo: Bool {
        get { rules.userinfo }
        set { rules.userinfo = newValue }
    }

    /// Whether secret parts of paths are replaced: the addresses of webhooks and bots, and tokens after words such as
    /// `reset`, `verify` and `invite`.
    ///
    /// On hosts that are not known for such addresses, a part counts if it is at least 16 characters long and mixes
    /// letters and digits.
    public var secretPaths: Bool {
        get { rules.paths }
        set { rules.paths = newValue }
    }

    /// Names in JSON under which only texts that look random are replaced, such as `code`, which is the name of an
    /// authorization code and of much else.
    public var opaqueNames: SecretNames {
        get { SecretNames(rules.opaqueNames) }
        set { rules.opaqueNames = newValue.set }
    }

    /// Whether fields are replaced that a request declares secret (``RequestOptions/secretFields``) or whose indexing strategy
    /// is `disallow`, by which HPACK marks a sensitive value.
    public var declaredFields: Bool

    /// Whether tokens, found by their shape, are replaced under any name and in any place.
    ///
    /// Known shapes are JSON Web Tokens, private keys in text form, credentials after `Bearer` and `Basic`, numbers of
    /// payment cards, and tokens with the prefixes of well-known services, such as `ghp_`, `xoxb-` and `AKIA`. They are
    /// found in fields, URLs, forms, texts, and the strings and names of JSON, as they are or percent-encoded, and in
    /// strings of JSON also in Base64; not in binary content. Most secret keys of AWS, those with a `+` or `/`, are found
    /// in strings of JSON too. A redirection to another origin drops a field with such a value. Cassettes are searched for
    /// the same shapes before they are written.
    public var masksTokens: Bool {
        get { rules.tokens }
        set { rules.tokens = newValue }
    }

    /// The text that replaces a secret; percent-encoded or escaped where its place requires that.
    public var placeholder: String

    /// Creates a redaction that replaces the values of these names, tokens, the user name and password of a URL, and the
    /// fields that a request declares.
    package init(
        queryItems: SecretNames = [], jsonPaths: Set<JSONPattern> = [], userinfo: Bool = true,
        declaredFields: Bool = true, masksTokens: Bool = true, placeholder: String = "REDACTED"
    ) {
        (self.declaredFields, self.placeholder, self.queryItems) = (declaredFields, placeholder, queryItems)
        (self.jsonPaths, self.userinfo, self.masksTokens) = (jsonPaths, userinfo, masksTokens)
    }

    /// A redaction that replaces nothing; a copy of it is a redaction without the standard names.
    public static let none = Redaction(userinfo: false, declaredFields: false, masksTokens: false)

    /// The redaction with further names of query items, such as ``RequestOptions/secretQueryItems``, unless it replaces
    /// nothing that a request declares.
    package func covering(queryItems: Set<String>) -> Redaction {
        guard !queryItems.isEmpty, declaredFields else { return self }
        var redaction = self
        for name in queryItems { redaction.rules.queryItems.insert(name) }
        return redaction
    }
}
