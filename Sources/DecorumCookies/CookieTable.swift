/// The cookies of a jar, by principal and site.
///
/// A request looks at the cookies of its own site alone, of which there is a limited number, so that a lookup takes the
/// same time however many cookies there are.
struct CookieTable: Sendable {
    struct Entry: Sendable {
        var cookie: Cookie
        /// The number of the change that created the cookie; a cookie with another value keeps it.
        let creation: UInt64
        /// The number of the last change or lookup that has touched the cookie.
        var use: UInt64
    }

    private struct Key: Hashable {
        let principal: Principal?
        let site: String
    }

    private(set) var count = 0
    private let limits: CookieJar.Limits
    private var sites: [Key: [Entry]] = [:]
    private var clock: UInt64 = 0

    init(limits: CookieJar.Limits) {
        self.limits = limits
    }

    /// The cookies that go with a request, those with longer paths first (RFC 6265bis, section 5.8.3).
    mutating func cookies(for place: CookiePlace, of principal: Principal?, at now: Int64, where goes: (Cookie) -> Bool)
        -> [Cookie]
    {
        let key = Key(principal: principal, site: place.site)
        guard var entries = sites[key] else { return [] }
        // The table must not hold the entries too while they change, or they would be copied.
        sites[key] = nil
        clock += 1
        let before = entries.count
        entries.removeAll { $0.cookie.hasEnded(at: now) }
        count -= before - entries.count
        var found: [Entry] = []
        for index in entries.indices where entries[index].cookie.goes(to: place) && goes(entries[index].cookie) {
            entries[index].use = clock
            found.append(entries[index])
        }
        if !entries.isEmpty { sites[key] = entries }
        guard found.count > 1 else { return found.map(\.cookie) }
        return Self.newest(found, inLength: Self.fieldLimit).sorted {
            let lengths = ($0.cookie.path.utf8.count, $1.cookie.path.utf8.count)
            return lengths.0 == lengths.1 ? $0.creation < $1.creation : lengths.0 > lengths.1
        }.map(\.cookie)
    }

    /// The largest number of bytes of a `Cookie` field: the 50 cookies of 4096 bytes that a client has to be able to keep
    /// for a domain (RFC 6265bis, section 6.1).
    static let fieldLimit = 50 * SetCookie.sizeLimit

    /// The entries that a field has room for, without the oldest ones where it is too long.
    private static func newest(_ entries: [Entry], inLength limit: Int) -> [Entry] {
        func length(_ entry: Entry) -> Int { entry.cookie.name.utf8.count + entry.cookie.value.utf8.count + 3 }
        var rest = limit
        guard entries.reduce(0, { $0 + length($1) }) > limit else { return entries }
        return Array(
            entries.sorted { $0.creation > $1.creation }.prefix {
                rest -= length($0)
                return rest >= 0
            })
    }

    /// Keeps a cookie in place of the same one with another value; one that has ended only removes that.
    ///
    /// - Returns: The reason if it is not kept.
    mutating func keep(
        _ cookie: Cookie, from place: CookiePlace, of principal: Principal?, at now: Int64
    ) -> CookieRefusal? {
        let key = Key(principal: principal, site: place.site)
        var entries = sites.removeValue(forKey: key) ?? []
        let before = entries.count
        defer {
            count += entries.count - before
            if !entries.isEmpty { sites[key] = entries }
            if count > limits.total { evict() }
        }
        entries.removeAll { $0.cookie.hasEnded(at: now) }
        guard place.isSecure || !entries.contains(where: { $0.cookie.isHidden(by: cookie) }) else {
            return .hidesSecure
        }
        clock += 1
        let creation = entries.firstIndex { $0.cookie.isSame(as: cookie) }.map { entries.remove(at: $0).creation }
        guard !cookie.hasEnded(at: now) else { return nil }
        entries.append(Entry(cookie: cookie, creation: creation ?? clock, use: clock))
        while entries.count > limits.perSite,
            let index = entries.indices.min(by: { entries[$0].goes(before: entries[$1]) })
        {
            entries.remove(at: index)
        }
        return nil
    }

    /// The cookies of a principal that have not ended, in the order in which they were created.
    func all(of principal: Principal?, at now: Int64) -> [Cookie] {
        sites.filter { $0.key.principal == principal }.flatMap(\.value).filter { !$0.cookie.hasEnded(at: now) }
            .sorted { $0.creation < $1.creation }.map(\.cookie)
    }

    mutating func remove(of principal: Principal?) {
        sites = sites.filter { $0.key.principal != principal }
        count = sites.reduce(0) { $0 + $1.value.count }
    }

    mutating func removeAll() {
        sites = [:]
        count = 0
    }

    /// Removes the cookies that were not used for longest, a tenth more than needed, so that a full jar is not searched
    /// each time.
    private mutating func evict() {
        let kept = limits.total - limits.total / 10
        // Cookies that one request has used differ by their creation.
        let ages = sites.values.flatMap { $0.map(\.age) }.sorted(by: >)
        let oldest = kept > 0 && kept <= ages.count ? ages[kept - 1] : (.max, .max)
        for (key, entries) in sites {
            let remaining = entries.filter { $0.age >= oldest }
            sites[key] = remaining.isEmpty ? nil : remaining
        }
        count = sites.reduce(0) { $0 + $1.value.count }
    }
}

extension CookieTable.Entry {
    /// The order in which cookies of a full jar go, smallest first.
    fileprivate var age: (use: UInt64, creation: UInt64) { (use, creation) }

    /// Whether the cookie is removed before another of its site: first cookies that go over http too, then by their use.
    fileprivate func goes(before other: CookieTable.Entry) -> Bool {
        cookie.isSecure == other.cookie.isSecure ? use < other.use : !cookie.isSecure
    }
}

extension Cookie {
    /// Whether a cookie that came over http would hide this one, which is for https alone (RFC 6265bis, section 5.7).
    fileprivate func isHidden(by other: Cookie) -> Bool {
        isSecure && name == other.name && (domain.matches(domain: other.domain) || other.domain.matches(domain: domain))
            && other.path.matches(path: path)
    }
}

/// The removals of the cookies of principals, so that an answer to an earlier request brings none back.
struct PrincipalRemovals: Sendable {
    private static let limit = 256

    /// The number of the last removal.
    private(set) var last: UInt64 = 0
    /// Everything up to this number counts as removed for all principals.
    private var all: UInt64 = 0
    private var numbers: [Principal?: UInt64] = [:]

    mutating func add(_ principal: Principal?) {
        last += 1
        numbers[principal] = last
        guard numbers.count > Self.limit, let first = numbers.min(by: { $0.value < $1.value }) else { return }
        // The answers to very old requests then set no cookies, whoever they are for.
        numbers[first.key] = nil
        all = first.value
    }

    mutating func addAll() {
        last += 1
        all = last
        numbers = [:]
    }

    /// Whether the cookies of a principal were removed after a request.
    func includes(_ principal: Principal?, since ticket: UInt64) -> Bool {
        all > ticket || (numbers[principal] ?? 0) > ticket
    }
}
