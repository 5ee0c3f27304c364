public import Decorum
import Foundation

/// The kind of a possible secret in a cassette.
///
/// The kinds are an open set. A token of a service has the name of the service, as in `SecretKind("GitHub token")`.
public struct SecretKind: Sendable, Hashable {
    /// The name of the kind, fit for a sentence: `GitHub token`.
    public let name: String

    /// Creates a kind.
    ///
    /// - Parameter name: The name, as a ``SecretFoundError`` lists it.
    public init(_ name: String) {
        self.name = name
    }

    /// A secret key of Amazon Web Services, which is random Base64 of 40 characters.
    public static let awsSecretKey = SecretKind("AWS secret key")
    /// A user name and a password encoded as HTTP's basic scheme does.
    public static let basicCredentials = SecretKind(TokenSearch.basicCredentials)
    /// A token behind the word `Bearer`.
    public static let bearerToken = SecretKind(TokenSearch.bearerToken)
    /// The number of a payment card.
    public static let cardNumber = SecretKind(TokenSearch.cardNumber)
    /// A text in Base64 that holds a token, or JSON with a secret.
    public static let encodedToken = SecretKind("encoded token")
    /// The value of an environment variable that is named like a secret.
    public static let environment = SecretKind("value of an environment variable")
    /// A signed or encrypted token of JSON.
    public static let jsonWebToken = SecretKind(TokenSearch.jsonWebToken)
    /// A secret that a name marks elsewhere, in content in which nothing can be replaced.
    public static let knownSecret = SecretKind("secret that is replaced elsewhere")
    /// A long value of letters and digits behind a name such as `token` or `secret`.
    public static let namedValue = SecretKind("value named like a secret")
    /// A private key in text form.
    public static let privateKey = SecretKind(TokenSearch.privateKey)
    /// Content of a kind that is not searched for secrets: an archive, or a binary format with fields of text, such as
    /// Protocol Buffers.
    public static let unsearchedContent = SecretKind("content that is not searched")
    /// A password in a URL.
    public static let urlPassword = SecretKind("password in a URL")
}

/// A text that may be in a cassette as it is, because it is made up or no secret.
public struct SecretAllowance: Sendable, Hashable {
    enum Rule: Sendable, Hashable {
        case text(String)
        case kind(SecretKind)
        /// The fields with a name in small letters.
        case field(String)
        case item(String)
        case json(JSONPattern)
    }

    let rule: Rule

    /// Allows one secret, which is compared exactly.
    ///
    /// - Parameter text: The token, the password, or the value of the environment variable.
    /// - Returns: The allowance.
    public static func text(_ text: String) -> SecretAllowance {
        SecretAllowance(rule: .text(text))
    }

    /// Leaves the values of a field, although its name is that of a secret.
    ///
    /// - Parameter name: The name, in any letter case; a text that is no name of a field leaves nothing.
    /// - Returns: The allowance.
    public static func field(_ name: String) -> SecretAllowance {
        SecretAllowance(rule: .field(name.lowercased()))
    }

    /// Leaves the values of items in URLs and forms, of cookies, and of elements and assignments in text.
    ///
    /// - Parameter name: The name, in any spelling.
    /// - Returns: The allowance.
    public static func item(_ name: String) -> SecretAllowance {
        SecretAllowance(rule: .item(name))
    }

    /// Leaves the values at places in JSON, as in `choices.token`.
    ///
    /// In text that is only nearly JSON, such as a call around it, only a pattern of the form `**.token` has a place.
    ///
    /// - Parameter pattern: The places.
    /// - Returns: The allowance.
    public static func json(_ pattern: JSONPattern) -> SecretAllowance {
        SecretAllowance(rule: .json(pattern))
    }

    /// Allows everything of a kind.
    ///
    /// - Parameter kind: The kind.
    /// - Returns: The allowance.
    public static func kind(_ kind: SecretKind) -> SecretAllowance {
        SecretAllowance(rule: .kind(kind))
    }
}

extension SecretAllowance: SecretHolder {
    /// The kind that is allowed, or the fact that one value is allowed, which is not shown.
    public var description: String {
        switch rule {
        case .text: "one value"
        case .kind(let kind): kind.name
        case .field(let name): "field \(name)"
        case .item(let name): "items named \(name)"
        case .json: "places in JSON"
        }
    }
}

extension SecretAllowance: ExpressibleByStringLiteral {
    /// Allows one secret, which is compared exactly.
    ///
    /// - Parameter value: The secret.
    public init(stringLiteral value: String) {
        self.init(rule: .text(value))
    }
}

/// A cassette is not written, because it still holds a text that looks like a secret.
///
/// It names the places, and never the secrets.
public struct SecretFoundError: Error, Sendable, Hashable, DescribableError {
    /// A place that holds something like a secret.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// The kind of secret that it looks like.
        public let kind: SecretKind

        /// The name of the environment variable that has this value; nil for all other kinds.
        public let variable: String?

        /// The path in JSON, such as `$.interactions[0].request.url`; nil in a file of another format.
        public let path: String?

        /// The line in the file, from 1.
        public let line: Int

        /// The kind and the place.
        public var description: String {
            let what = variable.map { "\(kind.name) \($0)" } ?? kind.name
            return path.map { "\(what) at \($0), line \(line)" } ?? "\(what) in line \(line)"
        }
    }

    private static let listLimit = 10

    /// The file that would have been written.
    public let file: String

    /// The places, in their order in the file.
    public let findings: [Finding]

    /// The method and the URL of the request, redacted, whose content or whose answer is not searched; nil if unknown.
    var exchange: String?

    /// The file, the places and the remedy.
    public var description: String {
        let secrets = findings.filter { $0.kind != .unsearchedContent }
        return secrets.isEmpty ? unsearched : found(secrets)
    }

    private func found(_ secrets: [Finding]) -> String {
        let listed = secrets.prefix(Self.listLimit).map { "  \($0)" }.joined(separator: "\n")
        let rest = secrets.count - Self.listLimit
        return """
            The file \(file) is not written, because it would hold what looks like a secret:
            \(listed)\(rest > 0 ? "\n  and \(rest) more" : "")
            fix: replace it by the name of its place, as in `rules.redaction.jsonPaths.insert("user.pin")`, or in \
            `rules.beforeRecording`; if it is made up, `rules.allowedSecrets.append("the value")` leaves it
            """
    }

    /// Such content is no secret, but might hold one.
    private var unsearched: String {
        """
        The file \(file) is not written, because \(exchange.map { "the content of \($0)" } ?? "some content") is an \
        archive or has a binary format, in which no secret would be found.
        fix: if it holds none, `rules.allowedSecrets.append(.kind(.unsearchedContent))` records it as it is; or let \
        `rules.beforeRecording` replace it
        """
    }
}
