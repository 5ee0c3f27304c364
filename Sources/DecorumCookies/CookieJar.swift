public import Foundation
import Synchronization

/// The cookies of an app, which one or more stacks share.
///
/// ```swift
/// let jar = CookieJar(file: PrivateFile(support.appending(path: "cookies.json")))
/// let connection = SystemConnection()
///     .keepingCookies(in: jar)
///     .followingRedirects()
/// ```
///
/// Cookies are kept apart by principal; requests without a principal have cookies of their own. Within a principal, RFC 6265bis
/// decides which request gets which cookie; the ports of a host share them.
///
/// With a file, the cookies of one principal survive the end of the process; cookies of a session only on request.
/// The file holds their values, which are secrets: it is readable by its user alone. A file that is missing, damaged or
/// not private counts as empty, and ``fileError`` tells. A change is written in the background.
///
/// The limits bound the number of cookies that servers can store. Above ``Limits/perSite``, the jar removes cookies of
/// the same site, first the ones that are also sent over http. Above ``Limits/total``, it removes the least recently used
/// cookies.
public final class CookieJar: Sendable {
    /// The numbers of cookies that a jar keeps.
    public struct Limits: Sendable, Hashable {
        /// The largest number of cookies of one site, that is a registrable domain with all of its hosts, and one principal.
        public var perSite: Int
        /// The largest number of cookies.
        public var total: Int

        /// Creates limits; a negative number counts as 0, and a server that acts for many principals needs more in total.
        public init(perSite: Int = 180, total: Int = 3000) {
            self.perSite = max(0, perSite)
            self.total = max(0, total)
        }
    }

    private struct State {
        var table: CookieTable
        var removals = PrincipalRemovals()
    }

    private let state: Mutex<State>
    private let suffixes: PublicSuffixes
    let clock: any DatedClock
    private let file: CookieFile?
    private let errorOfReading: (any Error)?

    /// Creates a jar.
    ///
    /// - Parameters:
    ///   - file: The file that keeps the cookies of one principal; nil to keep all in memory alone. It is read here.
    ///   - principal: The principal whose cookies the file keeps; nil for the requests without one.
    ///   - keepsSessionCookies: Whether the file keeps cookies without an end too, for up to 400 days.
    ///   - suffixes: The domains that no cookie is kept for.
    ///   - limits: The numbers of cookies.
    ///   - clock: The clock by which cookies end.
    public init(
        file: PrivateFile? = nil, of principal: Principal? = nil,
        keepingSessionCookies keepsSessionCookies: Bool = false,
        suffixes: PublicSuffixes = .system, limits: Limits = Limits(), clock: any DatedClock = SystemClock()
    ) {
        self.suffixes = suffixes
        self.clock = clock
        let file = file.map {
            CookieFile(file: $0, principal: principal, keepsSessionCookies: keepsSessionCookies)
        }
        self.file = file
        var table = CookieTable(limits: limits)
        var failure: (any Error)?
        let now = HTTPDate(clock.date).seconds
        do {
            for (cookie, origin) in try file?.cookies(at: now) ?? [] {
                let place = CookiePlace(origin, path: cookie.path, suffixes: suffixes)
                guard cookie.isHostOnly || !suffixes.isPublicSuffix(cookie.domain) else { continue }
                _ = table.keep(cookie, from: place, of: principal, at: now)
            }
        } catch {
            failure = error
        }
        errorOfReading = failure
        state = Mutex(State(table: table))
    }

    /// The number of cookies of all principals, also of cookies that have ended since.
    public var count: Int { state.withLock { $0.table.count } }

    /// The error because of which the file could not be read or written; nil without an error.
    public var fileError: (any Error)? { file?.file.error ?? errorOfReading }

    /// The cookies that go with a request to a URL.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - principal: The user on whose behalf the request is made.
    /// - Returns: The cookies in the order in which they are sent; none for a URL that names no server.
    public func cookies(for url: URL, of principal: Principal? = nil) -> [Cookie] {
        guard let place = place(of: url) else { return [] }
        return cookies(for: place, of: principal) { _ in true }
    }

    /// All cookies of a principal, in the order in which they were created.
    ///
    /// - Parameter principal: The user; nil for the cookies of requests without a principal.
    /// - Returns: The cookies.
    public func allCookies(of principal: Principal? = nil) -> [Cookie] {
        state.withLock { $0.table.all(of: principal, at: now) }
    }

    /// Sets a cookie as if a server had answered with it, such as one that a web view has got.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - url: The URL of the request that the server answers.
    ///   - principal: The user on whose behalf the request was made.
    /// - Returns: The reason if the jar does not keep it.
    @discardableResult public func set(
        _ cookie: SetCookie, from url: URL, of principal: Principal? = nil
    ) -> CookieRefusal? {
        guard let place = place(of: url) else { return .invalidURL }
        return keep([cookie], from: place, of: principal, since: nil).first ?? nil
    }

    /// Removes the cookies of a principal, as when the user signs out.
    ///
    /// An answer to a request that was sent before does not bring one back.
    ///
    /// - Parameter principal: The user; nil for the cookies of requests without a principal.
    public func removeCookies(of principal: Principal?) {
        state.withLock { state in
            state.table.remove(of: principal)
            state.removals.add(principal)
        }
        save(changing: principal)
    }

    /// Removes the cookies of all principals.
    public func removeAll() {
        state.withLock { state in
            state.table.removeAll()
            state.removals.addAll()
        }
        if let file { save(changing: file.principal) }
    }

    /// Waits until the file has all changes so far.
    public func waitUntilSaved() async { await file?.file.waitUntilWritten() }

    func place(of head: HTTPRequest) -> CookiePlace? {
        (try? Origin(head)).map { CookiePlace($0, path: head.path, suffixes: suffixes) }
    }

    private func place(of url: URL) -> CookiePlace? {
        (try? Request.get(url.absoluteString)).flatMap { place(of: $0.head) }
    }

    /// Whether one of some origins belongs to another site than an origin, by its scheme too.
    func isOtherSite(_ origins: Set<Origin>, than place: CookiePlace) -> Bool {
        origins.contains { ($0.scheme == "https") != place.isSecure || suffixes.site(of: $0) != place.site }
    }

    /// The moment of a request, after which a removal makes its answer set no cookies.
    var ticket: UInt64 { state.withLock { $0.removals.last } }

    func cookies(for place: CookiePlace, of principal: Principal?, where goes: (Cookie) -> Bool) -> [Cookie] {
        let now = now
        return state.withLock { $0.table.cookies(for: place, of: principal, at: now, where: goes) }
    }

    /// Keeps the cookies of an answer, unless their principal's cookies were removed since the moment of the request.
    ///
    /// - Returns: For each cookie, the reason if it is not kept.
    @discardableResult func keep(
        _ cookies: [SetCookie], from place: CookiePlace, of principal: Principal?, since ticket: UInt64?
    ) -> [CookieRefusal?] {
        let now = now
        let decisions = cookies.map { CookieRules.cookie($0, from: place, at: now, suffixes: suffixes) }
        let refusals = state.withLock { state -> [CookieRefusal?]? in
            if let ticket, state.removals.includes(principal, since: ticket) { return nil }
            return decisions.map { decision in
                switch decision {
                case .success(let cookie): state.table.keep(cookie, from: place, of: principal, at: now)
                case .failure(let refusal): refusal
                }
            }
        }
        guard let refusals else { return [] }
        if refusals.contains(nil) { save(changing: principal) }
        return refusals
    }

    private var now: Int64 { HTTPDate(clock.date).seconds }

    private func save(changing principal: Principal?) {
        guard let file, file.principal == principal else { return }
        file.save { [self] in allCookies(of: principal) }
    }
}

extension CookieJar: SignsOut {
    /// Removes the cookies of a user, and waits until the file has none of them.
    ///
    /// - Parameter principal: The user.
    /// - Throws: The error because of which the file may still have cookies.
    public func signOut(_ principal: Principal) async throws {
        removeCookies(of: principal)
        guard let file, file.principal == principal else { return }
        await waitUntilSaved()
        if let error = file.file.error { throw error }
    }
}

extension CookieJar: SecretHolder {
    /// The number of cookies, without their names and values.
    public var description: String { count == 1 ? "1 cookie" : "\(count) cookies" }
}
