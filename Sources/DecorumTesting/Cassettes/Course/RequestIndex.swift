/// The recorded requests of a file by their keys, so that equal ones are found without a search.
struct RequestIndex {
    private let rules: [MatchingRule]
    /// The places of equal requests, the last one first.
    private var places: [[[UInt8]]: [Int]] = [:]

    /// Creates an index of requests in the order of their places, which are equal if all rules have the same key for them.
    init(_ requests: [(ordinal: Int, request: RecordedRequest)], by rules: [MatchingRule]) {
        self.rules = rules
        for (ordinal, request) in requests.reversed() {
            places[rules.map { $0.key(request) }, default: []].append(ordinal)
        }
    }

    /// The first place, from a start on, of a request that is equal to another one; nil if there is none.
    ///
    /// The start must not be before that of an earlier search, since the places before it are forgotten.
    mutating func first(like request: RecordedRequest, from start: Int) -> Int? {
        let key = rules.map { $0.key(request) }
        while let first = places[key]?.last, first < start { places[key]?.removeLast() }
        return places[key]?.last
    }
}
