// An app that keeps cookies composes its stack too, so one import gives it both.
@_exported public import Decorum
import Foundation
import HTTPTypes

extension Connection {
    /// Keeps the cookies that servers set, and sends them with the requests that they are for (RFC 6265bis).
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .caching(in: MemoryResponseStore())
    ///     .keepingCookies(in: CookieJar())
    ///     .followingRedirects()
    /// ```
    ///
    /// A request gets the cookies of its `RequestOptions.principal` that are for its host, its path and its scheme. For
    /// each hop of a redirection, the cookies are chosen again. A request that has a `Cookie` field already passes with
    /// that field alone: the caller has chosen the cookies. One with `RequestOptions.skipsAuthentication` gets none. In
    /// both cases the answer may still set cookies.
    ///
    /// Cookies are set by an answer of the network, by a `304` that confirms a stored response, and by an answer of a
    /// test double. A stored response, a recording, and an answer of another origin than the one that was asked set no
    /// cookie. An answer also sets no cookie if its user has signed out since, by ``CookieJar/removeCookies(of:)``.
    ///
    /// A client has no page, so each request counts as a request of its own site. Another site is another registrable
    /// domain or scheme. After a redirection from another site, cookies with `SameSite=Strict` are not sent, and those
    /// without `SameSite`, or with `Lax`, are sent only with safe methods.
    ///
    /// Place it inside of `followingRedirects`, so that it sees each hop, and outside of caches and `coalescing`, which have
    /// to tell requests apart by their cookies. Cookies that are set by an answer which a retry further in has discarded are
    /// not kept. In a `StandardStack`, write `adding: [.keepingCookies(in: jar)]`.
    ///
    /// - Parameter jar: The cookies.
    /// - Returns: A connection that keeps cookies.
    public func keepingCookies(in jar: CookieJar) -> some Connection {
        CookieKeepingConnection(base: self, jar: jar)
    }
}

extension StandardStack.Addition {
    /// The cookies of a jar, at their place in the stack: inside of redirects and outside of the cache.
    ///
    /// - Parameter jar: The cookies.
    /// - Returns: The layer with its place.
    public static func keepingCookies(in jar: CookieJar) -> Self {
        .inside(of: .redirects) { $0.keepingCookies(in: jar) }
    }
}

struct CookieKeepingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let jar: CookieJar

    var layer: Layer {
        let facts: Set<Layer.Fact> = [.addsCredentials, .bindsToOrigins]
        return Layer(
            name: "keepingCookies", role: .cookies, settings: [Layer.Setting("in", jar)],
            facts: jar.clock is SystemClock ? facts.union([.readsClock]) : facts, secretFields: [.cookie, .setCookie],
            memory: .init(state: [Layer.StateIdentity(jar)]))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        request.options.secretFields.formUnion([.cookie, .setCookie])
        guard let place = jar.place(of: request.head) else { return try await base.send(request) }
        let principal = request.options.principal
        let ticket = jar.ticket
        if !request.options.skipsAuthentication, !request.head.headerFields.contains(.cookie) {
            let isFromOtherSite = jar.isOtherSite(request.options.redirectingOrigins, than: place)
            let isSafe = request.head.method.isSafe
            let cookies = jar.cookies(for: place, of: principal) { cookie in
                !isFromOtherSite || cookie.goesFromOtherSites(byMethodThatIsSafe: isSafe)
            }
            if !cookies.isEmpty {
                // Setting it by its name would make a field of each pair, and HTTP/1.1 allows one field alone.
                let value = cookies.map(\.pair.text).joined(separator: "; ")
                request.head.headerFields.append(HTTPField(name: .cookie, value: value))
            }
        }
        let head = request.head
        let response = try await base.send(request)
        if response.head.headerFields.contains(.setCookie) {
            keep(response, to: head, at: place, of: principal, since: ticket)
        }
        return response
    }

    private func keep(
        _ response: borrowing Response, to head: HTTPRequest, at place: CookiePlace, of principal: Principal?,
        since ticket: UInt64
    ) {
        guard response.metadata.source.isServer, response.metadata.url.map({ $0.hasOrigin(of: head) }) ?? true else {
            return
        }
        let cookies = response.head.headerFields[values: .setCookie].compactMap(SetCookie.init)
        if !cookies.isEmpty { jar.keep(cookies, from: place, of: principal, since: ticket) }
    }
}

extension Cookie {
    /// Whether the cookie goes with a request that another site has led to.
    fileprivate func goesFromOtherSites(byMethodThatIsSafe isSafe: Bool) -> Bool {
        switch sameSite {
        case .some(.none): true
        case .lax, nil: isSafe
        case .strict: false
        }
    }
}

extension URL {
    /// Whether the URL has the origin of a request; another one means that a transport has followed redirections itself.
    fileprivate func hasOrigin(of head: HTTPRequest) -> Bool {
        guard let origin = try? Origin(self) else { return false }
        return origin == (try? Origin(head))
    }
}
