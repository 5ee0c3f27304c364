public import HTTPTypes

/// What is kept out of everything that is written down: logs, cassettes, events and errors.
///
/// A redaction keeps names and replaces values: `?token=abc` becomes `?token=REDACTED`. Bytes that are not replaced
/// stay exactly as they are. It is on by default wherever Decorum writes; extend it by value.
///
/// ```swift
/// var redaction = Redaction.standard
/// redaction.queryItems.insert("invitation")
/// redaction.jsonPaths.insert("user.email")
/// let connection = transport.logging(to: .standardError, redacting: redaction)
/// ```
///
/// It goes by names, and by the shapes of tokens: see ``masksTokens``. Any other secret that stands in a path, in plain text
/// or under a name that is not listed, it does not know. The standard one also takes every text for secret whose name ends
/// as that of a secret does; see ``SecretNames``.
public struct Redaction: Sendable, Hashable {
    /// The fields whose values are replaced.
    public var fields: Set<HTTPField.Name>

    /// The names of further fields whose values are replaced, as in `*-token`.
    public var fieldNames: SecretNames

    /// The names of the items in a URL's query or fragment, and of path parameters, whose values are replaced.
    ///
    /// A name counts in its percent-encoded form too. URLs are also found in `Location`, `Referer`, `Link` and every
    /// other field that holds one, in the strings of JSON, and percent-encoded in the value of another item.
    public var queryItems: SecretNames

    /// The places in JSON whose values, of any type, are replaced by a string.
    ///
    /// Names at any depth, as in `**.password`, also count as the names of elements and attributes in XML and HTML.
    public var jsonPaths: Set<JSONPattern> {
        get { jsonMatcher.patterns }
        set { jsonMatcher = JSONMatcher(newValue) }
    }

    /// The names that ``jsonPaths`` has at any depth, as in `**.password`, without the asterisks.
    public var jsonNames: SecretNames { jsonMatcher.deepNames }

    /// The names in forms whose values are replaced, whether the form is URL-encoded or multipart.
    public var formNames: SecretNames

    /// Whether the user name and password of a URL are replaced.
    public var userinfo: Bool

    /// Whether fields are replaced that a request declares secret, or that are marked as never to be indexed.
    ///
    /// They are those of ``RequestOptions/secretFields`` and those whose indexing strategy is `disallow`, by which
    /// HPACK marks a sensitive value.
    public var declaredFields: Bool

    /// Whether tokens are replaced by their shape, under any name and wherever they stand.
    ///
    /// Known are JSON Web Tokens, private keys in text form, what follows `Bearer` and `Basic`, and tokens that start as
    /// those of well-known services do, such as `ghp_`, `xoxb-` and `AKIA`. They are found in fields, URLs, forms, texts,
    /// and the strings and names of JSON, as they are or percent-encoded; not in binary content. A redirection to another
    /// origin drops a field with such a value. Cassettes are searched for the same shapes before they are written.
    public var masksTokens: Bool

    /// What stands in place of a secret; percent-encoded or escaped where the place needs it.
    public var placeholder: String

    private(set) var jsonMatcher: JSONMatcher

    /// Creates a redaction that lists everything itself.
    ///
    /// - Parameters:
    ///   - fields: The fields whose values are replaced.
    ///   - queryItems: The names of items in URLs whose values are replaced.
    ///   - jsonPaths: The places in JSON whose values are replaced.
    ///   - formNames: The names in forms whose values are replaced.
    ///   - userinfo: Whether the user name and password of a URL are replaced.
    ///   - declaredFields: Whether fields that a request declares secret are replaced.
    ///   - fieldNames: The names of further fields whose values are replaced.
    ///   - masksTokens: Whether tokens are replaced by their shape.
    ///   - placeholder: What stands in place of a secret.
    public init(
        fields: Set<HTTPField.Name>,
        queryItems: SecretNames,
        jsonPaths: Set<JSONPattern>,
        formNames: SecretNames,
        userinfo: Bool = true,
        declaredFields: Bool = true,
        fieldNames: SecretNames = [],
        masksTokens: Bool = true,
        placeholder: String = "REDACTED"
    ) {
        self.fields = fields
        self.fieldNames = fieldNames
        self.queryItems = queryItems
        self.formNames = formNames
        self.userinfo = userinfo
        self.declaredFields = declaredFields
        self.masksTokens = masksTokens
        self.placeholder = placeholder
        jsonMatcher = JSONMatcher(jsonPaths)
    }

    /// A redaction that replaces nothing.
    public static let none = Redaction(
        fields: [], queryItems: [], jsonPaths: [], formNames: [], userinfo: false, declaredFields: false,
        masksTokens: false)

    /// How many times an encoding within an encoding is looked into, such as JSON in a string of JSON.
    public static let nestingLimit = 3
}
