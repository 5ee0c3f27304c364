public import Decorum
import Foundation

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
    ) -> Pages<Page> {
        Pages(connection: self, endpoint: endpoint, rule: rule, walk: PageWalk(limit: limit, allowed: allowed))
    }

    /// Reads the elements of a list that comes in pages, each of which is a collection.
    ///
    /// ```swift
    /// for try await repository in connection.elements(of: .repositories(of: "apple")) {
    ///     if repository.name == name { return repository }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint of the first page.
    ///   - rule: The way to the next page; by default, the link `next` of the field `Link`.
    ///   - limit: The largest number of pages; a further one is an error.
    ///   - allowed: The origins, beside that of the first page, that pages may be on.
    /// - Returns: The elements of all pages, as of ``pages(of:by:upTo:allowing:)``.
    public func elements<Page: Collection>(
        of endpoint: Endpoint<Page>, by rule: PageRule<Page> = .link(), upTo limit: Int = 1000,
        allowing allowed: Set<Origin> = []
    ) -> PageElements<Page, Page.Element> where Page.Element: Sendable {
        pages(of: endpoint, by: rule, upTo: limit, allowing: allowed).elements { Array($0) }
    }

    /// Reads the elements of a list that comes in pages, each of which has them in a property.
    ///
    /// ```swift
    /// let byCursor = connection.elements(of: list, in: \.items, by: .cursor("cursor", \.nextCursor))
    /// let byOffset = connection.elements(of: list, in: \.items, by: .offset("offset", \.items.count))
    /// let byNumber = connection.elements(of: list, in: \.items, by: .number("page", \.items.count))
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint of the first page.
    ///   - elements: Finds the elements of a page.
    ///   - rule: The way to the next page; by default, the link `next` of the field `Link`.
    ///   - limit: The largest number of pages; a further one is an error.
    ///   - allowed: The origins, beside that of the first page, that pages may be on.
    /// - Returns: The elements of all pages, as of ``pages(of:by:upTo:allowing:)``.
    public func elements<Page, Element: Sendable>(
        of endpoint: Endpoint<Page>, in elements: @escaping @Sendable (_ page: Page) -> [Element],
        by rule: PageRule<Page> = .link(), upTo limit: Int = 1000, allowing allowed: Set<Origin> = []
    ) -> PageElements<Page, Element> {
        pages(of: endpoint, by: rule, upTo: limit, allowing: allowed).elements(elements)
    }
}

/// The pages of a list.
///
/// It throws ``PageError``, and the errors of a call of the endpoint.
public struct Pages<Page: Sendable>: AsyncSequence, Sendable {
    fileprivate let connection: any Connection
    fileprivate let endpoint: Endpoint<Page>
    fileprivate let rule: PageRule<Page>
    fileprivate let walk: PageWalk

    /// The elements of the pages.
    ///
    /// - Parameter elements: Finds the elements of a page.
    /// - Returns: The elements of all pages, in order.
    public func elements<Element: Sendable>(
        _ elements: @escaping @Sendable (_ page: Page) -> [Element]
    ) -> PageElements<Page, Element> {
        PageElements(pages: self, elements: elements)
    }

    /// The pages with their responses.
    ///
    /// - Returns: The same pages, each with its head and its request.
    public var responses: PageResponses<Page> { PageResponses(pages: self) }

    /// Makes an iterator, which requests the first page when it is asked for.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pages: PageResponses<Page>.AsyncIterator(self))
    }

    /// Reads pages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var pages: PageResponses<Page>.AsyncIterator

        /// Reads the next page.
        public mutating func next() async throws -> Page? {
            try await pages.next(isolation: #isolation)?.value
        }

        /// Reads the next page on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Page? {
            try await pages.next(isolation: actor)?.value
        }
    }
}

/// The pages of a list, each with its response.
public struct PageResponses<Page: Sendable>: AsyncSequence, Sendable {
    fileprivate let pages: Pages<Page>

    /// Makes an iterator, which requests the first page when it is asked for.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pages)
    }

    /// Reads pages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let pages: Pages<Page>
        private var walk: PageWalk
        private var last: TypedResponse<Page>?
        private var hasEnded = false

        fileprivate init(_ pages: Pages<Page>) {
            self.pages = pages
            walk = pages.walk
        }

        /// Reads the next page.
        public mutating func next() async throws -> TypedResponse<Page>? {
            try await next(isolation: #isolation)
        }

        /// Reads the next page on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> TypedResponse<Page>? {
            guard !hasEnded else { return nil }
            // An error ends the list too.
            hasEnded = true
            guard let request = try nextRequest() else { return nil }
            let page = try await pages.endpoint.response(to: request, over: pages.connection)
            let asked = page.metadata.redirects.first?.from
            walk.note(request, sentTo: asked ?? page.url, answeredBy: page.url)
            last = page
            hasEnded = false
            return page
        }

        private func nextRequest() throws -> Request? {
            guard let last else { return try pages.endpoint.request(over: pages.connection) }
            guard let next = try pages.rule.next(last) else { return nil }
            return try walk.request(for: next, after: last.request, answeredBy: last.url)
        }
    }
}

/// The elements of a list that comes in pages.
public struct PageElements<Page: Sendable, Element: Sendable>: AsyncSequence, Sendable {
    fileprivate let pages: Pages<Page>
    fileprivate let elements: @Sendable (Page) -> [Element]

    /// Makes an iterator, which requests the first page when it is asked for.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pages: pages.makeAsyncIterator(), elements: elements)
    }

    /// Reads elements.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var pages: Pages<Page>.AsyncIterator
        fileprivate let elements: @Sendable (Page) -> [Element]
        private var rest: ArraySlice<Element> = []

        fileprivate init(pages: Pages<Page>.AsyncIterator, elements: @escaping @Sendable (Page) -> [Element]) {
            self.pages = pages
            self.elements = elements
        }

        /// Reads the next element.
        public mutating func next() async throws -> Element? {
            try await next(isolation: #isolation)
        }

        /// Reads the next element on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            while true {
                if let element = rest.popFirst() { return element }
                guard let page = try await pages.next(isolation: actor) else { return nil }
                rest = elements(page)[...]
            }
        }
    }
}

@available(*, unavailable)
extension Pages.AsyncIterator: Sendable {}

@available(*, unavailable)
extension PageResponses.AsyncIterator: Sendable {}

@available(*, unavailable)
extension PageElements.AsyncIterator: Sendable {}
