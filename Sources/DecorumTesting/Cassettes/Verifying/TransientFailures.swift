import HTTPTypes

/// Finds the failures that only one of two runs has: the recorded run or the live one.
///
/// Both runs are read together. The requests that repeat a failed one are those that one run has sent more often than the
/// other, so a test that sends a request twice by itself is compared as any other. A refusal of credentials that both runs have,
/// in answer to another request, counts in neither: the server only refuses a token earlier or later.
struct TransientFailures {
    private var recorded: Run
    private var live: Run

    /// Creates the search; `foreign` are the recordings of other tests, `isSorted` tells whether the recordings are in another
    /// order than that in which they were sent, and `rules` tell which requests are the same.
    init(
        _ recorded: [Interaction], foreign: Set<Int>, isSorted: Bool, live: [Interaction], rules: [MatchingRule]
    ) {
        self.recorded = Run(recorded, leaving: foreign, isSorted: isSorted, rules: rules)
        self.live = Run(live, leaving: [], isSorted: false, rules: rules)
    }

    /// Whether a live request only follows from a failure that was found.
    func explains(live place: Int) -> Bool { live.passed.contains(place) }

    /// The recorded failure in whose place a live request was answered well; `isLeft` tells which recordings are not played.
    mutating func recordedFailure(
        at ordinal: Int, answeredAt place: Int, isLeft: (Int) -> Bool
    ) -> TransientFailure? {
        guard live.exchanges[place].isWell else { return nil }
        // A server that asks for no credentials any more has changed.
        let isRefused = recorded.exchanges[ordinal].isRefused
        guard !isRefused || live.exchanges[place].request.hasCredentials else { return nil }
        let other = live
        let (name, liveName) = (recorded.names[ordinal], live.names[place])
        return recorded.failure(
            at: ordinal, isLeft: isLeft,
            others: { other.count(of: $0 == name ? liveName : $0, leavingRefusals: isRefused && $0 == name) })
    }

    /// The live failure of a request whose recorded answer is none.
    mutating func liveFailure(at place: Int, recordedAt ordinal: Int) -> TransientFailure? {
        guard recorded.exchanges[ordinal].response != nil, !recorded.exchanges[ordinal].isTransientFailure else {
            return nil
        }
        let other = recorded
        let (name, recordedName) = (live.names[place], recorded.names[ordinal])
        let isRefused = live.exchanges[place].isRefused
        return live.failure(
            at: place, isLeft: { _ in true },
            others: { other.count(of: $0 == name ? recordedName : $0, leavingRefusals: isRefused && $0 == name) })
    }
}

extension TransientFailures {
    /// The exchanges of one run.
    private struct Run {
        let exchanges: [Interaction]
        /// The method and the address of each.
        let names: [String]
        /// Those that follow from a failure that was found, and those of other tests.
        private(set) var passed: Set<Int>
        private let isSorted: Bool
        private let requests: RepeatedRequests
        /// The number of requests that follow from no failure, by their names.
        private var counts: [String: Int] = [:]
        /// The number of refusals behind which a request is sent again, and which are not found, by their names.
        private var refusals: [String: Int] = [:]

        init(_ exchanges: [Interaction], leaving passed: Set<Int>, isSorted: Bool, rules: [MatchingRule]) {
            self.exchanges = exchanges
            self.passed = passed
            self.isSorted = isSorted
            names = exchanges.map { "\($0.request.method) \(URLNearness.address(of: $0.request.url))" }
            requests = RepeatedRequests(exchanges, names: names, rules: rules)
            for (place, name) in names.enumerated() where !passed.contains(place) {
                counts[name, default: 0] += 1
                if isRepeatedRefusal(place) { refusals[name, default: 0] += 1 }
            }
        }

        /// Whether credentials were refused, and the request was sent again later.
        private func isRepeatedRefusal(_ place: Int) -> Bool {
            exchanges[place].isRefused && !requests.after(place).isEmpty
        }

        func count(of name: String, leavingRefusals: Bool = false) -> Int {
            (counts[name] ?? 0) - (leavingRefusals ? refusals[name] ?? 0 : 0)
        }

        /// The failure at a place, if later requests repeat it that the other run does not have; `others` gives the number of
        /// the other run's requests of one name.
        mutating func failure(
            at place: Int, isLeft: (Int) -> Bool, others: (String) -> Int
        ) -> TransientFailure? {
            guard exchanges[place].isTransientFailure else { return nil }
            let surplus = count(of: names[place]) - others(names[place])
            var repeats: [Int] = []
            var answered: Int?
            for next in requests.after(place) {
                guard repeats.count < surplus else { break }
                guard !passed.contains(next), isLeft(next) else { continue }
                repeats.append(next)
                guard !exchanges[next].isTransientFailure else { continue }
                // A request that the end of the call has cancelled has no answer.
                if exchanges[next].response != nil { answered = next }
                break
            }
            guard let last = repeats.last else { return nil }
            if exchanges[place].isRefused { refusals[names[place], default: 0] -= 1 }
            pass(repeats)
            return TransientFailure(
                place: place, repeats: repeats,
                others: requestsForToken(from: place, to: last, isLeft: isLeft, others: others), answered: answered)
        }

        /// The requests between a refusal and a repeated request whose answers gave a token; after any other failure, a client
        /// sends the request alone.
        private mutating func requestsForToken(
            from place: Int, to last: Int, isLeft: (Int) -> Bool, others: (String) -> Int
        ) -> [Int] {
            guard exchanges[place].isRefused else { return [] }
            var found: [Int] = []
            for other in isSorted ? 0..<exchanges.count : place + 1..<last
            where !passed.contains(other) && isLeft(other) && count(of: names[other]) > others(names[other])
                && exchanges[other].givesToken
            {
                found.append(other)
                pass([other])
            }
            return found
        }

        private mutating func pass(_ places: [Int]) {
            for place in places where passed.insert(place).inserted {
                counts[names[place], default: 0] -= 1
                // A repeated request may be refused too.
                if isRepeatedRefusal(place) { refusals[names[place], default: 0] -= 1 }
            }
        }
    }
}

extension RecordedRequest {
    fileprivate var hasCredentials: Bool {
        [.authorization, .proxyAuthorization, .cookie].contains { fields.contains($0) }
    }
}
