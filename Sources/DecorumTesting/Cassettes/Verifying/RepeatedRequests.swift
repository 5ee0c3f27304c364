/// The requests of one run that are the same by the rules, where one of them has failed.
///
/// They are grouped once, since a run may have thousands of failures that no request repeats.
struct RepeatedRequests {
    private typealias Key = PlaybackIndex.Key

    /// The places of the requests that agree with each key, in their order.
    private var places: [Key: [Int]] = [:]
    private var keys: [Int: Key] = [:]
    /// The index of each place in the list of its own key.
    private var indices: [Int: Int] = [:]

    /// Groups exchanges; only those of one name, which is given for each, may repeat each other.
    init(_ exchanges: [Interaction], names: [String], rules: [MatchingRule]) {
        let failed = Set(exchanges.indices.filter { exchanges[$0].isTransientFailure }.map { names[$0] })
        for (place, exchange) in exchanges.enumerated() where failed.contains(names[place]) {
            var key = Key(bytes: Array(names[place].utf8) + [0])
            for rule in rules {
                rule.appendKey(exchange.request, &key.bytes)
                key.bytes.append(0)
            }
            keys[place] = key
            places[key, default: []].append(place)
        }
        addSimilar(names)
        for (key, group) in places {
            for (index, place) in group.enumerated() where keys[place] == key { indices[place] = index }
        }
    }

    /// The places of the later requests that are the same as one that has failed.
    func after(_ place: Int) -> ArraySlice<Int> {
        guard let key = keys[place], let index = indices[place], let group = places[key] else { return [] }
        return group[(index + 1)...]
    }

    /// Adds to the requests with a placeholder those that have a secret in its place.
    private mutating func addSimilar(_ names: [String]) {
        let templates = KeyTemplates(places.keys.map(\.bytes))
        var similar: [Key: [Int]] = [:]
        for (key, group) in places {
            for template in templates.matches(key.bytes).map(Key.init(bytes:)) where template != key {
                guard let one = group.first, let other = places[template]?.first, names[one] == names[other] else {
                    continue
                }
                similar[template, default: []] += group
            }
        }
        for (key, group) in similar { places[key]?.append(contentsOf: group) }
        for key in similar.keys { places[key]?.sort() }
    }
}
