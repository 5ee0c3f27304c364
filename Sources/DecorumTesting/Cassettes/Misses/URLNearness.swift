/// The similarity of the URLs of two requests.
///
/// Two queries of one address are more similar than two addresses. The fewer items differ, the nearer a query is. An item
/// with another value, such as the number of a page, is a smaller difference than an item that only one of both has.
struct URLNearness: Comparable {
    private let rank: Int
    private let detail: Int

    init(_ recorded: String, _ live: String) {
        guard Self.address(of: recorded) == Self.address(of: live) else {
            rank = 0
            // A path may have changed at its start, as from `/items` to `/v2/items`, and at its end.
            let start = zip(recorded.utf8, live.utf8).prefix { $0 == $1 }.count
            let end = zip(recorded.utf8.reversed(), live.utf8.reversed()).prefix { $0 == $1 }.count
            detail = min(start + end, recorded.utf8.count, live.utf8.count)
            return
        }
        let (old, new) = (QueryItems(recorded[...]), QueryItems(live[...]))
        let (gone, added) = (old.names(notIn: new), new.names(notIn: old))
        rank = 1
        detail = 3 * Self.sharedCount(gone, added) - 2 * (gone.count + added.count)
    }

    /// The number of names that stand in both lists, each as often as in the list that has it less often.
    private static func sharedCount(_ one: [Substring], _ other: [Substring]) -> Int {
        var left = Dictionary(other.map { ($0, 1) }, uniquingKeysWith: +)
        var count = 0
        for name in one {
            guard let number = left[name], number > 0 else { continue }
            left[name] = number - 1
            count += 1
        }
        return count
    }

    /// The part of a URL before its query.
    static func address(of url: String) -> Substring { url.prefix { $0 != "?" && $0 != "#" } }

    /// Whether two URLs have the same path, whatever their origins.
    static func haveSamePath(_ one: String, _ other: String) -> Bool {
        address(of: URLKey.target(of: one)) == address(of: URLKey.target(of: other))
    }

    /// Whether two paths have at least half of their segments in common, at their starts and at their ends.
    static func haveSimilarPaths(_ one: String, _ other: String) -> Bool {
        let paths = [one, other].map { address(of: URLKey.target(of: $0)).split(separator: "/") }
        let start = zip(paths[0], paths[1]).prefix { $0 == $1 }.count
        let end = zip(paths[0].reversed(), paths[1].reversed()).prefix { $0 == $1 }.count
        let shared = min(start + end, paths[0].count, paths[1].count)
        return 2 * shared >= max(paths[0].count, paths[1].count)
    }

    static func < (one: Self, other: Self) -> Bool { (one.rank, one.detail) < (other.rank, other.detail) }
}

/// The items in the query of a URL, in their order.
struct QueryItems {
    let all: [Substring]
    private let known: Set<Substring>

    init(_ url: Substring) {
        let query = url.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
        all = query.split(separator: "&")
        known = Set(all)
    }

    /// The items that another query does not have.
    func items(notIn other: QueryItems) -> [Substring] { all.filter { !other.known.contains($0) } }

    /// The names of the items that another query does not have.
    func names(notIn other: QueryItems) -> [Substring] { items(notIn: other).map(Self.name) }

    static func name(of item: Substring) -> Substring { item.prefix { $0 != "=" } }
}
