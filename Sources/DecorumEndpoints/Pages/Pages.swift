public import Decorum
import Foundation
import HTTPTypes

extension Connection {
    /// Reads the pages of a list, one after the other.
    ///
    /// ```swift
    /// for try await page in connection.pages(of: .repositories(of: "apple")) {
    ///     show(page)
    /// }
    /// ```
    ///
    /// A page is requested when the reader asks for it, so a loop that ends early requests no more. Each request has the
    /// method, the fields and the options of the first. If the next page is on another origin than the first page, it
    /// is refused unless that origin is allowed, since the server of that origin would get the fields of the request. A
    /// page that leads to one that was read before is an error, since the list may be incomplete.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint of the first page.
    ///   - rule: The way to the next page; by default, the link `next` of the field `Link`.
    ///   - limit: The largest number of pages; a further one is an error.
    ///   - allowed: The origins, beside that of the first page, that pages may be on.
    /// - Returns: The pages. Each loop over them begins with the first.
    public func pages<Page>(
        of endpoint: Endpoint<Page>, by rule: PageRule<Page> = .link(), upTo limit: Int = 1000,
        allowing allowed: Set<Origin> = []
    ) -> Pages<Page, Page> {
        let walk = PageWalk(limit: limit, allowed: allowed)
        return Pages(connection: self, endpoint: endpoint, rule: rule, walk: walk, elements: { [$0.value] })
    }

    /// Reads the elements of a list that comes in pages, each of which is a collection.
    ///
    /// ```swift
    /// for try await repository in connection.elements(of: .repositories(of: "apple")) {
    ///     if repository.name == name { return repository }
    /// }
    /// ```
    ///
    /// It takes the parameters of ``pages(of:by:upTo:allowing:)``.
    public func elements<Page: Collection>(
        of endpoint: Endpoint<Page>, by rule: PageRule<Page> = .link(), upTo limit: Int = 1000,
        allowing allowed: Set<Origin> = []
    ) -> Pages<Page, Page.Element> where Page.Element: Sendable {
        elements(of: endpoint, in: { Array($0) }, by: rule, upTo: limit, allowing: allowed)
    }

    /// Reads the elements of a list that comes in pages, each of which has them in a property.
    ///
    /// ```swift
    /// let byCursor = connection.elements(of: list, in: \.items, by: .cursor("cursor", \.nextCursor))
    /// let byOffset = connection.elements(of: list, in: \.items, by: .offset("offset", \.items.count))
    /// let byNumber = connection.elements(of: list, in: \.items, by: .number("page", \.items.count))
    /// ```
    ///
    /// The closure finds the elements of a page; the other parameters have the meaning of ``pages(of:by:upTo:allowing:)``.
    public func elements<Page, Element: Sendable>(
        of endpoint: Endpoint<Page>, in elements: @escaping @Sendable (_ page: Page) -> [Element],
        by rule: PageRule<Page> = .link(), upTo limit: Int = 1000, allowing allowed: Set<Origin> = []
    ) -> Pages<Page, Element> {
        pages(of: endpoint, by: rule, upTo: limit, allowing: allowed).elements { elements($0.value) }
    }
}

/// The pages of a list, their responses, or their elements.
///
/// It throws ``PageError``, and the errors of a call of the endpoint.
public struct Pages<Page: Sendable, Element: Sendable>: AsyncSequence, Sendable {
    fileprivate let connection: any Connection
    fileprivate let endpoint: Endpoint<Page>
    fileprivate let rule: PageRule<Page>
    fileprivate let walk: PageWalk
    fileprivate let elements: @Sendable (TypedResponse<Page>) -> [Element]

    /// The pages with their heads and their requests.
    public var responses: Pages<Page, TypedResponse<Page>> { elements { [$0] } }

    fileprivate func elements<Other>(
        _ elements: @escaping @Sendable (TypedResponse<Page>) -> [Other]
    ) -> Pages<Page, Other> {
        Pages<Page, Other>(connection: connection, endpoint: endpoint, rule: rule, walk: walk, elements: elements)
    }

    /// Makes an iterator, which requests the first page when its first element is asked for.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    /// Reads pages one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let pages: Pages
        private var walk: PageWalk
        private var last: TypedResponse<Page>?
        private var rest: ArraySlice<Element> = []
        private var hasEnded = false

        fileprivate init(_ pages: Pages) {
            self.pages = pages
            walk = pages.walk
        }

        /// Reads the next element.
        public mutating func next() async throws -> Element? {
            try await next(isolation: #isolation)
        }

        /// Reads the next element on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            while true {
                if let element = rest.popFirst() { return element }
                guard !hasEnded else { return nil }
                // An error ends the list too.
                hasEnded = true
                guard let request = try nextRequest() else { return nil }
                let page = try await pages.endpoint.response(to: request, over: pages.connection)
                let asked = page.metadata.redirects.first?.from
                walk.note(request, sentTo: asked ?? page.url, answeredBy: page.url)
                rest = pages.elements(page)[...]
                last = page
                hasEnded = false
            }
        }

        private func nextRequest() throws -> Request? {
            guard let last else { return try pages.endpoint.request(over: pages.connection) }
            guard let next = try pages.rule.next(last) else { return nil }
            return try walk.request(for: next, after: last.request, answeredBy: last.url)
        }
    }
}

@available(*, unavailable)
extension Pages.AsyncIterator: Sendable {}

/// The pages that were read, which decides whether and where there is a next one.
struct PageWalk: Sendable {
    private let limit: Int
    private let allowed: Set<Origin>
    private(set) var count = 0
    /// The origin that was asked for the first page, whatever a redirection has led to.
    private var home: Origin?
    /// The URLs of all requests so far.
    private var visited: Set<String> = []

    init(limit: Int, allowed: Set<Origin>) {
        self.limit = max(1, limit)
        self.allowed = allowed
    }

    /// Remembers a page.
    ///
    /// - Parameters:
    ///   - request: The request for the page.
    ///   - asked: The URL that the first request for it was sent to.
    ///   - url: The URL that answered it.
    mutating func note(_ request: Request, sentTo asked: URL?, answeredBy url: URL?) {
        if count == 0 { home = asked.flatMap { try? Origin($0) } }
        count += 1
        visited.insert(Self.key(request, relativeTo: url))
    }

    /// The request for the next page.
    ///
    /// - Parameters:
    ///   - next: The place of the next page.
    ///   - request: The request for the last page.
    ///   - url: The URL that answered it; nil if that is not known.
    /// - Returns: The request.
    /// - Throws: ``PageError`` if it must not be sent.
    func request(for next: NextPage, after request: Request, answeredBy url: URL?) throws(PageError) -> Request {
        var following = request
        switch next {
        case .query(let name, let value):
            following.head.path = QueryText.setting(name, to: value, in: request.head.path ?? "/")
        case .url(let reference):
            following.head = try head(for: reference, after: request.head, answeredBy: url)
            // The fragment of a URL is never sent.
            following.options.fragment = nil
        }
        guard !visited.contains(Self.key(following, relativeTo: url)) else { throw .loop(after: count) }
        guard count < limit else { throw .limit(limit) }
        return following
    }

    private func head(
        for reference: String, after head: HTTPRequest, answeredBy url: URL?
    ) throws(PageError) -> HTTPRequest {
        guard reference.utf8.count <= Target.longestReference,
            let target = URL(string: reference, relativeTo: url)?.absoluteURL,
            let request = try? Request(head.method, url: target)
        else { throw .url(after: count) }
        var following = head
        following.path = request.head.path
        // Without a URL of the page, a relative reference is resolved as the request before was.
        guard request.head.authority != nil else { return following }
        guard let origin = try? Origin(request.head) else { throw .url(after: count) }
        guard origin == home || allowed.contains(origin) || home.map(origin.isSecureForm) == true else {
            throw .origin(origin, of: home, after: count)
        }
        following.scheme = request.head.scheme
        following.authority = request.head.authority
        return following
    }

    /// The URL as text; a relative path counts as one of the origin that has answered.
    private static func key(_ request: Request, relativeTo url: URL?) -> String {
        let path = request.head.path ?? "/"
        guard request.head.authority == nil, let url else { return request.url?.absoluteString ?? path }
        return URL(string: path, relativeTo: url)?.absoluteString ?? path
    }
}

extension Origin {
    /// Whether this origin is the same host over TLS, as after a redirection from `http` to `https`.
    fileprivate func isSecureForm(of other: Origin) -> Bool {
        other.scheme == "http" && other.port == 80 && scheme == "https" && port == 443 && host == other.host
    }
}

/// The way from a page of a list to the next one.
public struct PageRule<Page: Sendable>: Sendable {
    let next: @Sendable (TypedResponse<Page>) throws -> NextPage?

    /// Creates a rule from a closure that finds the next page of a response; nil after the last one.
    public init(_ next: @escaping @Sendable (_ response: TypedResponse<Page>) throws -> NextPage?) {
        self.next = next
    }

    /// The next page is the target of a link in the field `Link` (RFC 8288); without such a link, the page is the last one.
    ///
    /// A link whose reference is no URL of a page ends the walk with a ``PageError``.
    public static func link(_ relation: String = "next") -> Self {
        Self { response in Response(head: response.head).linkReference(relation).map { .url($0) } }
    }

    /// The next page has the URL that the page names, which may be relative to that of the page; nil after the last page.
    public static func url(_ url: @escaping @Sendable (_ page: Page) -> String?) -> Self {
        Self { response in url(response.value).map { .url($0) } }
    }

    /// The next page has the same URL with a cursor of this name in its query; the last page has nil or an empty cursor.
    public static func cursor(
        _ name: String, _ cursor: @escaping @Sendable (_ page: Page) -> String?
    ) -> Self {
        Self { response in
            cursor(response.value).flatMap { $0.isEmpty ? nil : .query(name, $0) }
        }
    }

    /// The next page begins after the elements of this one; a page without elements is the last one.
    ///
    /// - Parameters:
    ///   - name: The name of the offset in the query, which counts from 0.
    ///   - count: The number of elements of a page.
    /// - Returns: The rule.
    public static func offset(_ name: String, _ count: @escaping @Sendable (_ page: Page) -> Int) -> Self {
        Self { response in
            let count = count(response.value)
            let offset = QueryText.value(of: name, in: response.request.head.path ?? "").flatMap { Int($0) } ?? 0
            let (end, overflows) = offset.addingReportingOverflow(count)
            return count > 0 && !overflows ? .query(name, String(end)) : nil
        }
    }

    /// The next page has the next number; a page without elements is the last one.
    ///
    /// - Parameters:
    ///   - name: The name of the number in the query.
    ///   - first: The number of the first page, which a request without a number asks for.
    ///   - count: The number of elements of a page.
    /// - Returns: The rule.
    public static func number(
        _ name: String, from first: Int = 1, _ count: @escaping @Sendable (_ page: Page) -> Int
    ) -> Self {
        Self { response in
            let number = QueryText.value(of: name, in: response.request.head.path ?? "").flatMap { Int($0) } ?? first
            return count(response.value) > 0 && number < .max ? .query(name, String(number + 1)) : nil
        }
    }
}

/// The place of the next page.
public enum NextPage: Sendable, Hashable {
    /// A URL, which may be relative to that of the page.
    case url(String)
    /// The same URL, with one value for a name in its query, which replaces the present ones.
    case query(_ name: String, _ value: String)
}

extension NextPage: SecretHolder {
    /// The kind of the place, without its URL or its value, which may be secret.
    public var description: String {
        switch self {
        case .url: "a URL"
        case .query(let name, _): "the query item \(name)"
        }
    }
}

extension TypedResponse {
    /// The URL that answered, or else the URL of the request; nil if both are unknown.
    var url: URL? { metadata.url ?? request.url }
}

/// The query of a path, whose items are changed without a change to the others.
enum QueryText {
    /// The first value of a name, decoded; nil without one.
    static func value(of name: String, in path: String) -> String? {
        (try? Query(parsing: String(path.drop { $0 != "?" }.dropFirst()), upTo: .max))?[name].first
    }

    /// The path with one value for a name, behind the items of other names.
    static func setting(_ name: String, to value: String, in path: String) -> String {
        let kept = items(of: path).filter { nameOf($0) != name }.map { String(Substring($0)) }
        let item = "\(PercentCoding.encode(name))=\(PercentCoding.encode(value))"
        return path.prefix { $0 != "?" } + "?" + (kept + [item]).joined(separator: "&")
    }

    private static func items(of path: String) -> [Substring.UTF8View.SubSequence] {
        path[...].utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst().split(separator: UInt8(ascii: "&"))
    }

    private static func nameOf(_ item: Substring.UTF8View) -> String {
        let name = Array(item.prefix { $0 != UInt8(ascii: "=") })
        return String(decoding: PercentCoding.decode(name[...]), as: UTF8.self)
    }
}

/// A list of pages cannot be read on; the pages before were given.
public struct PageError: DescribableError, Hashable {
    /// The reason, as an open set.
    public struct Reason: Hashable, Sendable {
        let name: String

        private init(_ name: String) { self.name = name }

        /// The next page is on an origin that was not allowed.
        public static let origin = Reason("origin")
        /// The next page is one that was read before.
        public static let loop = Reason("loop")
        /// There are more pages than the limit.
        public static let limit = Reason("limit")
        /// The next page has no URL that a request can be sent to.
        public static let url = Reason("url")
    }

    /// The reason.
    public let reason: Reason
    /// The number of pages before the error.
    public let pageCount: Int
    /// A sentence that says what is wrong and how to go on; it has no query of a URL.
    public let description: String

    /// The name of the reason.
    public var shortDescription: String { reason.name }

    private init(_ reason: Reason, after count: Int, _ description: String) {
        self.reason = reason
        pageCount = count
        self.description = description
    }

    static func origin(_ origin: Origin, of expected: Origin?, after count: Int) -> Self {
        let place = expected.map { "and this one on \($0)" } ?? "and the origin of this one is not known"
        return Self(
            .origin, after: count,
            "The next page after page \(count) is on \(origin), \(place). It was not requested; if that origin is trusted, "
                + "name it in `allowing:`.")
    }

    static func loop(after count: Int) -> Self {
        Self(
            .loop, after: count,
            "The next page after page \(count) was read before, so the list has no end and may be incomplete. If the last "
                + "page links itself, give a `PageRule` that returns nil for it.")
    }

    static func limit(_ limit: Int) -> Self {
        Self(
            .limit, after: limit, "There are more than \(limit) pages. Raise `upTo:`, or stop reading earlier.")
    }

    static func url(after count: Int) -> Self {
        Self(
            .url, after: count,
            "The next page after page \(count) has no URL that a request can be sent to, so the list is incomplete.")
    }
}
