import Foundation
import HTTPTypes

extension KeyedEncodingContainer {
    mutating func encodeIfPresent(_ origin: AskedOrigin?, forKey key: Key) throws {
        if let value = origin?.value { try encode(value, forKey: key) }
    }
}

/// The URL that a request asks, of which only the redacted form is shown; it is redacted when it is read, since most are not.
enum AskedURL: Sendable, Hashable, TextCodable, SecretHolder {
    /// A text without secrets.
    case text(String)
    case request(HTTPRequest.PseudoHeaderFields, SharedRedaction)

    /// The URL of the first request of a chain that ends with a response; nil if it is not known.
    init?(answeredBy metadata: borrowing ResponseMetadata, redacting shared: SharedRedaction) {
        let first = metadata.values.isEmpty ? nil : metadata.redirects.first
        if first == nil, let asked = metadata.asked {
            self = .request(asked, shared)
        } else if let url = first?.from ?? metadata.url {
            self = .text(shared.shown(url.absoluteString))
        } else {
            return nil
        }
    }

    init(_ text: String) { self = .text(text) }

    /// Whether a layer further in has to complete the URL.
    var isRelative: Bool {
        switch self {
        case .text: false
        case .request(let request, _): HTTPRequest(request).authority == nil || HTTPRequest(request).scheme == nil
        }
    }

    /// The URL without its secrets; of a relative one, the path.
    var description: String { LineText.made { write(to: &$0) }.text }

    /// Writes the description into a longer text.
    func write(to line: inout LineText) {
        switch self {
        case .text(let text): line += text
        case .request(let request, let shared): shared.write(request, to: &line)
        }
    }

    var origin: Origin? {
        switch self {
        case .text(let text): try? Origin(text)
        case .request(let request, _): AskedOrigin.request(request).value
        }
    }

    static func == (one: AskedURL, other: AskedURL) -> Bool { one.description == other.description }

    func hash(into hasher: inout Hasher) { hasher.combine(description) }
}

/// A redaction; a class, since a copy of a redaction takes longer than most of what is done with it.
package final class SharedRedaction: Sendable {
    package static let standard = SharedRedaction(.standard)

    package let redaction: Redaction

    init(_ redaction: Redaction) {
        self.redaction = redaction
    }

    /// The redaction with further names of query items; the same object without any.
    package func covering(queryItems: Set<String>) -> SharedRedaction {
        queryItems.isEmpty ? self : SharedRedaction(redaction.covering(queryItems: queryItems))
    }

    /// A URL without its secrets, and without its fragment, which often is one as a whole.
    func shown(_ url: String) -> String {
        redaction.applied(toURL: String(Substring(url.utf8.prefix { $0 != UInt8(ascii: "#") })))
    }

    /// Writes the URL of a request; of a relative one, the path.
    fileprivate func write(_ asked: HTTPRequest.PseudoHeaderFields, to line: inout LineText) {
        let request = HTTPRequest(asked)
        let (authority, path) = (request.authority, request.path ?? "/")
        if let authority, let scheme = request.scheme {
            line += scheme
            line += "://"
            line += Self.mayHoldSecret(authority) ? redaction.applied(toAuthority: authority) : authority
            // The target URI of `OPTIONS *` has no path (RFC 9112, section 3.3).
            if path == "*" { return }
        }
        line += shown(path, of: authority)
    }

    private func shown(_ path: String, of authority: String?) -> String {
        // Most URLs hold nothing to search for, and to see that takes less time than a copy of the redaction.
        let needsSearch =
            Self.mayHoldSecret(path) || SecretPath.mayHoldSecret(path)
            || authority.flatMap { SecretPath.addressedHost(of: $0) } != nil
        return needsSearch ? redaction.applied(toPath: path, of: authority) : path
    }

    private static func mayHoldSecret(_ part: String) -> Bool {
        part.mayHoldSecretPart || TokenSearch.mayHoldToken(part)
    }
}
