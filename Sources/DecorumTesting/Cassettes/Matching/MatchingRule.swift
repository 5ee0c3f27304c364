public import Decorum
import DecorumArchive
public import HTTPTypes

/// One aspect in which a request has to agree with a recorded one.
///
/// A rule is a function from a request to a key, so an interaction is looked up without a search, and the key can be
/// shown if it does not agree. Requests are redacted before any rule is applied.
///
/// ```swift
/// let rules = CassetteRules(matching: [.method, .url(ignoring: "ts"), .body, .header(.accept)])
/// ```
public struct MatchingRule: Sendable {
    /// The part of a request that the rule compares.
    enum Subject: Sendable {
        case method
        case url
        case body
        case other
    }

    /// The name of the rule in messages.
    public let name: String
    let subject: Subject
    /// The places of JSON content that the rule ignores.
    let ignoredPaths: Redaction
    /// Appends the value that two requests must have in common to a key of several rules.
    let appendKey: Key

    /// A function that appends a value of a request to a key.
    typealias Key = @Sendable (_ request: RecordedRequest, _ key: inout [UInt8]) -> Void

    private init(
        _ name: String, _ subject: Subject, ignoring paths: Redaction = .none, appendKey: @escaping Key
    ) {
        self.name = name
        self.subject = subject
        ignoredPaths = paths
        self.appendKey = appendKey
    }

    /// Whether the fields of a request that has no content matter to the rule.
    var readsFields: Bool { subject == .other }

    /// Whether the rule reads only the method or the URL.
    var readsTargetAlone: Bool { subject == .method || subject == .url }

    /// The value that two requests must have in common.
    func key(_ request: RecordedRequest) -> [UInt8] {
        var key: [UInt8] = []
        appendKey(request, &key)
        return key
    }

    /// Creates a custom rule.
    ///
    /// - Parameters:
    ///   - name: The name of the rule in messages.
    ///   - key: Computes the value that two requests must have in common; it must always return the same value for the
    ///     same request.
    public init(_ name: String, key: @escaping @Sendable (RecordedRequest) -> String) {
        self.init(name, .other) { $1 += key($0).utf8 }
    }

    /// The methods are the same.
    public static let method = MatchingRule("method", .method) { $1 += $0.method.utf8 }

    /// The URLs are equivalent: letter case of scheme and host, default port, needless percent-encoding, fragment and
    /// the order of query items of different names are ignored.
    public static let url = url(ignoring: [])

    /// The paths and the queries are equivalent, as by ``url``, whatever the origins.
    ///
    /// Use it in place of ``url`` for a local server whose port changes from run to run. In replay, a URL of the recorded origin in
    /// `Location`, `Content-Location` and `Link` then gets the origin of the request that is answered, so that a client follows it
    /// there. URLs in bodies stay as they were recorded.
    public static let pathAndQuery = MatchingRule("path and query", .url) {
        URLKey.append("http://any" + URLKey.target(of: $0.url), ignoring: SecretNames([]), to: &$1)
    }

    /// The bodies are equivalent: JSON by value, forms by their items, multipart without the boundary, else each byte.
    public static let body = body(ignoring: [])

    /// The URLs are equivalent, except for some query items.
    ///
    /// - Parameter names: The names of the items to ignore; see `SecretNames` for how names are compared.
    /// - Returns: A rule.
    public static func url(ignoring names: String...) -> MatchingRule {
        url(ignoring: names)
    }

    /// The bodies are equivalent, except for some places in JSON.
    ///
    /// - Parameter paths: The places whose values are ignored, as in `**.timestamp`.
    /// - Returns: A rule.
    public static func body(ignoring paths: JSONPattern...) -> MatchingRule {
        body(ignoring: paths)
    }

    /// A header field is the same in both, or in neither.
    ///
    /// - Parameter name: The name of the field.
    /// - Returns: A rule.
    public static func header(_ name: HTTPField.Name) -> MatchingRule {
        MatchingRule("header \(name.rawName)", .other) { request, key in
            key += request.fields[values: name].joined(separator: "\n").utf8
        }
    }

    private static func url(ignoring names: [String]) -> MatchingRule {
        let names = SecretNames(names)
        return MatchingRule("url", .url) { URLKey.append($0.url, ignoring: names, to: &$1) }
    }

    private static func body(ignoring paths: [JSONPattern]) -> MatchingRule {
        var ignored = Redaction.none
        ignored.jsonPaths = Set(paths)
        return MatchingRule("body", .body, ignoring: ignored) { [ignored] request, key in
            guard !request.body.bytes.isEmpty else { return }
            key += BodyKey.key(of: request.body.bytes, mediaType: request.fields[.contentType], ignoring: ignored)
        }
    }
}
