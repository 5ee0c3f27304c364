import Foundation
import HTTPTypes

extension Connection {
    /// Resolves requests that have a relative reference against a base URL.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .resolving(against: "https://api.example.com/v1/")
    /// let response = try await connection.send(.get("items?page=2"))
    /// // GET https://api.example.com/v1/items?page=2
    /// ```
    ///
    /// References are resolved like links on a page (RFC 3986, section 5.2). A base that stands for a folder ends with
    /// a slash, and a reference below it starts without a slash:
    ///
    /// | base | reference | request |
    /// |---|---|---|
    /// | `https://api.example.com/v1/` | `items` | `https://api.example.com/v1/items` |
    /// | `https://api.example.com/v1` | `items` | `https://api.example.com/items` |
    /// | `https://api.example.com/v1/` | `/items` | `https://api.example.com/items` |
    /// | `https://api.example.com/v1/` | `../v2/items` | `https://api.example.com/v2/items` |
    ///
    /// The items of the base's query go with every relative request that has no items of the same names, as those of
    /// ``addingDefaultQueryItems(_:)``: `https://api.example.com/v1/?version=2` sends `version=2` each time.
    ///
    /// A relative reference never leads to another origin: if it would, sending throws ``InvalidRequestError``. It may
    /// lead out of the path of the base, so percent-encode untrusted text before you insert it into a reference.
    ///
    /// **A request with an absolute URL passes unchanged**, to any origin that it names. A URL made from untrusted text
    /// lets that text choose the server. Put such text into ``Request/head`` as the path of a request without scheme
    /// and authority: there, a URL of another origin is refused.
    ///
    /// Place it outside of all layers that need the origin: redirects, caching, authentication.
    ///
    /// - Parameter base: An absolute URL over `http` or `https`; its fragment is ignored.
    /// - Returns: A connection that sends relative requests to the base.
    /// - Throws: ``InvalidRequestError`` when the base cannot be parsed or sent to, or holds a user name or password.
    public func resolving(against base: String) throws(InvalidRequestError) -> some Connection {
        ResolvingConnection(base: self, baseURL: try BaseURL(base))
    }
}

struct ResolvingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let baseURL: BaseURL

    var layer: Layer {
        // The query is left out: it may hold a key. A path may hold one, too.
        let place = Redaction.describedPath(baseURL.origin.description + baseURL.path)
        return Layer(
            name: "resolving", role: .preparation, settings: [Layer.Setting("against", place)],
            facts: ([.changesSignedParts, .setsOrigin] as Set)
                .union(baseURL.isCut ? [.cutsBaseURL] : [])
                .union(baseURL.secretItems.isEmpty ? [] : [.addsCredentials]))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard request.head.scheme == nil, request.head.authority == nil else { return try await base.send(request) }
        try baseURL.resolve(&request)
        if !baseURL.secretItems.isEmpty { request.options.secretQueryItems.formUnion(baseURL.secretItems) }
        request.options.callContext?.resolve(to: baseURL.asked)
        let (path, secretQueryItems) = (request.head.path, request.options.secretQueryItems)
        do {
            return try await base.send(request)
        } catch {
            throw baseURL.naming(error, of: path, without: secretQueryItems)
        }
    }
}

/// A URL that references are resolved against, without leaving its origin.
final class BaseURL: Sendable {
    let origin: Origin
    /// The origin for reports, which all requests share.
    let asked: AskedOrigin
    private let target: Target
    private let scheme: HTTPField?
    private let authority: HTTPField?
    /// The path up to its last slash, which relative references begin behind.
    private let folder: String
    /// The items of the query, which each request gets.
    private let items: [(name: String, text: String)]
    /// The names of the items that hold a secret.
    let secretItems: Set<String>

    init(_ text: String) throws(InvalidRequestError) {
        let target = try Target(text)
        origin = try Origin(target)
        asked = AskedOrigin(origin)
        self.target = target
        let fields = HTTPRequest(method: .get, scheme: target.scheme, authority: target.authority, path: nil)
            .pseudoHeaderFields
        (scheme, authority) = (fields.scheme, fields.authority)
        let path = target.withoutDotSegments.path.prefix { $0 != "?" }
        items = target.path.drop { $0 != "?" }.dropFirst().split(separator: "&").map { text in
            (QueryItem.items(of: text, plusIsBlank: false).first?.name ?? "", String(text))
        }
        secretItems = Set(items.map(\.name).filter(Redaction.standard.queryItems.contains))
        folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
    }

    var path: Substring { target.path.prefix { $0 != "?" } }
    /// Whether references leave out a part of the URL: the last segment of its path.
    var isCut: Bool { path.last.map { $0 != "/" } ?? false }

    func resolve(_ request: inout Request) throws(InvalidRequestError) {
        try place(&request)
        if !items.isEmpty { request.head.path = request.head.path.map { $0.adding(defaults: items) } }
    }

    private func place(_ request: inout Request) throws(InvalidRequestError) {
        // Most references are plain paths, which cannot name a server. A text that is set would be validated once more.
        if let path = request.head.path, let reference = PlainReference(path) {
            if reference == .relative { request.head.path = folder + path }
            request.head.pseudoHeaderFields.scheme = scheme
            request.head.pseudoHeaderFields.authority = authority
            return
        }
        let target = try target(for: request.head.path ?? "", method: request.head.method)
        request.head.scheme = target.scheme
        request.head.authority = target.authority
        request.head.path = target.path
        // A path must not name a server, as `//evil.example` or `https://evil.example` would.
        guard try Origin(request.head) == origin else {
            throw InvalidRequestError(
                .invalidPath,
                "The path of a relative request leads to another origin; make the request from an absolute URL.")
        }
    }

    /// The error of a request with the URL that a reference was resolved to, since layers further out know only the
    /// reference; the items of the query that are declared secret are redacted in it.
    func naming(_ error: any Error, of path: String?, without secretQueryItems: Set<String>) -> any Error {
        guard var error = error as? any ResolvedRequestError, error.resolvedURL == nil else { return error }
        let url = "\(origin)\(path ?? "/")"
        error.resolvedURL =
            secretQueryItems.isEmpty
            ? url : Redaction.standard.covering(queryItems: secretQueryItems).applied(toURL: url)
        return error
    }

    private func target(for reference: String, method: HTTPRequest.Method) throws(InvalidRequestError) -> Target {
        if reference.isEmpty { return target }
        guard reference == "*", method == .options else { return try Target.resolve(reference, against: target) }
        return Target(scheme: target.scheme, authority: target.authority, path: "*")
    }
}

/// An error that a log shows with the URL of its request, which only the layer knows that has resolved it.
protocol ResolvedRequestError: Error {
    /// The URL of a relative request; nil before a layer has set it.
    var resolvedURL: String? { get set }
}

extension TransportError: ResolvedRequestError {}
extension PacingError: ResolvedRequestError {}
